"""From one call to its result: cache, single flight, timeout, exceptions worded for the model, redaction, size.

Journaling is `perform`; here a value, or what went wrong instead, becomes what the model reads.
"""

import asyncio
from traceback import format_exception
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, ProblemKind, Result
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.requests import Usage
from treadle.core.tool import Tool
from treadle.engine.cached import cached, forget_after
from treadle.engine.large import keep_large, read_result
from treadle.engine.live import LiveRun
from treadle.engine.media import Content, pack, read_value, unpack
from treadle.engine.nested import Nested, Suspended
from treadle.engine.offer import find_tools
from treadle.guard.logged import log
from treadle.tools.text import to_data

GRACE = 1.0  # seconds a coroutine may take to end after it was cancelled


class Outcome(Struct, frozen=True):
    """A result, and what else is to be written down about it."""

    result: Result
    cached: bool = False
    usage: Usage = Usage()
    kept: str = ""
    revealed: tuple[str, ...] = ()
    final: bool = False


async def outcome(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], whole: bool) -> Outcome:
    """Carry one call out. Never raises for what the tool does, only for what the run has to know (`Suspended`, cancellation)."""
    if run.setup.output is not None and tool is run.setup.output.tool:
        return _final(run, call)
    if run.catalog.is_own(tool):
        return await _own(run, call)
    try:
        if tool.cache and tool.effect == "read":
            kept, reused = await cached(run, tool, call, lambda: _to_keep(run, tool, call, context))
            return await _sized(run, tool, call, unpack(kept), reused=reused, whole=whole)
        value = await _written(run, tool, call, context)
    except (Suspended, asyncio.CancelledError):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code; whatever it raises is a problem for the model
        return _problem(run, tool, call, error)
    return await read_back(run, tool, call, value, whole=whole)


async def _written(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any]) -> Any:
    """The value of a call; what was read before one with an effect is forgotten, also where it failed: it may have had some."""
    try:
        return await _value(run, tool, call, context)
    finally:
        if tool.effect != "read":
            await forget_after(run, tool)


async def read_back(run: LiveRun, tool: Tool, call: Call, value: Any, *, whole: bool = False) -> Outcome:
    """A tool's value as its result: the text for the model, and the data for code."""
    if isinstance(value, Nested):
        return await _nested(run, tool, call, value, whole=whole)
    content = await read_value(value, run.services.blobs)
    return await _sized(run, tool, call, content if run.setup.shows_secrets else _redact(run, content), whole=whole)


async def _nested(run: LiveRun, tool: Tool, call: Call, value: Nested, *, whole: bool) -> Outcome:
    """What an agent that is a tool answered, or why it failed."""
    content = _redact(run, Content(value.content, data=to_data(value.data)))
    sized = await _sized(run, tool, call, content, whole=whole, untrusted=value.untrusted)
    if not value.failed:
        return replace(sized, usage=value.usage)
    quoted = len(sized.result.content) if value.untrusted else 0
    return replace(sized, result=replace(sized.result, problem="raised", quoted=quoted), usage=value.usage)


def _redact(run: LiveRun, content: Content) -> Content:
    """The content without secrets; the name of an image could hold one too."""
    named = tuple([replace(media, name=run.redactor.text(media.name)) for media in content.media])
    data = None if content.data is None else run.redactor.value(content.data)
    return replace(content, text=run.redactor.text(content.text), media=named, data=data)


class _TookTooLong(Exception):
    """A call was given up at its timeout; `stopped` says that it really ended."""

    def __init__(self, *, stopped: bool) -> None:
        super().__init__("took too long")
        self.stopped = stopped


async def _value(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any]) -> Any:
    timeout = _timeout(run, tool)
    if timeout is None:
        return await run.setup.toolset.call(call, context)
    task = asyncio.ensure_future(run.setup.toolset.call(call, context))
    try:
        done, _ = await asyncio.wait([task], timeout=timeout)
        if done:
            return task.result()
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=GRACE)
        raise _TookTooLong(stopped=bool(done) and not tool.threaded)
    finally:
        task.cancel()


def _timeout(run: LiveRun, tool: Tool) -> float | None:
    """The tool's own, or what is left of the turn's seconds if that is less."""
    limit = run.setup.terms.limits.seconds
    if limit is None:
        return tool.timeout
    left = max(limit - run.state.spent.seconds, 0.01)
    return left if tool.timeout is None else min(left, tool.timeout)


async def _to_keep(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any]) -> str:
    """What the cache keeps, and so never a secret."""
    return pack(_redact(run, await read_value(await _value(run, tool, call, context), run.services.blobs)))


async def _sized(
    run: LiveRun,
    tool: Tool,
    call: Call,
    content: Content,
    *,
    reused: bool = False,
    whole: bool = False,
    untrusted: bool = False,
) -> Outcome:
    """The result. What is too large for a conversation is shortened and kept whole elsewhere; then there is no data with it."""
    text, data, kept, usage = content.text, content.data, "", Usage()
    if not whole:
        if len(text) > run.setup.result_limit:
            text, kept, usage = await keep_large(run, call, text)
            data = None
        elif data is not None and len(msgspec.json.encode(data)) > run.setup.result_limit:
            data = None
    untrusted = untrusted or tool.trust == "untrusted"
    result = Result(call.id, call.name, text, None, untrusted, content.structured, content.media, data)
    return Outcome(result, cached=reused, kept=kept, usage=usage)


def _problem(run: LiveRun, tool: Tool, call: Call, error: BaseException) -> Outcome:
    """What went wrong, worded for the model; the traceback is for the developer's log."""
    kind: ProblemKind = "raised"
    if isinstance(error, ToolProblem):
        words = str(error)
    elif isinstance(error, _TookTooLong):
        kind = "timeout"
        words = f"{call.name} took too long and was given up."
        if not error.stopped:
            words += " It could not be stopped and may still be running."
    else:
        words = f"{type(error).__name__}: {error}"
        trace = run.redactor.text("".join(format_exception(error)))
        log.warning("Tool %s failed in run %s\n%s", call.name, run.id, trace)
    if tool.effect != "read" and kind == "timeout":
        words += " It may or may not have taken effect."
    content = run.redactor.text(words)
    result = Result(call.id, call.name, content, kind, tool.trust == "untrusted")
    if isinstance(error, ToolProblem):
        quoted = _quoted(run, error, content) if error.quote else 0
        result = replace(result, quoted=quoted, data=run.redactor.value(to_data(error.data)))
    return Outcome(result)


def _quoted(run: LiveRun, error: ToolProblem, content: str) -> int:
    """How much of a problem's content is quoted. Where the tool's own words can't be told from it, all of it."""
    own = run.redactor.text(error.words)
    return len(content) - len(own) if content.startswith(own) else len(content)


def _final(run: LiveRun, call: Call) -> Outcome:
    """The call that gives the answer: accepted if the value can be made of it."""
    assert run.setup.output is not None  # asked by the caller
    try:
        run.setup.output.convert(call.arguments)
    except (ToolProblem, ValueError, TypeError) as error:
        return Outcome(Result(call.id, call.name, run.redactor.text(f"Not accepted: {error}"), "invalid"))
    return Outcome(Result(call.id, call.name, "Accepted."), final=True)


async def _own(run: LiveRun, call: Call) -> Outcome:
    """The engine's own tools."""
    if call.name == "find_tools":
        content, revealed = find_tools(run, call.arguments["query"])
        return Outcome(Result(call.id, call.name, run.redactor.text(content)), revealed=revealed)
    content, problem = await read_result(run, call.arguments)
    return Outcome(Result(call.id, call.name, run.redactor.text(content), problem))
