"""What a program's own functions, models and toolsets can get wrong, and the sentence that it gets for it."""

import asyncio
from typing import Any

import pytest

from treadle import Agent, FunctionToolset, Limits, Message, RunContext, Runs, Text, allow, ask, deny, open_home, tool
from treadle.core.errors import BadTool, SettingsError
from treadle.core.requests import ReplyEnded, TextDelta, Traits
from treadle.journal import MemoryJournal
from treadle.testing import Scripted, calls
from treadle.toolsets import only, prepared


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


class Plain:
    name = "mine:1"
    traits = Traits()

    async def reply(self, request: Any) -> Any:
        return "Hello."


class Eager(Plain):
    def reply(self, request: Any) -> Any:
        yield TextDelta("Hello.")


class Texts(Plain):
    async def reply(self, request: Any) -> Any:
        yield "Hello."
        yield ReplyEnded("done")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Plain(), "`reply` of the model mine:1 has to be an `async def` that yields deltas."),
        (Eager(), "`reply` of the model mine:1 has to be"),
        (Texts(), "The model mine:1 yielded 'Hello.'; a model yields TextDelta"),
    ],
)
def test_a_model_that_replies_wrongly_says_what_a_reply_is(model, sentence):
    with pytest.raises(SettingsError) as raised:
        Agent(model).run_sync("Go.")
    assert sentence in str(raised.value)


@pytest.mark.parametrize(("missing", "sentence"), [("name", '`name = "mine:1"`'), ("traits", "`traits = Traits()`")])
def test_a_model_that_lacks_something_says_what(missing, sentence):
    kind = type("Mine", (), {name: value for name, value in vars(Texts).items() | vars(Plain).items() if name != missing})
    with pytest.raises(SettingsError, match=r"A model has a name, traits and `reply`; Mine needs") as raised:
        Agent(kind())
    assert sentence in str(raised.value)


@pytest.mark.parametrize("said", [None, "yes"])
def test_an_approver_has_to_answer(said):
    agent = Agent(Scripted(calls(("pay", {"amount": 1}))), tools=[pay], approver=lambda approval: said)
    with pytest.raises(SettingsError, match="The `approver` has to return True, False or an Answer; it returned"):
        agent.run_sync("Pay.")


def test_a_function_of_tools_has_to_return_tools():
    def choose(context: RunContext[Any]) -> Any:
        return 5

    with pytest.raises(BadTool, match="choose has to return a toolset, or a list of functions and toolsets; it returned 5"):
        Agent(Scripted("never"), tools=choose).run_sync("Go.")


def test_instructions_may_be_a_function_of_nothing():
    async def later() -> str:
        return "Be exact."

    model = Scripted("Hello.", "Hello.")
    Agent(model, instructions=lambda: "Be brief.").run_sync("Go.")
    Agent(model, instructions=later).run_sync("Go.")
    assert [request.instructions for request in model.requests] == ["Be brief.", "Be exact."]


def test_a_watcher_is_not_async():
    async def show(event: Any) -> None: ...

    with pytest.raises(SettingsError, match=r"functions that return at once, and show is async: loop over `agent.stream"):
        Agent(Scripted("never")).run_sync("Go.", watchers=[show])


def test_a_wrapper_takes_a_toolset_and_names():
    with pytest.raises(BadTool, match="Put functions into a toolset before you wrap it"):
        only([pay], "pay")
    with pytest.raises(BadTool, match="Put functions into a toolset before you wrap it"):
        prepared([pay], lambda context, made: made)
    with pytest.raises(BadTool, match=r"`only` takes names of tools, not <function .*; `prepared` takes a function"):
        only(FunctionToolset([pay]), lambda made: True)
    with pytest.raises(BadTool, match=r"write FunctionToolset\(\[…\]\)"):
        FunctionToolset(pay)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (Message("user", (Text("Hello."),)), "A message's role is one of person, model, tools, not 'user'."),
        (Message("person", "Hello."), "A message's parts are a tuple of Text, Call, Result and the like, not 'Hello.'."),
        ({"role": "user", "content": "Hello."}, 'A message of your own is Message("person", (Text("…"),))'),
    ],
)
def test_a_message_made_by_hand_has_a_role_and_parts(message, sentence):
    with pytest.raises(SettingsError) as raised:
        Agent(Scripted("never")).run_sync("Go.", history=[message])
    assert sentence in str(raised.value)


def test_several_output_types_are_a_union():
    with pytest.raises(SettingsError, match=r"several are a union: write output_type=int \| list\[str\]"):
        Agent(Scripted("never"), output_type=[int, list[str]])


def test_no_number_is_no_limit():
    with pytest.raises(SettingsError, match=r"Limits.seconds is nan"):
        Agent(Scripted("never"), limits=Limits(seconds=float("nan")))


def test_a_journal_is_no_class():
    with pytest.raises(SettingsError, match=r"`journal` takes True, .*, not the class MemoryJournal"):
        Agent(Scripted("never")).run_sync("Go.", journal=MemoryJournal)


def test_a_run_is_forked_at_an_entry_that_it_has():
    async def tale() -> None:
        agent = Agent(Scripted("Hello."))
        result = await agent.run("Go.")
        for at in (0, -1, len(result.entries) + 1):
            with pytest.raises(SettingsError, match=f"fork it at 1 to {len(result.entries)}, not at {at}"):
                await agent.fork(result.run_id, at)
        assert await agent.fork(result.run_id, len(result.entries))

    asyncio.run(tale())


def test_runs_of_what_is_no_home_and_filters_that_find_nothing_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"Runs takes a home, such as Runs\(open_home\(folder\)\), or its services, not 'runs'"):
        Runs("runs")

    async def tale() -> None:
        home = open_home(tmp_path)
        result = await Agent(Scripted("Hello.")).run("Go.", journal=home.services())
        runs = Runs(home)
        assert [run.run_id for run in await runs.list(status="answered")] == [result.run_id]
        assert await runs.list(status="running") == []
        with pytest.raises(SettingsError, match="No run has the status 'done'; there are open, answered"):
            await runs.list(status="done")
        with pytest.raises(SettingsError, match="A rating is good or bad, or None, not 'meh'"):
            await runs.rate(result.run_id, "meh")
        with pytest.raises(SettingsError, match="A rating is good or bad, or None, not 'meh'"):
            await runs.list(rating="meh")

    asyncio.run(tale())


def test_steps_that_nobody_has_asked_for_say_so():
    async def tale() -> None:
        async with Agent(Scripted("never")).iter("Go.") as steps:
            pass
        with pytest.raises(RuntimeError, match="The run hasn't begun: iterate over its steps"):
            assert steps.result

    asyncio.run(tale())


def test_an_agent_is_shown_with_its_model_and_its_name():
    assert repr(Agent(Scripted("Hello."), name="clerk")) == "Agent('scripted', name='clerk')"


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (deny("payy"), 'The rule deny("payy") is about no tool of this agent. Did you mean pay?'),
        (deny("pay", where={"amout": "> 3"}), "never applies: pay has no argument amout, only amount."),
        (allow("pay", where={"order.amount": "< 3"}), "never applies: pay has no argument order.amount, only amount."),
    ],
)
def test_a_rule_about_a_tool_or_an_argument_that_is_not_there_is_logged_once(rule, sentence, caplog):
    agent = Agent(Scripted("Hello.", "Hello."), tools=[pay], policy=[rule])
    for _ in range(2):
        agent.run_sync("Go.", limits=Limits(rounds=2))
    assert [record.getMessage().endswith(sentence) for record in caplog.records] == [True]


@pytest.mark.parametrize(
    "rule", [deny("pay*"), deny("delete_user"), ask("pay", where={"amount": "> 3"}), allow("*", where={"x": 1})]
)
def test_a_rule_that_may_be_meant_for_another_agent_is_not_logged(rule, caplog):
    Agent(Scripted("never"), tools=[pay], policy=[rule])
    assert caplog.records == []
