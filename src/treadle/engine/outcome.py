"""From one call to its result: cache, single flight, timeout, exceptions described for the model, redaction, size.

Journaling is in `perform`; here a value, or an error, becomes what the model reads.
"""

import asyncio
from collections.abc import Awaitable
from traceback import format_exception
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, ProblemKind, Result, WaitRequest
from treadle.core.context import RunContext
from treadle.core.errors import BadArguments, ToolProblem
from treadle.core.requests import Usage
from treadle.core.tool import RetryPolicy, Tool
from treadle.engine.large_results import read_result, store_large_result
from treadle.engine.live import LiveRun
from treadle.engine.media import ToolContent, pack_content, store_value, unpack_content
from treadle.engine.output_reader import OutputRejected, accept_answer
from treadle.engine.result_cache import fetch_cached, invalidate_after
from treadle.engine.setup import Approval, Output
from treadle.engine.tool_offer import find_tools
from treadle.guard.log_filter import log
from treadle.loop.retry import call_retry_policy
from treadle.tools.text import to_data, to_text

_NO_USAGE = Usage()
GRACE = 1.0  # seconds a coroutine may take to end after it was cancelled


class CallOutcome(Struct, frozen=True):
    """A result, and what else is journaled about it. `retries` is the policy by which a call that raised may be tried again."""

    result: Result
    cached: bool = False
    usage: Usage = Usage()
    kept: str = ""
    revealed: tuple[str, ...] = ()
    final: bool = False
    retries: RetryPolicy | None = None
    about: tuple[str, ...] = ()
    output: dict[str, Any] | str | None = None
    rejected: bool = False
    handoff: str = ""


class NestedResult(Struct, frozen=True):
    """The answer of a nested run, its usage, and whether it had read untrusted content. `data` is a typed output."""

    content: str
    usage: Usage
    failed: bool = False
    untrusted: bool = False
    data: Any = None


class Transfer(Struct, frozen=True):
    """The value of a hand-off tool: the agent that the run goes on with."""

    agent: str


class Suspended(BaseException):
    """A call can't continue before a person has answered, or a wait is over; it is resumed then.

    Like a cancellation it is no `Exception`: a tool that catches those must not go on as if the wait were over.
    """

    def __init__(self, approvals: tuple[Approval, ...]) -> None:
        super().__init__("waiting for a person, a time or an event")
        self.approvals = approvals


class DeferredResult(Exception):
    """A tool has done its work, and its result comes later."""

    def __init__(self, request: WaitRequest) -> None:
        super().__init__("the result comes later")
        self.request = request


async def run_call(
    run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], left: float | None, *, whole: bool
) -> CallOutcome:
    """Run one call, once. Never raises for what the tool does, only for what the run has to know (`Suspended`, `DeferredResult`,
    cancellation).

    `left` are the seconds that are left for it; None if unlimited.
    """
    if run.setup.output is not None and tool is run.setup.output.tool:
        return await _final_outcome(run, run.setup.output, call, context)
    if run.catalog.is_own(tool):
        return await _run_own_tool(run, call)
    try:
        if tool.cache and tool.effect == "read":
            kept, reused = await fetch_cached(run, tool, call, lambda: _cacheable_content(run, tool, call, context, left))
            return await _limit_size(run, tool, call, unpack_content(kept), reused=reused, whole=whole)
        if tool.effect == "read":
            value = await _start_tool(run, tool, call, context, left)
        else:
            value = await _run_with_effects(run, tool, call, context, left)
    except (Suspended, DeferredResult):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        stray = RuntimeError("the tool awaited something that was cancelled")  # a task of its own: nobody has cancelled the call
        stray.__cause__ = error
        return _failed_outcome(run, tool, call, context, stray)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code; whatever it raises is a problem for the model
        return _failed_outcome(run, tool, call, context, error)
    if type(value) is WaitRequest:
        raise DeferredResult(value)
    return await value_to_outcome(run, tool, call, value, whole=whole)


def _failed_outcome(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], error: BaseException) -> CallOutcome:
    """Return what the model reads of a call that raised, and whether the call is tried again first."""
    retries = call_retry_policy(tool, error, context.attempt) if isinstance(error, Exception) else None
    return replace(problem_outcome(run, tool, call, error, may_retry=retries is not None), retries=retries)


async def _run_with_effects(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], left: float | None) -> Any:
    """Return the value of a call with an effect. It invalidates the cache, also if it failed: it may have had some."""
    try:
        return await _start_tool(run, tool, call, context, left)
    finally:
        await invalidate_after(run, tool)


async def value_to_outcome(run: LiveRun, tool: Tool, call: Call, value: Any, *, whole: bool = False) -> CallOutcome:
    """Convert a tool's value to its result: the text for the model, and the data for code."""
    if isinstance(value, str):
        content = ToolContent(to_text(value))
    elif type(value) is Transfer:
        return _transfer_outcome(run, call, value)
    elif type(value) is NestedResult:
        return await _nested_outcome(run, tool, call, value, whole=whole)
    else:
        content = await store_value(value, run.services.blobs)
    content = content if run.setup.shows_secrets else _redact(run, content)
    if whole or len(content.text) <= run.setup.result_limit:  # nearly always, and without a coroutine more
        return _to_outcome(run, tool, call, content, whole=whole)
    return await _limit_size(run, tool, call, content)


def _transfer_outcome(run: LiveRun, call: Call, value: Transfer) -> CallOutcome:
    """Return the outcome of a hand-off; only one agent can go on with a run."""
    if run.state.handoff:
        words = f"The conversation already goes on with {run.state.handoff}."
        return CallOutcome(Result(call.id, call.name, words, "denied"))
    return CallOutcome(Result(call.id, call.name, f"The conversation goes on with {value.agent}."), handoff=value.agent)


async def _nested_outcome(run: LiveRun, tool: Tool, call: Call, value: NestedResult, *, whole: bool) -> CallOutcome:
    """Return the answer of an agent that is a tool, or why it failed."""
    content = _redact(run, ToolContent(value.content, data=to_data(value.data)))
    sized = await _limit_size(run, tool, call, content, whole=whole, untrusted=value.untrusted)
    if not value.failed:
        return replace(sized, usage=value.usage)
    quoted = len(sized.result.content) if value.untrusted else 0
    return replace(sized, result=replace(sized.result, problem="raised", quoted=quoted), usage=value.usage)


def _redact(run: LiveRun, content: ToolContent) -> ToolContent:
    """Return the content without secrets; the name of an image could contain one too."""
    redactor, data = run.redactor, content.data
    text = redactor.text(content.text)
    if data is not None:
        data = redactor.value(data)
    named = tuple([replace(media, name=redactor.text(media.name)) for media in content.media]) if content.media else ()
    if text is content.text and data is content.data and not named:
        return content
    return replace(content, text=text, media=named, data=data)


class _CallTimeout(Exception):
    """A call timed out; `stopped` says that it really ended."""

    def __init__(self, *, stopped: bool) -> None:
        super().__init__("took too long")
        self.stopped = stopped


def _start_tool(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], left: float | None) -> Awaitable[Any]:
    """Return what carries a call out, to be awaited."""
    return run.toolset.call(call, context) if left is None else _call_in_time(run, tool, call, context, left)


async def _call_in_time(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], left: float) -> Any:
    task = asyncio.ensure_future(run.toolset.call(call, context))
    try:
        done, _ = await asyncio.wait([task], timeout=left)
        if done:
            return task.result()
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=GRACE)
        raise _CallTimeout(stopped=bool(done) and not tool.threaded)
    finally:
        task.cancel()


def call_timeout(run: LiveRun, tool: Tool) -> float | None:
    """Return the seconds that all tries of a call have: the tool's own timeout, or the rest of the turn's if that is less."""
    limit = run.setup.terms.limits.seconds
    if limit is None:
        return tool.timeout
    left = max(limit - run.state.spent.seconds, 0.01)
    return left if tool.timeout is None else min(left, tool.timeout)


async def _cacheable_content(run: LiveRun, tool: Tool, call: Call, context: RunContext[Any], left: float | None) -> str:
    """Return the content to cache, with secrets redacted."""
    value = await _start_tool(run, tool, call, context, left)
    if type(value) is WaitRequest:
        raise DeferredResult(value)
    return pack_content(_redact(run, await store_value(value, run.services.blobs)))


async def _limit_size(
    run: LiveRun,
    tool: Tool,
    call: Call,
    content: ToolContent,
    *,
    reused: bool = False,
    whole: bool = False,
    untrusted: bool = False,
) -> CallOutcome:
    """Return the result. One too large for a conversation is shortened and stored elsewhere; then it has no data."""
    if whole or len(content.text) <= run.setup.result_limit:
        return _to_outcome(run, tool, call, content, reused=reused, whole=whole, untrusted=untrusted)
    text, kept, usage = await store_large_result(run, call, content.text)
    short = replace(content, text=text, data=None)
    return replace(_to_outcome(run, tool, call, short, reused=reused, whole=True, untrusted=untrusted), kept=kept, usage=usage)


def _to_outcome(
    run: LiveRun,
    tool: Tool,
    call: Call,
    content: ToolContent,
    *,
    reused: bool = False,
    whole: bool = False,
    untrusted: bool = False,
) -> CallOutcome:
    """Return the result with this text; without the data behind it where that is too large."""
    data = content.data
    if data is not None and not whole and len(msgspec.json.encode(data)) > run.setup.result_limit:
        data = None
    untrusted = untrusted or content.untrusted or tool.trust == "untrusted"
    result = Result(call.id, call.name, content.text, None, untrusted, content.structured, content.media, data, about=content.about)
    return CallOutcome(result, reused)


def problem_outcome(run: LiveRun, tool: Tool, call: Call, error: BaseException, *, may_retry: bool = False) -> CallOutcome:
    """Return an error described for the model; the traceback is for the developer's log, unless the call is tried again."""
    kind: ProblemKind = "raised"
    if isinstance(error, ToolProblem):
        kind = "invalid" if isinstance(error, BadArguments) else "raised"
        words = str(error)
    elif isinstance(error, _CallTimeout):
        kind = "timeout"
        words = f"{call.name} took too long and was given up."
        if not error.stopped:
            words += " It could not be stopped and may still be running."
    else:
        if run.setup.raise_tool_errors and not may_retry:
            raise error
        words = f"{type(error).__name__}: {error}".removesuffix(": ")
        if may_retry:
            log.info("Tool %s failed in run %s: %s", call.name, run.id, run.redactor.text(words))
        else:
            _log_error(run, call, words, error)
    if tool.effect != "read" and kind == "timeout":
        words += " It may or may not have taken effect."
    content = run.redactor.text(words)
    result = Result(call.id, call.name, content, kind, tool.trust == "untrusted")
    if isinstance(error, ToolProblem):
        quoted = _quoted_length(run, error, content) if error.quote else 0
        result = replace(result, quoted=quoted, data=run.redactor.value(to_data(error.data)))
    return CallOutcome(result)


def _log_error(run: LiveRun, call: Call, words: str, error: BaseException) -> None:
    """Log a tool's error for its author; the first line says what it is, the traceback where."""
    trace = "".join(format_exception(error))
    log.error("Tool %s failed in run %s: %s\n%s", call.name, run.id, run.redactor.text(words), run.redactor.text(trace))


def _quoted_length(run: LiveRun, error: ToolProblem, content: str) -> int:
    """Return how much of a problem's content is quoted. Where the tool's own words can't be separated from it, all of it."""
    own = run.redactor.text(error.words)
    return len(content) - len(own) if content.startswith(own) else len(content)


async def _final_outcome(run: LiveRun, output: Output, call: Call, context: RunContext[Any]) -> CallOutcome:
    """Return the outcome of the call that gives the answer: accepted if the output can be built from it."""
    try:
        answer = await accept_answer(output, call.arguments, context)
    except OutputRejected as rejected:
        return CallOutcome(Result(call.id, call.name, run.redactor.text(f"Not accepted: {rejected}"), "invalid"), rejected=True)
    return CallOutcome(Result(call.id, call.name, "Accepted."), final=True, output=None if answer is call.arguments else answer)


async def _run_own_tool(run: LiveRun, call: Call) -> CallOutcome:
    """Run one of the engine's own tools."""
    if call.name == "find_tools":
        content, revealed = find_tools(run, call.arguments["query"])
        return CallOutcome(Result(call.id, call.name, run.redactor.text(content)), revealed=revealed)
    if call.name == "background_result":
        from treadle.engine.background import read_background  # few runs need it

        found, about = await read_background(run, call.arguments["id"])
        return CallOutcome(replace(found, call_id=call.id, name=call.name), about=about)
    if call.name == "search_conversation":
        from treadle.engine.compaction import search_conversation  # only compacted runs need it

        content, problem = search_conversation(run, call.arguments["query"])
    else:
        content, problem = await read_result(run, call.arguments)
    untrusted = run.state.tainted and problem is None  # what it repeats may have been
    return CallOutcome(Result(call.id, call.name, run.redactor.text(content), problem, untrusted))
