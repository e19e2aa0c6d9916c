"""For authors of assistants: `check_assistant` holds one to the contract, `throwaway_host` lends it what a face would lend.

Made for tests, outside of an event loop. Tools are entered and listed, never called; the model is a scripted one.
"""

import asyncio
import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast, get_args

from msgspec.structs import asdict

from treadle.app.assistant import Assistant, Command, Host
from treadle.app.assistants import NAME, Offer, add_options, agent_of
from treadle.app.home import close_home, open_home
from treadle.app.reserved import COMMANDS, PATHS
from treadle.core.calls import Allow, Ask, Call, Deny, Effect
from treadle.core.seams import Model, Policy, Situation, Toolset
from treadle.core.tool import Tool
from treadle.guard.policy import policy_of
from treadle.loop.limits import Ending
from treadle.models.recorded import Recorded
from treadle.models.scripted import Script, Scripted, calls

__all__ = ["Recorded", "Scripted", "Shown", "calls", "check_assistant", "throwaway_host"]

HEAVY = ("aiohttp", "httpx", "numpy", "pandas", "pydantic", "requests", "sqlite3", "starlette", "tree_sitter", "uvicorn")

Tools = Sequence[Tool]
Check = Callable[[Assistant, Host, Tools], Iterator[str]]


class Shown:
    """A terminal that keeps what it is given: data in `lines`, notes in `notes`, what has to be seen in `told`."""

    def __init__(self, width: int | None = 80) -> None:
        self.width = width
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.told: list[str] = []

    def line(self, text: str = "", style: str = "") -> None:
        """Keep a line of data."""
        self.lines.append(text)

    def note(self, text: str, style: str = "dim") -> None:
        """Keep a note."""
        self.notes.append(text)

    def tell(self, text: str, style: str = "") -> None:
        """Keep a line that has to be seen."""
        self.told.append(text)


@contextmanager
def throwaway_host(*replies: Script, user: str = "") -> Generator[Host]:
    """A host whose folder is gone afterwards, with a model that gives these replies and a terminal that is `Shown`."""
    model = Scripted(*(replies or ("Fine.",)))

    async def chosen() -> Model:
        return model

    with TemporaryDirectory(prefix="treadle-") as folder:
        home = open_home(folder)
        try:
            yield Host(home, chosen, user, Shown())
        finally:
            close_home(home)


def check_assistant(assistant: Assistant, *, host: Host | None = None) -> None:
    """Raise an `AssertionError` that lists, a sentence each, everything in which an assistant breaks the contract."""
    if not isinstance(assistant, Assistant):  # pyright: ignore[reportUnnecessaryIsInstance]  # what a package registers isn't known
        raise AssertionError(f"{assistant!r} is no `treadle.Assistant`.")  # noqa: TRY004 - it is a test that fails
    with throwaway_host() if host is None else nullcontext(host) as lent:
        problems = _problems(assistant, lent)
    if problems:
        raise AssertionError("\n- ".join([f"The assistant {assistant.name} breaks the contract:", *problems]))


def _problems(assistant: Assistant, host: Host) -> list[str]:
    problems: list[str] = []
    tools: Tools = ()
    try:
        tools = asyncio.run(_tools_of(assistant, host))
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and the list goes on
        problems.append(_failed("making its tools", error))
    for what, check in CHECKS:
        try:
            problems.extend(check(assistant, host, tools))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            problems.append(_failed(what, error))
    return problems


def _failed(what: str, error: BaseException) -> str:
    return f"{what[:1].upper()}{what[1:]} failed: {type(error).__name__}: {error}"


# what it says of itself


def _name(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    if NAME.fullmatch(assistant.name) is None:
        yield f"Its name {assistant.name!r} has to be one word of up to 40 small letters, digits and hyphens, a letter first."
    if f"/{assistant.name}" in PATHS or assistant.name == "api":
        yield f"Its name is taken: the server has something else at /{assistant.name}."


def _words(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    if not assistant.title.strip():
        yield "It needs a title."
    summary = assistant.summary.strip()
    if not summary:
        yield "It needs a summary."
    elif not summary.endswith(".") or re.search(r"[.!?]\s|\n", summary):
        yield f"Its summary has to be one sentence, with a full stop at its end: {summary!r}."
    if not all(question.strip() for question in assistant.questions):
        yield "One of its questions is empty."


def _light(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    """Only of what is installed is it known which module is imported."""
    import subprocess
    from importlib.metadata import entry_points

    for point in entry_points(group="treadle.assistants", name=assistant.name):
        code = f"import sys, {point.module}; print(*sorted({{*{HEAVY!r}}} & {{*sys.modules}}))"
        there = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=there, check=True)  # noqa: S603 - the package that is tested names it
        if heavy := done.stdout.strip():
            yield f"Importing {point.module} imports {heavy}: import such things in the functions that need them."


# its tools, and what is held against them


async def _tools_of(assistant: Assistant, host: Host) -> list[Tool]:
    """The tools of all its toolsets, each entered and left."""
    made: Sequence[Toolset] = () if assistant.toolsets is None else assistant.toolsets(host)
    async with AsyncExitStack() as stack:
        for toolset in made:
            await stack.enter_async_context(toolset)
        return [tool for toolset in made for tool in toolset.tools()]


def _tools(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    names = [tool.name for tool in tools]
    yield from [f"There are two tools called {name}." for name in sorted({name for name in names if names.count(name) > 1})]
    for tool in tools:
        if not tool.spec.description.strip():
            yield f"The tool {tool.name} needs a description; its docstring is one."
        if tool.effect not in get_args(Effect):
            yield f"The tool {tool.name} has no effect that there is: {tool.effect!r}."


def _policy(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    policy = policy_of(assistant.policy)
    for tool in tools:
        try:
            yield from _judged(policy, tool, host.user)
        except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and the list goes on
            yield _failed(f"judging a call of {tool.name}", error)


def _judged(policy: Policy, tool: Tool, user: str) -> Iterator[str]:
    call = Call("call_1", tool.name, _sample(tool.parameters, tool.parameters))
    for attended, tainted in ((True, False), (True, True), (False, False), (False, True)):
        situation = Situation(user, attended, tainted)
        policy.offers(tool, situation)
        verdict: Any = policy.judge(call, tool, situation)
        if not isinstance(verdict, Allow | Ask | Deny):
            yield f"Its policy answers {verdict!r} to a call of {tool.name}; it has to be an Allow, an Ask or a Deny."
            return


_SAMPLES: dict[str, Any] = {"string": "x", "integer": 1, "number": 1.0, "boolean": True, "null": None, "array": []}


def _sample(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """A value that is roughly as a schema wants it: what must be there is there."""
    if "$ref" in schema:
        return _sample(whole.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {}), whole)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _sample(schema[key][0], whole)
    kind = schema.get("type", "object")
    if kind != "object":
        return _SAMPLES.get(kind if isinstance(kind, str) else kind[0])
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    return {name: _sample(properties.get(name, {}), whole) for name in cast("list[str]", schema.get("required", []))}


def _limits(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    limits = assistant.limits
    for name in ("rounds", "calls", "tokens", "seconds", "cost"):
        most = asdict(limits)[name]
        if most is not None and most <= 0:
            yield f"Its limit of {name} is {most}, which leaves nothing; None is no limit."
    if limits.tries < 1:
        yield "Its limits have to allow a request to be tried once."
    if limits.at_limit not in get_args(Ending):
        yield f"What happens at its limits can't be {limits.at_limit!r}; there are {', '.join(get_args(Ending))}."
    if limits.at_limit == "words" and not limits.words.strip():
        yield "At its limits it says `words`, and there are none."
    if not 1 < limits.nudge_at <= limits.refuse_at:
        yield "Its limits have to nudge at the second repetition or later, and refuse no earlier than that."
    strange = sorted(set(limits.per_tool) - {tool.name for tool in tools})
    if strange:
        yield f"It limits the calls of {', '.join(strange)}, and has no such tool."


def _run(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    question = assistant.questions[0] if assistant.questions else "Hello."
    result = asyncio.run(agent_of(assistant, host, Scripted("Fine.")).run(question))
    if result.stopped != "answered":
        yield f"A run in which the model only answers ended as {result.stopped}: {result.reason}"


# its faces


def _commands(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    names = [command.name for command in assistant.commands]
    yield from [f"There are two commands called {name}." for name in sorted({name for name in names if names.count(name) > 1})]
    for command in assistant.commands:
        if command.name in COMMANDS:
            yield f"The command {command.name} is one of Treadle's own."
        for each in (command, *command.parts):
            yield from _command(each)
        for each in command.parts or (command,):
            yield from _options(assistant, each)
            if each.run is None:
                yield f"The command {each.name} needs a `run`, which does what it says."


def _command(command: Command) -> Iterator[str]:
    if NAME.fullmatch(command.name) is None:
        yield f"The command {command.name!r} has to be one word of up to 40 small letters, digits and hyphens, a letter first."
    if not command.summary.strip():
        yield f"The command {command.name} needs a summary."


def _options(assistant: Assistant, command: Command) -> Iterator[str]:
    parser = ArgumentParser(prog=f"treadle {command.name}", allow_abbrev=False)
    try:
        add_options(parser, Offer(assistant, command))
        parser.format_help()
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and the list goes on
        yield _failed(f"the help of the command {command.name}", error)
        return
    values = [action.dest for action in parser._actions]  # pyright: ignore[reportPrivateUsage]  # there is no other way to see them
    for name in sorted({name for name in values if values.count(name) > 1}):
        yield f"The command {command.name} has two arguments for the value {name}; every command has one of the common options."


def _routes(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    from importlib.util import find_spec

    if assistant.routes is None or find_spec("starlette") is None:
        return
    from starlette.routing import Mount

    for route in assistant.routes(host):
        path: Any = getattr(route, "path", None)
        if not isinstance(path, str) or not path.startswith("/"):
            yield f"The route {route!r} needs a path that starts with /."
        elif taken := _taken(f"{path}/{{rest:path}}" if isinstance(route, Mount) else path, assistant.name):
            yield f"The route {path} takes what is asked of {taken}; /api/{assistant.name} is a better place."


def _taken(path: str, name: str) -> str:
    """Which path that isn't an assistant's to take a route would take; empty where it takes none."""
    if path == "/":
        return path
    return next((own for own in (*PATHS, f"/{name}") if _covers(path.split("/"), own.split("/"))), "")


def _covers(asked: Sequence[str], own: Sequence[str]) -> bool:
    """Whether a route takes a path or something below it. A parameter takes any word, a `:path` any words."""
    for number, word in enumerate(own):
        if number >= len(asked):
            return False
        if re.fullmatch(r"{\w+:path}", asked[number]):
            return True
        if asked[number] != word and not asked[number].startswith("{"):
            return False
    return True


def _panel(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    if assistant.panel is None:
        return
    if not assistant.panel.title.strip():
        yield "Its panel needs a title."
    page = Path(assistant.panel.folder) / "index.html"
    if not page.is_file():
        yield f"Its panel needs an index.html in {assistant.panel.folder}."
    elif re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page.read_text(encoding="utf-8"), re.IGNORECASE):
        yield f"Scripts and styles have to be in files beside {page}: browsers don't go by what is written in the page itself."


CHECKS: Iterable[tuple[str, Check]] = (
    ("its name", _name),
    ("its words", _words),
    ("importing it", _light),
    ("its tools", _tools),
    ("its policy", _policy),
    ("its limits", _limits),
    ("a run", _run),
    ("its commands", _commands),
    ("its routes", _routes),
    ("its panel", _panel),
)
