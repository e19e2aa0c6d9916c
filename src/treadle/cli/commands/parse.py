"""`treadle parse`: parse a model's reply without a model: its text, its thinking and its calls, as JSON.

A reply is read from stdin as it is, or with `--batch` as lines of JSON, each answered with one line.
What is wrong with a call is reported in the answer; only an error in the command itself ends it.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.cli.exit_codes import OK
from treadle.cli.ui.render import escape_invisible
from treadle.core.calls import Written
from treadle.core.errors import SettingsError
from treadle.core.requests import ToolSpec
from treadle.core.seams import Dialect
from treadle.dialects import json_repair
from treadle.dialects.dialect import TextDialect
from treadle.files import NotOpened, read_named
from treadle.plugins.dialects import dialect_of

MAX_BYTES = 10_000_000  # of a file with tools


class _Function(Struct):
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(_Function):
    """A tool as requests declare it, with or without the wrapper that says that it is a function."""

    function: _Function | None = None


class _BatchLine(Struct):
    """One reply of a batch. Missing fields default to the command's options."""

    text: str | None = None
    chunks: list[str] | None = None
    tools: list[_Tool] | None = None
    dialect: str | None = None
    reasoning_open: bool | None = None


class _ParsedCall(Struct, frozen=True):
    """A call with its arguments as they were written: numbers aren't changed."""

    name: str
    arguments: msgspec.Raw


class _ParseResult(Struct, frozen=True):
    calls: list[_ParsedCall]
    text: str
    thinking: str
    problems: list[str]


def run(args: argparse.Namespace) -> int:
    """Parse stdin."""
    dialect_of(args.dialect)  # so that a name that isn't there is told before anything is read
    tools = [] if args.tools is None else _load_tools(args.tools)
    if args.batch:
        for number, line in enumerate(sys.stdin.buffer, 1):
            if line.strip():
                _print_result(_parse_line(number, line, args, tools))
        return OK
    pieces = _split_chunks(sys.stdin.buffer.read().decode(errors="replace"), args.stream)
    _print_result(_parse_reply(args.dialect, pieces, tools))
    return OK


def _print_result(answer: _ParseResult) -> None:
    try:
        text = msgspec.json.encode(answer).decode()
    except UnicodeEncodeError:  # half of a surrogate pair: only ASCII can say it
        import json

        calls = [{"name": call.name, "arguments": json.loads(bytes(call.arguments))} for call in answer.calls]
        text = json.dumps({"calls": calls, "text": answer.text, "thinking": answer.thinking, "problems": answer.problems})
    print(escape_invisible(text), flush=True)


def _parse_line(number: int, line: bytes, args: argparse.Namespace, tools: Sequence[ToolSpec]) -> _ParseResult:
    """Parse one line. Never raises: the lines after it have to be answered too."""
    try:
        said = _decode_line(line)
        pieces = _split_chunks(said.text or "", args.stream) if said.chunks is None else said.chunks
        offered = _to_specs(said.tools) if said.tools else tools
        return _parse_reply(said.dialect or args.dialect, pieces, offered, said.reasoning_open)
    except SettingsError as error:
        return _ParseResult([], "", "", [f"Line {number}: {error}"])
    except Exception as error:  # noqa: BLE001 - a plug-in's dialect may raise anything, and the batch goes on
        return _ParseResult([], "", "", [f"Line {number} could not be parsed: {type(error).__name__}: {error}"])


def _decode_line(line: bytes) -> _BatchLine:
    try:
        return msgspec.json.decode(line, type=_BatchLine)
    except msgspec.ValidationError as error:
        raise SettingsError(f"this isn't as it should be: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_leniently(line)


def _decode_leniently(line: bytes) -> _BatchLine:
    """Decode a line that holds lone surrogates, which only the lenient decoder accepts."""
    import json

    try:
        return msgspec.convert(json.loads(line.decode(errors="replace")), _BatchLine)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise SettingsError(f"this isn't a JSON object: {error}.") from error


def _load_tools(path: str) -> list[ToolSpec]:
    try:
        found = msgspec.json.decode(read_named(path, MAX_BYTES, pipes=True), type=list[_Tool])
    except NotOpened as error:
        raise SettingsError(f"The tools in {path} can't be read: {error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SettingsError(f"The tools in {path} should be a JSON list of tool schemas: {error}.") from error
    return _to_specs(found)


def _to_specs(tools: Iterable[_Tool]) -> list[ToolSpec]:
    specs = [_to_spec(tool.function or tool) for tool in tools]
    if not all(spec.name for spec in specs):
        raise SettingsError("A tool needs a name, in `name` or in `function.name`.")
    return specs


def _to_spec(function: _Function) -> ToolSpec:
    return ToolSpec(function.name, function.description or "", function.parameters or {})


def _split_chunks(text: str, size: int | None) -> list[str]:
    return [text] if size is None else [text[at : at + size] for at in range(0, len(text), size)]


def _parse_reply(name: str, pieces: Iterable[str], tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> _ParseResult:
    parser = _allow_unknown_names(dialect_of(name), tools).parser(tools, reasoning_open)
    text, thinking, written = "", "", list[Written]()
    for heard in (*map(parser.feed, pieces), parser.close()):
        if heard.recant:
            text, thinking = "", text
        text += heard.text
        thinking += heard.thinking
        written += heard.calls
    read = [_read_call(call, tools) for call in written]
    calls = [call for call, _ in read if call is not None]
    return _ParseResult(calls, text, thinking.strip(), [problem for _, problem in read if problem])


def _allow_unknown_names(dialect: Dialect, tools: Sequence[ToolSpec]) -> Dialect:
    """Return the dialect with unknown tool names let through: where it was named, or where no tools are known."""
    if isinstance(dialect, TextDialect) and (dialect.ear == "open" or not tools):
        return replace(dialect, forward=True)
    return dialect


def _read_call(written: Written, tools: Sequence[ToolSpec]) -> tuple[_ParsedCall | None, str]:
    """Return a call, and what is wrong with it."""
    name = written.name
    if written.cut:
        return None, f"The call of {name} was cut off before its end."
    outcome = json_repair.read_object(written.text)
    match outcome:
        case json_repair.JsonCutOff():
            return None, f"The arguments of {name} end in the middle."
        case json_repair.JsonUnreadable():
            return None, f"The arguments of {name} can't be read: {outcome.reason}."
        case json_repair.JsonRead():
            known = not tools or any(tool.name == name for tool in tools)
            return _ParsedCall(name, _raw_arguments(written.text, outcome)), "" if known else f"There is no tool {name}."


def _raw_arguments(text: str, outcome: json_repair.JsonRead) -> msgspec.Raw:
    """Return arguments as JSON: as they were written, if that is JSON on one line."""
    if not outcome.mended and text.lstrip().startswith("{"):
        return msgspec.Raw(msgspec.json.format(text.encode(), indent=-1))
    from treadle.dialects.forms import to_json_text

    return msgspec.Raw(to_json_text(outcome.value).encode())
