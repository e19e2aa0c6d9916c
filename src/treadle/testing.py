"""Models for tests (`Scripted`, `Recorded`), and the assistant contract (`check_assistant`, `throwaway_host`).

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

from treadle.core.calls import Allow, Ask, Call, Deny, Effect
from treadle.core.seams import Model, Policy, Situation, Toolset
from treadle.core.tool import Tool
from treadle.guard.policy import to_policy
from treadle.home import close_home, open_home
from treadle.loop.limits import find_limit_mistakes
from treadle.models.recorded import Recorded
from treadle.models.scripted import Script, Scripted, ScriptedReply, calls
from treadle.plugins.assistant import Assistant, Command, Host
from treadle.plugins.assistants import NAME_PATTERN, AssistantCommand, add_command_options, assistant_agent
from treadle.settings.reserved import COMMANDS, PATHS

__all__ = ["Recorded", "RecordingTerminal", "Scripted", "ScriptedReply", "calls", "check_assistant", "throwaway_host"]

HEAVY_MODULES = ("aiohttp", "httpx", "numpy", "pandas", "pydantic", "requests", "sqlite3", "starlette", "tree_sitter", "uvicorn")

Tools = Sequence[Tool]
Check = Callable[[Assistant, Host, Tools], Iterator[str]]


class RecordingTerminal:
    """A terminal that records its output: data in `lines`, notes in `notes`, important lines in `told`."""

    def __init__(self, width: int | None = 80) -> None:
        self.width = width
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.told: list[str] = []

    def line(self, text: str = "", style: str = "") -> None:
        """Record a line of data."""
        self.lines.append(text)

    def note(self, text: str, style: str = "dim") -> None:
        """Record a note."""
        self.notes.append(text)

    def tell(self, text: str, style: str = "") -> None:
        """Record an important line."""
        self.told.append(text)


@contextmanager
def throwaway_host(*replies: Script, user: str = "") -> Generator[Host]:
    """Yield a host in a temporary folder, with a model that gives these replies and a `RecordingTerminal`."""
    model = Scripted(*(replies or ("Fine.",)))

    async def chosen() -> Model:
        return model

    with TemporaryDirectory(prefix="treadle-") as folder:
        home = open_home(folder)
        try:
            yield Host(home, chosen, user, RecordingTerminal())
        finally:
            close_home(home)


def check_assistant(assistant: Assistant, *, host: Host | None = None) -> None:
    """Raise an `AssertionError` that lists, a sentence each, every violation of the assistant contract."""
    if not isinstance(assistant, Assistant):  # pyright: ignore[reportUnnecessaryIsInstance]  # what a package registers isn't known
        raise AssertionError(f"{assistant!r} is no `treadle.assistant.Assistant`.")  # noqa: TRY004 - it is a test that fails
    with throwaway_host() if host is None else nullcontext(host) as lent:
        problems = _find_problems(assistant, lent)
    if problems:
        raise AssertionError("\n- ".join([f"The assistant {assistant.name} breaks the contract:", *problems]))


def _find_problems(assistant: Assistant, host: Host) -> list[str]:
    problems: list[str] = []
    tools: Tools = ()
    try:
        tools = asyncio.run(_list_tools(assistant, host))
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and the list goes on
        problems.append(_failure_text("making its tools", error))
    for what, check in CHECKS:
        try:
            problems.extend(check(assistant, host, tools))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            problems.append(_failure_text(what, error))
    return problems


def _failure_text(what: str, error: BaseException) -> str:
    return f"{what[:1].upper()}{what[1:]} failed: {type(error).__name__}: {error}"


# what it says of itself


def _check_name(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    if NAME_PATTERN.fullmatch(assistant.name) is None:
        yield f"Its name {assistant.name!r} has to be one word of up to 40 small letters, digits and hyphens, a letter first."
    if f"/{assistant.name}" in PATHS or assistant.name == "api":
        yield f"Its name is taken: the server has something else at /{assistant.name}."


def _check_texts(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    if not assistant.title.strip():
        yield "It needs a title."
    summary = assistant.summary.strip()
    if not summary:
        yield "It needs a summary."
    elif not summary.endswith(".") or re.search(r"[.!?]\s|\n", summary):
        yield f"Its summary has to be one sentence, with a full stop at its end: {summary!r}."
    if not all(question.strip() for question in assistant.questions):
        yield "One of its questions is empty."


def _check_light_import(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    """Check imports; only for an installed assistant is it known which module is imported."""
    import subprocess
    from importlib.metadata import entry_points

    for point in entry_points(group="treadle.assistants", name=assistant.name):
        code = f"import sys, {point.module}; print(*sorted({{*{HEAVY_MODULES!r}}} & {{*sys.modules}}))"
        there = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=there, check=True)  # noqa: S603 - the package that is tested names it
        if heavy := done.stdout.strip():
            yield f"Importing {point.module} imports {heavy}: import such things in the functions that need them."


# its tools, and what is held against them


async def _list_tools(assistant: Assistant, host: Host) -> list[Tool]:
    """Return the tools of all its toolsets, each entered and exited."""
    made: Sequence[Toolset] = () if assistant.toolsets is None else assistant.toolsets(host)
    async with AsyncExitStack() as stack:
        for toolset in made:
            await stack.enter_async_context(toolset)
        return [tool for toolset in made for tool in toolset.tools()]


def _check_tools(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    names = [tool.name for tool in tools]
    yield from [f"There are two tools called {name}." for name in sorted({name for name in names if names.count(name) > 1})]
    for tool in tools:
        if not tool.spec.description.strip():
            yield f"The tool {tool.name} needs a description; its docstring is one."
        if tool.effect not in get_args(Effect):
            yield f"The tool {tool.name} has no effect that there is: {tool.effect!r}."


def _check_policy(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    policy = to_policy(assistant.policy)
    for tool in tools:
        try:
            yield from _check_decision(policy, tool, host.user)
        except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and the list goes on
            yield _failure_text(f"judging a call of {tool.name}", error)


def _check_decision(policy: Policy, tool: Tool, user: str) -> Iterator[str]:
    call = Call("call_1", tool.name, _make_sample(tool.parameters, tool.parameters))
    for attended, tainted in ((True, False), (True, True), (False, False), (False, True)):
        situation = Situation(user, attended, tainted)
        policy.offers(tool, situation)
        verdict: Any = policy.judge(call, tool, situation)
        if not isinstance(verdict, Allow | Ask | Deny):
            yield f"Its policy answers {verdict!r} to a call of {tool.name}; it has to be an Allow, an Ask or a Deny."
            return


_SAMPLES: dict[str, Any] = {"string": "x", "integer": 1, "number": 1.0, "boolean": True, "null": None, "array": []}


def _make_sample(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """Return a value that roughly fits a schema: everything required is there."""
    if "$ref" in schema:
        return _make_sample(whole.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {}), whole)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _make_sample(schema[key][0], whole)
    kind = schema.get("type", "object")
    if kind != "object":
        return _SAMPLES.get(kind if isinstance(kind, str) else kind[0])
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    return {name: _make_sample(properties.get(name, {}), whole) for name in cast("list[str]", schema.get("required", []))}


def _check_limits(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    yield from find_limit_mistakes(assistant.limits)
    strange = sorted(set(assistant.limits.per_tool) - {tool.name for tool in tools})
    if strange:
        yield f"It limits the calls of {', '.join(strange)}, and has no such tool."


def _check_run(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    if any(find_limit_mistakes(assistant.limits)):
        return  # no agent can be made of it, for what its limits were found to be
    question = assistant.questions[0] if assistant.questions else "Hello."
    result = asyncio.run(assistant_agent(assistant, host, Scripted("Fine.")).run(question))
    if result.stopped != "answered":
        yield f"A run in which the model only answers ended as {result.stopped}: {result.reason}"


# its faces


def _check_commands(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    names = [command.name for command in assistant.commands]
    yield from [f"There are two commands called {name}." for name in sorted({name for name in names if names.count(name) > 1})]
    for command in assistant.commands:
        if command.name in COMMANDS:
            yield f"The command {command.name} is one of Treadle's own."
        for each in (command, *command.parts):
            yield from _check_command(each)
        for each in command.parts or (command,):
            yield from _check_options(assistant, each)
            if each.run is None:
                yield f"The command {each.name} needs a `run`, which does what it says."


def _check_command(command: Command) -> Iterator[str]:
    if NAME_PATTERN.fullmatch(command.name) is None:
        yield f"The command {command.name!r} has to be one word of up to 40 small letters, digits and hyphens, a letter first."
    if not command.summary.strip():
        yield f"The command {command.name} needs a summary."


def _check_options(assistant: Assistant, command: Command) -> Iterator[str]:
    parser = ArgumentParser(prog=f"treadle {command.name}", allow_abbrev=False)
    try:
        add_command_options(parser, AssistantCommand(assistant, command))
        parser.format_help()
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and the list goes on
        yield _failure_text(f"the help of the command {command.name}", error)
        return
    values = [action.dest for action in parser._actions]  # pyright: ignore[reportPrivateUsage]  # there is no other way to see them
    for name in sorted({name for name in values if values.count(name) > 1}):
        yield f"The command {command.name} has two arguments for the value {name}; every command has one of the common options."


def _check_routes(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
    from importlib.util import find_spec

    if assistant.routes is None or find_spec("starlette") is None:
        return
    from starlette.routing import Mount

    for route in assistant.routes(host):
        path: Any = getattr(route, "path", None)
        if not isinstance(path, str) or not path.startswith("/"):
            yield f"The route {route!r} needs a path that starts with /."
        elif taken := _find_taken_path(f"{path}/{{rest:path}}" if isinstance(route, Mount) else path, assistant.name):
            yield f"The route {path} takes what is asked of {taken}; /api/{assistant.name} is a better place."


def _find_taken_path(path: str, name: str) -> str:
    """Return the reserved path that a route would take; empty if it takes none."""
    if path == "/":
        return path
    return next((own for own in (*PATHS, f"/{name}") if _covers_path(path.split("/"), own.split("/"))), "")


def _covers_path(asked: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether a route matches a path or something below it. A parameter matches any word, a `:path` any words."""
    for number, word in enumerate(own):
        if number >= len(asked):
            return False
        if re.fullmatch(r"{\w+:path}", asked[number]):
            return True
        if asked[number] != word and not asked[number].startswith("{"):
            return False
    return True


def _check_panel(assistant: Assistant, host: Host, tools: Tools) -> Iterator[str]:
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
    ("its name", _check_name),
    ("its words", _check_texts),
    ("importing it", _check_light_import),
    ("its tools", _check_tools),
    ("its policy", _check_policy),
    ("its limits", _check_limits),
    ("a run", _check_run),
    ("its commands", _check_commands),
    ("its routes", _check_routes),
    ("its panel", _check_panel),
)
