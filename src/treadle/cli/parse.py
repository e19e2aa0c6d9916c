"""`treadle parse`: what a reply says, without a model: its words, its thinking and its calls, as JSON.

A reply comes on stdin as it is, or with `--batch` in lines of JSON, each of which gets its answer in a line of its own. What is
wrong with a call is a sentence in the answer; only what is wrong with the command ends it.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.app.dialects import dialect_of
from treadle.cli.codes import FINE
from treadle.cli.render import seen
from treadle.core.calls import Written
from treadle.core.errors import SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.seams import Dialect
from treadle.dialects import mend
from treadle.dialects.dialect import TextDialect
from treadle.files import NotOpened, read_named

MOST_BYTES = 10_000_000  # of a file with tools


class _Function(Struct):
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(_Function):
    """A tool as requests name it, with or without the wrapper that says that it is a function."""

    function: _Function | None = None


class _Line(Struct):
    """One reply of a batch. What it doesn't say is as the command says."""

    text: str | None = None
    chunks: list[str] | None = None
    tools: list[_Tool] | None = None
    dialect: str | None = None
    reasoning_open: bool | None = None


class _Made(Struct, frozen=True):
    """A call, its arguments as they were written: numbers aren't touched."""

    name: str
    arguments: msgspec.Raw


class _Answer(Struct, frozen=True):
    calls: list[_Made]
    text: str
    thinking: str
    problems: list[str]


def run(args: argparse.Namespace) -> int:
    """Parse what comes on stdin."""
    dialect_of(args.dialect)  # so that a name that isn't there is told before anything is read
    tools = [] if args.tools is None else _tools_in(args.tools)
    if args.batch:
        for number, line in enumerate(sys.stdin.buffer, 1):
            if line.strip():
                _print(_of_line(number, line, args, tools))
        return FINE
    pieces = _cut(sys.stdin.buffer.read().decode(errors="replace"), args.stream)
    _print(_answer(args.dialect, pieces, tools))
    return FINE


def _print(answer: _Answer) -> None:
    try:
        text = msgspec.json.encode(answer).decode()
    except UnicodeEncodeError:  # half of a surrogate pair: only ASCII can say it
        import json

        calls = [{"name": call.name, "arguments": json.loads(bytes(call.arguments))} for call in answer.calls]
        text = json.dumps({"calls": calls, "text": answer.text, "thinking": answer.thinking, "problems": answer.problems})
    print(seen(text), flush=True)


def _of_line(number: int, line: bytes, args: argparse.Namespace, tools: Sequence[ToolSpec]) -> _Answer:
    """The answer to one line, which never is an exception: the lines after it have to be answered too."""
    try:
        said = _read_line(line)
        pieces = _cut(said.text or "", args.stream) if said.chunks is None else said.chunks
        offered = _specs(said.tools) if said.tools else tools
        return _answer(said.dialect or args.dialect, pieces, offered, said.reasoning_open)
    except SettingsError as error:
        return _Answer([], "", "", [f"Line {number}: {error}"])
    except Exception as error:  # noqa: BLE001 - a plug-in's dialect may raise anything, and the batch goes on
        return _Answer([], "", "", [f"Line {number} could not be parsed: {type(error).__name__}: {error}"])


def _read_line(line: bytes) -> _Line:
    try:
        return msgspec.json.decode(line, type=_Line)
    except msgspec.ValidationError as error:
        raise SettingsError(f"this isn't as it should be: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_oddly(line)


def _read_oddly(line: bytes) -> _Line:
    """A line with half characters in it, which only the lenient decoder takes."""
    import json

    try:
        return msgspec.convert(json.loads(line.decode(errors="replace")), _Line)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise SettingsError(f"this is no JSON object: {error}.") from error


def _tools_in(path: str) -> list[ToolSpec]:
    try:
        found = msgspec.json.decode(read_named(path, MOST_BYTES, pipes=True), type=list[_Tool])
    except NotOpened as error:
        raise SettingsError(f"The tools in {path} can't be read: {error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SettingsError(f"The tools in {path} should be a JSON list of tool schemas: {error}.") from error
    return _specs(found)


def _specs(tools: Iterable[_Tool]) -> list[ToolSpec]:
    specs = [_spec(tool.function or tool) for tool in tools]
    if not all(spec.name for spec in specs):
        raise SettingsError("A tool needs a name, in `name` or in `function.name`.")
    return specs


def _spec(function: _Function) -> ToolSpec:
    return ToolSpec(function.name, function.description or "", function.parameters or {})


def _cut(text: str, size: int | None) -> list[str]:
    return [text] if size is None else [text[at : at + size] for at in range(0, len(text), size)]


def _answer(name: str, pieces: Iterable[str], tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> _Answer:
    parser = _lenient(dialect_of(name), tools).parser(tools, reasoning_open)
    text, thinking, written = "", "", list[Written]()
    for heard in (*map(parser.feed, pieces), parser.close()):
        if heard.recant:
            text, thinking = "", text
        text += heard.text
        thinking += heard.thinking
        written += heard.calls
    read = [_read(call, tools) for call in written]
    calls = [call for call, _ in read if call is not None]
    return _Answer(calls, text, thinking.strip(), [problem for _, problem in read if problem])


def _lenient(dialect: Dialect, tools: Sequence[ToolSpec]) -> Dialect:
    """The dialect with names let through that aren't on offer: where it was named, or where nothing is known of tools."""
    if isinstance(dialect, TextDialect) and (dialect.ear == "open" or not tools):
        return replace(dialect, forward=True)
    return dialect


def _read(written: Written, tools: Sequence[ToolSpec]) -> tuple[_Made | None, str]:
    """A call, and what is wrong with it."""
    name = written.name
    if written.cut:
        return None, f"The call of {name} was cut off before its end."
    outcome = mend.read_object(written.text)
    match outcome:
        case mend.CutOff():
            return None, f"The arguments of {name} end in the middle."
        case mend.Unreadable():
            return None, f"The arguments of {name} can't be read: {outcome.reason}."
        case mend.Read():
            known = not tools or any(tool.name == name for tool in tools)
            return _Made(name, _raw(written.text, outcome)), "" if known else f"There is no tool {name} on offer."


def _raw(text: str, outcome: mend.Read) -> msgspec.Raw:
    """Arguments as JSON: as they were written, if that is JSON on one line."""
    if not outcome.mended and text.lstrip().startswith("{"):
        return msgspec.Raw(msgspec.json.format(text.encode(), indent=-1))
    from treadle.dialects.forms import json_text

    return msgspec.Raw(json_text(outcome.value).encode())
