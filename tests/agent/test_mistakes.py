"""What a program can get wrong about agents and runs, and the sentence that it gets for it."""

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from treadle import (
    Agent,
    Compaction,
    Discovery,
    FunctionToolset,
    Limits,
    Message,
    Options,
    ResultOptions,
    RunContext,
    Text,
    allow,
    deny,
    open_home,
    tool,
)
from treadle.core.errors import BadPrompt, BadTool, RunNotFound, SettingsError, TreadleError, UnknownModel
from treadle.core.requests import Traits
from treadle.testing import Scripted, calls
from treadle.toolsets import LazyToolset, prefixed, renamed


def look(at: int) -> int:
    """Look."""
    return at


class Priceless:
    """A model whose price nobody knows."""

    name = "acme:mystery"
    traits = Traits()

    def reply(self, request: Any) -> Any:
        raise NotImplementedError


LIST = "`tools` takes a list of functions and toolsets"
MODEL = '`model` takes a name such as "openai:gpt-5-mini", a model, or a list of these, not'
TYPES = "such as str, int, list[str], a dataclass, a TypedDict, a msgspec Struct or a pydantic model."
INSTRUCTIONS = "`instructions` takes text, or a function of the RunContext that returns it, not"
OUTPUT = f"`output_type` takes a type whose values JSON can express, {TYPES}"
NO_PATH = "`journal` takes no path: True keeps runs in your data folder, open_home('runs').services() in this one."
WATCHERS = "`watchers` takes a list of functions of an event, such as [print], not"
OPTIONS = "`options` takes Options, such as Options(temperature=0.2), not"
RESULTS = "`results` takes ResultOptions, with a limit of 1 or more, not"
TOOLSETS = "`toolsets` takes a list of toolsets"
COMPACTION = "`compaction` takes Compaction, with a share of the window from above 0 to 1 as `at`, not"
PROMPT = "A prompt is text, or a list of texts, Image, Audio and Document"
HISTORY = "`history` takes messages, such as `result.history` of an earlier run"
CREDENTIALS = '`credentials` takes a mapping of text to text, such as {"shop": token}, not'

WRONG_AGENTS: list[tuple[dict[str, Any], type[TreadleError], str]] = [
    # the model
    ({"model": "opnai:gpt-5"}, UnknownModel, "No kind of model is called 'opnai'. Did you mean openai:gpt-5?"),
    ({"model": "gpt-5"}, UnknownModel, "A model's name says where it lives: KIND:NAME, but 'gpt-5' doesn't. Did you mean openai:"),
    ({"model": None}, SettingsError, f"{MODEL} None."),
    ({"model": 5}, SettingsError, f"{MODEL} 5."),
    ({"model": Scripted}, SettingsError, f"{MODEL} the class Scripted."),
    ({"model": [None]}, SettingsError, f"{MODEL} [None]."),
    ({"model": []}, SettingsError, "A list of models needs at least one: the first that answers is used."),
    # tools
    ({"tools": look}, SettingsError, f"{LIST}: write tools=[look]."),
    ({"tools": tool(look)}, SettingsError, f"{LIST}: write tools=[look]."),
    ({"tools": FunctionToolset([look])}, SettingsError, f"{LIST}: write tools=[…]."),
    ({"tools": "look"}, SettingsError, f"{LIST}, not 'look'."),
    ({"tools": {"look": look}}, SettingsError, f"{LIST}, not {{'look': <function look at "),
    ({"tools": None}, SettingsError, f"{LIST}, not None."),
    ({"tools": [5]}, BadTool, "5 can't be offered as a tool: it is no function."),
    ({"tools": [Agent(Scripted())]}, SettingsError, "by its `as_tool()`: write tools=[agent.as_tool()]."),
    ({"tools": [look, look]}, BadTool, "There are two tools called look; give one of them another name."),
    ({"toolsets": FunctionToolset([])}, SettingsError, f"{TOOLSETS}: write toolsets=[…]."),
    (
        {"toolsets": [look]},
        SettingsError,
        f"{TOOLSETS}; it has the function look in it; put functions into `tools`.",
    ),
    ({"toolsets": [5]}, SettingsError, f"{TOOLSETS}; it has 5 in it."),
    # instructions and output
    ({"instructions": 5}, SettingsError, f"{INSTRUCTIONS} 5."),
    (
        {"instructions": None},
        SettingsError,
        f"{INSTRUCTIONS} None.",
    ),
    ({"output_type": 5}, SettingsError, OUTPUT),
    ({"output_type": "Report"}, SettingsError, OUTPUT),
    ({"output_type": complex}, SettingsError, OUTPUT),
    ({"output_type": int, "output_mode": "json"}, SettingsError, '`output_mode` takes "auto", "native" or "tool", not \'json\'.'),
    ({"name": 5}, SettingsError, "`name` takes the agent's name, as text, not 5."),
    ({"name": " "}, SettingsError, "`name` takes the agent's name, as text, not ' '."),
    # limits and options
    ({"limits": {"rounds": 3}}, SettingsError, "`limits` takes Limits, such as Limits(rounds=10), not {'rounds': 3}."),
    ({"limits": 3}, SettingsError, "`limits` takes Limits, such as Limits(rounds=10), not 3."),
    ({"limits": Limits(calls=-1)}, SettingsError, "Limits.calls is -1, which leaves nothing; None is no limit."),
    ({"limits": Limits(rounds=0)}, SettingsError, "Limits.rounds is 0, which leaves nothing; None is no limit."),
    ({"limits": Limits(failures=0)}, SettingsError, "Limits.failures is 0, which leaves nothing; None is no limit."),
    ({"limits": Limits(per_tool={"look": -1})}, SettingsError, "Limits.per_tool is -1 for look; 0 forbids its calls"),
    ({"limits": Limits(tries=0)}, SettingsError, "Limits.tries is 0; a request has to be tried at least once."),
    ({"limits": Limits(backoff=-1)}, SettingsError, "Limits.backoff is -1; it is the seconds before the second try, from 0 up."),
    ({"limits": Limits(at_limit="words")}, SettingsError, 'Limits.at_limit is "words", and Limits.words is empty.'),
    ({"limits": Limits(nudge_at=1)}, SettingsError, "Limits.nudge_at has to be 2 or more, and Limits.refuse_at no less than that."),
    ({"limits": Limits(rounds="3")}, SettingsError, "Limits.rounds can't be '3': Expected `int | null`, got `str`."),
    (
        {"limits": Limits(at_limit="stop")},
        SettingsError,
        "Limits.at_limit can't be 'stop'; there are answer, conclude, last_text, ",
    ),
    ({"limits": Limits(cost=1.0), "model": Priceless()}, SettingsError, "The price of acme:mystery isn't known, so a limit of $1 "),
    ({"limits": Limits(cost=1.0), "model": [Scripted(), Priceless()]}, SettingsError, "The price of acme:mystery isn't known"),
    ({"options": {}}, SettingsError, f"{OPTIONS} {{}}."),
    (
        {"options": {"temperature": 1}},
        SettingsError,
        f"{OPTIONS} {{'temperature': 1}}.",
    ),
    (
        {"options": Options(temperature="hot")},
        SettingsError,
        "Options.temperature can't be 'hot': Expected `float | null`, got `str`.",
    ),
    ({"options": Options(temperature=-1)}, SettingsError, "Options.temperature is -1; it is 0 or more, and None leaves it to"),
    ({"options": Options(temperature=float("nan"))}, SettingsError, "Options.temperature is nan; it is 0 or more"),
    ({"options": Options(top_p=1.5)}, SettingsError, "Options.top_p is 1.5; it is a share, from 0 to 1."),
    ({"options": Options(max_tokens=0)}, SettingsError, "Options.max_tokens is 0, which leaves no room for a reply; None leaves"),
    ({"options": Options(reasoning_budget=-1)}, SettingsError, "Options.reasoning_budget is -1; it is a number of tokens, from 0"),
    ({"options": Options(tool_choice=" ")}, SettingsError, 'Options.tool_choice is empty; there are "auto", "required", "none"'),
    (
        {"options": Options(tool_choice="lok"), "tools": [look]},
        SettingsError,
        "Options.tool_choice is 'lok', and this agent has no such tool. Did you mean look?",
    ),
    (
        {"options": Options(tool_choice="any")},
        SettingsError,
        "Options.tool_choice is 'any', and this agent has no such tool. There are: auto, required, none.",
    ),
    ({"options": Options(stop="END")}, SettingsError, "Options.stop can't be 'END': Expected `array`, got `str`."),
    ({"options": Options(reasoning="hard")}, SettingsError, "Options.reasoning can't be 'hard'; there are none, minimal, low, "),
    # policy and approvals
    ({"policy": "allow"}, SettingsError, "A policy is a list of rules, a policy object or a function, not 'allow'."),
    ({"policy": 5}, SettingsError, "A policy is a list of rules, a policy object or a function, not 5."),
    (
        {"policy": ["look"]},
        SettingsError,
        "A policy is made of rules, and 'look' is none; write allow(...), ask(...) or deny(...).",
    ),
    ({"policy": allow}, SettingsError, '`policy` takes rules: write policy=[allow("a_tool")].'),
    ({"policy": deny}, SettingsError, '`policy` takes rules: write policy=[deny("a_tool")].'),
    ({"policy": {"alow": ["look"]}}, SettingsError, "A policy file has no 'alow'; it may have allow, ask, deny, "),
    (
        {"approver": True},
        SettingsError,
        "`approver` takes a function of an Approval that returns True, False or an Answer, not True.",
    ),
    ({"attended": "no"}, SettingsError, "`attended` takes True or False, not 'no'."),
    # the rest
    ({"notes": "Be brief."}, SettingsError, "`notes` takes a list of texts, not 'Be brief.'."),
    ({"results": 5}, SettingsError, f"{RESULTS} 5."),
    (
        {"results": ResultOptions(limit=0)},
        SettingsError,
        f"{RESULTS} ResultOptions(",
    ),
    ({"compaction": 0.5}, SettingsError, f"{COMPACTION} 0.5."),
    ({"compaction": Compaction(at=90)}, SettingsError, f"{COMPACTION} Compaction(at=90, "),
    ({"discovery": 5}, SettingsError, "`discovery` takes Discovery, such as Discovery(above=20), not 5."),
    ({"discovery": Discovery(always="look")}, SettingsError, "Discovery.always can't be 'look': Expected `array`, got `str`."),
    ({"dialect": "hermess"}, SettingsError, "There is no dialect 'hermess'. Did you mean hermes"),
    ({"dialect": 5}, SettingsError, "`dialect` takes the name of a dialect, as text, not 5."),
    ({"redactor": "secret"}, SettingsError, "`redactor` takes a Redactor, not 'secret'."),
    ({"raise_tool_errors": "yes"}, SettingsError, "`raise_tool_errors` takes True or False, not 'yes'."),
]


@pytest.mark.parametrize(("wrong", "kind", "sentence"), WRONG_AGENTS)
def test_an_agent_that_is_set_up_wrongly_says_what_to_pass(wrong, kind, sentence):
    with pytest.raises(TreadleError) as raised:
        Agent(**{"model": Scripted("never"), **wrong})
    assert (type(raised.value), sentence in str(raised.value)) == (kind, True), str(raised.value)


WRONG_RUNS: list[tuple[dict[str, Any], type[TreadleError], str]] = [
    # the prompt
    ({"prompt": None}, BadPrompt, f"{PROMPT}, not NoneType."),
    ({"prompt": 5}, BadPrompt, f"{PROMPT}, not int."),
    ({"prompt": " "}, BadPrompt, "The prompt is empty; say what you want."),
    ({"prompt": []}, BadPrompt, "The prompt is empty; say what you want."),
    ({"prompt": ["Look:", 5]}, BadPrompt, f"{PROMPT}; this one has int."),
    (
        {"prompt": [{"role": "user", "content": "Hi"}]},
        BadPrompt,
        f"{PROMPT}; this one has a dict: earlier messages go into `history`.",
    ),
    # the journal and the history
    (
        {"journal": "runs"},
        SettingsError,
        NO_PATH,
    ),
    ({"journal": Path("runs")}, SettingsError, NO_PATH),
    ({"journal": 5}, SettingsError, "`journal` takes True, a Journal, or the services of a home, not 5."),
    ({"history": [{"role": "user"}]}, SettingsError, f"{HISTORY}; it has {{'role': 'user'}} in it."),
    ({"history": "Hello."}, SettingsError, "This is no history ("),
    ({"history": None}, SettingsError, f"{HISTORY}, not None."),
    ({"history": {"role": "user"}}, SettingsError, f"{HISTORY}, not {{'role': 'user'}}."),
    # who runs it
    ({"run_id": 5}, SettingsError, "`run_id` takes a run's id, as text, or nothing for a new run, not 5."),
    ({"run_id": ""}, SettingsError, "`run_id` takes a run's id, as text, or nothing for a new run, not ''."),
    ({"user": 5}, SettingsError, "`user` takes the user's name, as text, not 5."),
    ({"credentials": "token-1"}, SettingsError, f"{CREDENTIALS} str."),
    ({"credentials": {"shop": 5}}, SettingsError, f"{CREDENTIALS} dict."),
    (
        {"watchers": print},
        SettingsError,
        f"{WATCHERS} the function print.",
    ),
    ({"watchers": [5]}, SettingsError, f"{WATCHERS} [5]."),
    ({"origin": "cli"}, SettingsError, "`origin` takes a dict that JSON can express, not 'cli'."),
    # what one run overrides
    ({"tools": look}, SettingsError, f"{LIST}: write tools=[look]."),
    ({"options": {}}, SettingsError, f"{OPTIONS} {{}}."),
    ({"options": Options(max_tokens=-5)}, SettingsError, "Options.max_tokens is -5, which leaves no room for a reply"),
    ({"limits": Limits(calls=0)}, SettingsError, "Limits.calls is 0, which leaves nothing; None is no limit."),
    ({"limits": Limits(cost=1.0), "model": Priceless()}, SettingsError, "The price of acme:mystery isn't known, so a limit of $1 "),
    ({"model": 5}, SettingsError, f"{MODEL} 5."),
]


@pytest.mark.parametrize(("wrong", "kind", "sentence"), WRONG_RUNS)
def test_a_run_that_is_asked_for_wrongly_says_what_to_pass(wrong, kind, sentence):
    with pytest.raises(TreadleError) as raised:
        Agent(Scripted("never")).run_sync(**{"prompt": "Go.", **wrong})
    assert (type(raised.value), sentence in str(raised.value)) == (kind, True), str(raised.value)
    assert "token-1" not in str(raised.value)


@pytest.mark.parametrize("choice", ["look", "give_answer", "find_tools"])
def test_a_tool_that_is_there_may_be_chosen(choice):
    Agent(Scripted("never"), tools=[look], options=Options(tool_choice=choice))


def test_a_toolset_that_lists_its_tools_later_may_have_the_one_that_is_chosen():
    later = LazyToolset(lambda: nullcontext(FunctionToolset([look])))
    Agent(Scripted("never"), toolsets=[later], options=Options(tool_choice="anything"))


def test_a_home_is_no_journal_but_has_one(tmp_path):
    with pytest.raises(SettingsError, match=r"write journal=home\.services\(\)"):
        Agent(Scripted("never")).run_sync("Go.", journal=open_home(tmp_path))


def test_a_result_is_no_history_but_has_one():
    agent = Agent(Scripted("one", "two"))
    with pytest.raises(SettingsError, match=r"write history=result\.history"):
        agent.run_sync("And?", history=agent.run_sync("Go."))


def test_a_run_that_exists_takes_no_other_history():
    agent = Agent(Scripted("one", "never"))
    agent.run_sync("Go.", run_id="r")
    with pytest.raises(SettingsError, match="Run r has a history already: leave `history` out, or begin a new run with it"):
        agent.run_sync("And?", run_id="r", history=[Message("person", (Text("Hello."),))])


def test_two_toolsets_with_one_name_say_which():
    with pytest.raises(BadTool, match="There are two tools called look; put `prefixed` around one of the toolsets"):
        Agent(Scripted("never"), tools=[look], toolsets=[FunctionToolset([look])]).run_sync("Go.")


def test_a_tool_cannot_have_the_name_of_the_one_that_gives_the_answer():
    with pytest.raises(BadTool, match="give_answer is the tool that gives the answer; give your own tool another name"):
        Agent(Scripted("never"), tools=[tool(look, name="give_answer")], output_type=int).run_sync("Go.")


@pytest.mark.parametrize("change", [lambda tools: prefixed(tools, "my shop"), lambda tools: renamed(tools, {"look": "look up"})])
def test_a_toolset_cannot_give_a_tool_a_name_that_servers_reject(change):
    with pytest.raises(BadTool, match=r"can't be the name of a tool: .*put `renamed` around the toolset functions"):
        Agent(Scripted("never"), toolsets=[change(FunctionToolset([look]))]).run_sync("Go.")


def test_an_agent_of_any_name_can_be_a_tool_and_be_handed_off_to():
    model = Scripted("Fine.")
    clerk = Agent(Scripted("never"), name="Clerk (night shift)")
    Agent(model, tools=[clerk.as_tool()], handoffs=[clerk]).run_sync("Go.")
    assert {spec.name for spec in model.requests[0].tools} == {"Clerk_night_shift_", "transfer_to_Clerk_night_shift_"}


@pytest.mark.parametrize("make", [Agent.as_tool, Agent.as_handoff])
def test_an_agent_is_no_tool_of_a_name_that_servers_reject(make):
    with pytest.raises(BadTool, match="'ask clerk' can't be the name of a tool"):
        make(Agent(Scripted("never")), "ask clerk")


def test_a_function_of_instructions_has_to_return_text():
    def silent(context: RunContext[Any]) -> Any:
        return None

    with pytest.raises(SettingsError, match="The function in `instructions` has to return text; it returned None"):
        Agent(Scripted("never"), instructions=silent).run_sync("Go.")


def test_an_answer_takes_the_id_of_a_call():
    async def tale(wrong):
        agent = Agent(Scripted('{"at": 1}'), tools=[look])
        await agent.approve("r", wrong)

    with pytest.raises(SettingsError, match="`call_id` takes the id of a call, as text, not 5"):
        asyncio.run(tale(5))


def test_an_approval_is_no_call_id_but_has_one():
    async def tale():
        agent = Agent(Scripted(calls(("look", {"at": 1}))), tools=[look])
        result = await agent.run("Go.")
        await agent.approve(result.run_id, result.approvals[0])

    with pytest.raises(SettingsError, match=r"write approval\.call_id instead of approval"):
        asyncio.run(tale())


def test_a_run_that_is_not_known_is_not_resumed():
    with pytest.raises(RunNotFound, match="There is no run nope here"):
        Agent(Scripted("never")).resume_sync("nope", journal=False)


def test_a_secret_in_a_wrong_argument_is_masked():
    secret = "sk-proj-" + "a1B2" * 12
    with pytest.raises(SettingsError) as raised:
        Agent(Scripted("never"), options={"api_key": secret})  # pyright: ignore[reportArgumentType]
    assert secret not in str(raised.value)
