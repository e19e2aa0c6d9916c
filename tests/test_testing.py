"""Every check for authors can fail, and says why; a good assistant passes all of them."""

import asyncio
import sys
from contextlib import nullcontext
from typing import Literal

import pytest
from msgspec import Struct
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from packages import install
from treadle import Allow, FunctionToolset, Limits, allow, deny, tool
from treadle.assistant import Assistant, Command, Panel
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.testing import RecordingTerminal, calls, check_assistant, throwaway_host
from treadle.tools.validate import ValidArguments, Validator


@tool(effect="read")
def look(thing: str, far: bool, where: dict[str, int], how: str | None = None) -> str:
    """Look at a thing."""
    return f"a look at {thing}"


class Place(Struct):
    """Where something is."""

    street: str
    number: int


@tool(effect="write")
def send(to: Place, speed: Literal["slow", "fast"], weight: float | str, things: list[str]) -> str:
    """Send things."""
    return "sent"


def run(args, host):
    return 0


async def page(request):
    return PlainTextResponse("hello")


def made(**more):
    """A good assistant, but for what is given."""
    parts = {"name": "nosy", "title": "Nosy", "summary": "Looks at things.", "toolsets": lambda host: [FunctionToolset([look])]}
    return Assistant(**{**parts, **more})


def problems(**more):
    """What is wrong with a good assistant once these are other than they should be."""
    with pytest.raises(AssertionError) as raised:
        check_assistant(made(**more))
    first, *others = str(raised.value).split("\n- ")
    assert first == f"The assistant {more.get('name', 'nosy')} breaks the contract:"
    return others


def commanding(*commands):
    return {"commands": commands}


def test_a_good_assistant_passes(tmp_path):
    (tmp_path / "index.html").write_text('<!doctype html><script type="module" src="nosy.js"></script><p>Hello.</p>')
    check_assistant(made())
    check_assistant(
        made(
            instructions=lambda context: f"Look for {context.user}.",
            policy=[allow("look", where={"thing": "tree"}), deny("other_*")],
            limits=Limits(rounds=3, calls=None, per_tool={"look": 2}, at_limit="words", words="Enough."),
            questions=("What is there?",),
            commands=(Command("nosy", "look", run, lambda parser: parser.add_argument("thing", help="100 %% of it")),),
            routes=lambda host: [Route("/api/nosy/{thing}", page), Route("/api", page), Mount("/nosy-files", page)],
            panel=Panel("Nosy", tmp_path),
        )
    )


def test_all_that_is_wrong_is_told_at_once():
    found = problems(title="", limits=Limits(tries=0), commands=(Command("ask", "", run),))
    assert found == [
        "It needs a title.",
        "Limits.tries is 0; a request has to be tried at least once.",
        "The command ask is one of Treadle's own.",
        "The command ask needs a summary.",
    ]


def test_what_is_no_assistant_is_none():
    with pytest.raises(AssertionError, match=r"'x' is no `treadle\.assistant\.Assistant`"):
        check_assistant("x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["", "Nosy", "two words", "-x", "9x", "x" * 41, "ä"])
def test_a_name_is_one_small_word(name):
    assert "has to be one word" in problems(name=name)[0]


@pytest.mark.parametrize("name", ["v1", "mcp", "static", "health", "api"])
def test_a_name_leads_to_no_place_of_the_server(name):
    assert problems(name=name) == [f"Its name is taken: the server has something else at /{name}."]


def test_it_says_what_it_is_for_in_one_sentence():
    assert problems(summary=" ") == ["It needs a summary."]
    for summary in ("Looks at things", "Looks. And looks.", "Looks\nat things."):
        assert "one sentence" in problems(summary=summary)[0]
    assert problems(questions=("What?", "")) == ["One of its questions is empty."]


def test_importing_it_loads_nothing_heavy(tmp_path, monkeypatch):
    source = "import sqlite3\nheavy = Assistant(name='heavy', title='Heavy', summary='Weighs much.')"
    monkeypatch.syspath_prepend(str(install(tmp_path, "a-package", "heavy_module", source, heavy="heavy")))
    [problem] = problems(name="heavy")
    assert problem.startswith("Importing heavy_module imports sqlite3: ")
    assert "heavy_module" not in sys.modules
    install(tmp_path, "b-package", "light_module", source.replace("import sqlite3", "").replace("heavy", "light"), light="light")
    check_assistant(made(name="light"))


# tools


class Broken:
    """A toolset that can't be entered."""

    async def __aenter__(self):
        raise OSError("no cable")

    async def __aexit__(self, *_):
        return None


class Listed(FunctionToolset):
    """A toolset of tools as they are given."""

    def __init__(self, *tools):
        super().__init__([])
        self._tools = tools


def test_its_tools_can_be_made_and_entered():
    assert "Making its tools failed: ZeroDivisionError: division by zero" in problems(toolsets=lambda host: [1 / 0])
    assert "Making its tools failed: OSError: no cable" in problems(toolsets=lambda host: [Broken()])


def test_toolsets_are_left_as_they_were_entered():
    inside = []

    class Counted(FunctionToolset):
        async def __aenter__(self):
            inside.append(self)
            return self

        async def __aexit__(self, *_):
            inside.remove(self)

    check_assistant(made(toolsets=lambda host: [Counted([look])]))
    assert inside == []


def test_every_tool_says_what_it_does():
    silent, odd = Tool(ToolSpec("silent", " ", {}), effect="read"), Tool(ToolSpec("odd", "Odd.", {}), effect="explode")  # pyright: ignore[reportArgumentType]
    assert problems(toolsets=lambda host: [Listed(silent, odd)]) == [
        "The tool silent needs a description; its docstring is one.",
        "The tool odd has no effect that there is: 'explode'.",
    ]


def test_no_two_tools_have_one_name():
    assert "There are two tools called look." in problems(toolsets=lambda host: [FunctionToolset([look]), FunctionToolset([look])])


# policy, limits, a run


class Own:
    """A policy by a function."""

    def __init__(self, judge):
        self.judge = judge

    def offers(self, tool, situation):
        return True


def test_its_policy_has_an_answer_to_every_call():
    assert problems(policy=Own(lambda call, tool, situation: "yes")) == [
        "Its policy answers 'yes' to a call of look; it has to be an Allow, an Ask or a Deny."
    ]
    assert problems(policy=Own(lambda call, tool, situation: call.arguments["missing"])) == [
        "Judging a call of look failed: KeyError: 'missing'"
    ]
    assert "Checking its policy failed" not in problems(policy=3)[0]
    assert "A policy is a list of rules" in problems(policy=3)[0]


def test_a_policy_is_asked_about_calls_as_they_come():
    seen = []

    def judge(call, tool, situation):
        seen.append((call.arguments, situation.attended, situation.tainted))
        return Allow()

    check_assistant(made(policy=Own(judge), toolsets=lambda host: [FunctionToolset([look, send])]))
    situations = [(attended, tainted) for _, attended, tainted in seen]
    assert situations == [(True, False), (True, True), (False, False), (False, True)] * 2
    assert seen[0][0] == {"thing": "x", "far": True, "where": {}}
    assert seen[4][0] == {"to": {"street": "x", "number": 1}, "speed": "slow", "weight": 1.0, "things": []}
    for tried, (arguments, *_) in ((look, seen[0]), (send, seen[4])):
        assert isinstance(Validator(tried.tool.parameters).check(arguments), ValidArguments)


def test_calls_are_made_of_schemas_that_name_their_parts_elsewhere_too():
    seen = []
    schema = {"properties": {"to": {"$ref": "#/$defs/place"}}, "required": ["to"], "$defs": {"place": {"const": "here"}}}
    policy = Own(lambda call, tool, situation: seen.append(call.arguments) or Allow())
    check_assistant(made(policy=policy, toolsets=lambda host: [Listed(Tool(ToolSpec("go", "Go.", schema)))]))
    assert seen[0] == {"to": "here"}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(rounds=0), "Limits.rounds is 0"),
        (Limits(calls=-1), "Limits.calls is -1"),
        (Limits(tokens=0), "Limits.tokens is 0"),
        (Limits(seconds=0), "Limits.seconds is 0"),
        (Limits(cost=0), "Limits.cost is 0"),
        (Limits(tries=0), "tried at least once"),
        (Limits(at_limit="explode"), "can't be 'explode'; there are answer, "),  # pyright: ignore[reportArgumentType]
        (Limits(at_limit="words"), 'Limits.at_limit is "words", and Limits.words is empty'),
        (Limits(nudge_at=1), "Limits.nudge_at has to be 2 or more"),
        (Limits(nudge_at=4, refuse_at=3), "Limits.refuse_at no less than that"),
        (Limits(per_tool={"smell": 1}), "It limits the calls of smell, and has no such tool."),
    ],
)
def test_limits_leave_room(limits, words):
    assert words in problems(limits=limits)[0]


def test_a_run_in_which_the_model_only_answers_works():
    def told(context):
        raise ValueError("nothing to say")

    assert problems(instructions=told) == ["A run failed: ValueError: nothing to say"]
    assert "A run in which the model only answers ended as failed: " in problems(parts={"output_type": int})[0]


# faces


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Command("Look At", "look", run), "The command 'Look At' has to be one word"),
        (Command("chat", "look", run), "The command chat is one of Treadle's own."),
        (Command("look", "", run), "The command look needs a summary."),
        (Command("look", "look", run, lambda parser: parser.add_argument("--model")), "conflicting option string: --model"),
        (Command("look", "look", run, lambda parser: parser.add_argument("--far", "-q")), "conflicting option string: -q"),
        (Command("look", "look", run, lambda parser: parser.add_argument("user")), "two arguments for the value user"),
        (
            Command("look", "look", run, lambda parser: parser.add_argument("thing", help="100 %")),
            "The help of the command look failed",
        ),
        (Command("look", "look", run, lambda parser: 1 / 0), "The help of the command look failed: SettingsError"),
    ],
)
def test_commands_are_ones_that_can_be_typed(command, words):
    [problem] = problems(commands=(command,))
    assert words in problem


def test_no_two_commands_have_one_name():
    assert problems(commands=(Command("look", "look", run), Command("look", "look", run))) == [
        "There are two commands called look."
    ]


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (Route("/", page), "The route / takes what is asked of /;"),
        (Route("/health", page), "/health"),
        (Route("/v1/models", page), "/v1"),
        (Route("/{anything}", page), "The route /{anything} takes what is asked of /"),
        (Route("/{anything:path}", page), "takes what is asked of /"),
        (Route("/api/{what}", page), "takes what is asked of /api/"),
        (Route("/api/runs/{run}/more", page), "/api/runs"),
        (Route("/static/nosy.css", page), "/static"),
        (Route("/nosy", page), "/nosy"),
        (Route("/nosy/data", page), "/nosy"),
        (Mount("/api", page), "takes what is asked of /api/"),
        (object(), "needs a path that starts with /"),
        (Mount("", page), "needs a path that starts with /"),
    ],
)
def test_routes_take_nothing_that_is_the_servers_or_its_panels(route, words):
    [problem] = problems(routes=lambda host: [route])
    assert words in problem


def test_routes_can_be_built():
    assert problems(routes=lambda host: 1 / 0) == ["Its routes failed: ZeroDivisionError: division by zero"]


def test_a_panel_is_a_page_in_a_folder(tmp_path):
    assert problems(panel=Panel("Nosy", tmp_path)) == [f"Its panel needs an index.html in {tmp_path}."]
    (tmp_path / "index.html").write_text("<p>Hello.</p>")
    assert problems(panel=Panel("", tmp_path)) == ["Its panel needs a title."]


@pytest.mark.parametrize(
    "markup",
    ["<script>x()</script>", "<style>p {}</style>", '<p style="color: red">', '<button onclick="x()">', "<SCRIPT type=module>"],
)
def test_a_page_has_its_scripts_and_styles_beside_it(tmp_path, markup):
    (tmp_path / "index.html").write_text(f"<!doctype html>{markup}")
    assert "files beside" in problems(panel=Panel("Nosy", tmp_path))[0]


# the host


def test_a_host_of_ones_own_is_used():
    lent = []
    with throwaway_host(user="ann") as host:
        check_assistant(made(toolsets=lambda host: [lent.append(host), FunctionToolset([look])][1:]), host=host)
        assert all(each is host for each in lent)
    assert lent


def test_a_throwaway_host_leaves_nothing_behind():
    with throwaway_host(calls(("look", {})), "Fine.", user="ann") as host, nullcontext(host.terminal) as terminal:
        assert host.home.folder.is_dir()
        assert host.user == "ann"
        assert asyncio.run(host.model()).name == "scripted"
        assert isinstance(terminal, RecordingTerminal)
        terminal.line("data")
        terminal.note("note")
        terminal.tell("told")
    assert (terminal.lines, terminal.notes, terminal.told, terminal.width) == (["data"], ["note"], ["told"], 80)
    assert not host.home.folder.exists()
