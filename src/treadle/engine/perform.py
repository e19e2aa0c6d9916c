"""Runs calls: concurrently where they may, in order where they must, each with exactly one result.

`Started` is written and safe before anything with an effect begins; `Returned` after it. How a value becomes a result is
`run_call`.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Allow, Call, Deny, Result, WaitRequest
from treadle.core.context import RunContext
from treadle.core.entries import Called, Judged, Started
from treadle.core.errors import ToolProblem
from treadle.core.events import CallJudged, CallProgressed, CallRetried, CallStarted
from treadle.core.media import attachment_of
from treadle.core.tool import RetryPolicy, Tool
from treadle.engine.audit_records import audit_begin, audit_end
from treadle.engine.call_results import record_result
from treadle.engine.inline_approval import ask_person, preview_calls
from treadle.engine.interrupted_calls import (
    TOOL_GONE,
    CannotTell,
    ask_what_happened,
    handle_missing_tool,
    reconcile_call,
    record_unclear,
)
from treadle.engine.judge import describe_misfit, judge_call, judge_written
from treadle.engine.live import LiveRun
from treadle.engine.outcome import CallOutcome, DeferredResult, Suspended, call_timeout, problem_outcome, run_call
from treadle.engine.result_cache import invalidate_after
from treadle.engine.telemetry import trace_call
from treadle.guard.policy import digest_arguments
from treadle.loop.decide import CallTools, Judge, decide_open_reply
from treadle.loop.recover import recovery
from treadle.loop.retry import retry_delay
from treadle.loop.state import CallState, find_call
from treadle.tools.text import to_json_value
from treadle.tools.validate import InvalidArguments


def judge_calls(run: LiveRun, calls: Sequence[CallState]) -> None:
    """Read and judge calls, each in the light of those before it."""
    for call in calls:
        if call.written is not None:
            _record_verdict(run, judge_written(call.written, run.bench, run.state, run.now()))


def _record_verdict(run: LiveRun, judged: Judged) -> None:
    run.record(judged)
    if run.watched:
        call, verdict = run.shown_call(judged.call), run.shown_verdict(judged.verdict)
        run.emit(CallJudged(run_id=run.id, call=call, verdict=verdict, mended=run.redactor.text(judged.mended)))
    verdict = judged.verdict
    if type(verdict) is Deny:
        call = judged.call
        denied = Result(call.id, call.name, verdict.reason, verdict.problem)
        audit_end(run, CallState(call.id, call.name, verdict=verdict), call, denied, 0.0)


def start_early(run: LiveRun) -> None:
    """Judge and start what can start while the reply is still streaming."""
    step = decide_open_reply(run.state)
    if isinstance(step, Judge):
        judge_calls(run, step.calls)
        step = decide_open_reply(run.state)
    if isinstance(step, CallTools):
        _launch(run, step.calls)


async def call_tools(run: LiveRun, calls: Sequence[CallState]) -> bool:
    """Run calls and wait for all in flight. Returns False where all that is left waits for a person."""
    todo = calls
    if run.flying or run.suspended:
        todo = [call for call in calls if call.id not in run.flying and call.id not in run.suspended]
    if not todo and not run.flying:
        return False
    if len(todo) == 1 and not run.flying:  # no need of a task for one call alone
        await _run_call(run, todo[0])
    else:
        _launch(run, todo)
        await wait_in_flight(run)
    if run.is_disk_behind:
        await run.flush()
    return True


def _launch(run: LiveRun, calls: Sequence[CallState]) -> None:
    for call in calls:
        if call.id in run.flying or call.id in run.suspended:
            continue
        before = _find_predecessors(run, call)
        work = _run_after(before, run, call) if before else _run_call(run, call)
        task = asyncio.get_running_loop().create_task(work)
        run.flying[call.id] = task
        if _is_sequential(run, call):
            run.gate = task


def _find_predecessors(run: LiveRun, call: CallState) -> list[asyncio.Task[None]]:
    """Return the calls that must be over first: all of them for a sequential tool, the last sequential one for any other."""
    if _is_sequential(run, call):
        return list(run.flying.values())
    return [run.gate] if run.gate is not None else []


def _is_sequential(run: LiveRun, call: CallState) -> bool:
    assert call.call is not None  # only calls that were read are carried out
    return run.catalog.find(call.name) is not None and run.catalog.tool_for(call.call).sequential


async def _run_after(before: Sequence[asyncio.Task[None]], run: LiveRun, call: CallState) -> None:
    await asyncio.wait(before)
    await _run_call(run, call)


async def wait_in_flight(run: LiveRun) -> None:
    """Wait for all calls in flight; re-raise the first error that breaks the run (not: a call that failed)."""
    tasks = list(run.flying.values())
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        if not all(task.done() for task in tasks):
            await asyncio.wait(tasks)
        run.flying.clear()
        run.gate = None


async def _run_call(run: LiveRun, state: CallState) -> None:
    """Run one call, from its start to its result."""
    assert state.call is not None  # only calls that were read are carried out
    call = state.call
    tool = _find_tool(run, state, call)
    if tool is None:
        return
    if tool.background and not state.within:
        _start_background(run, state, call)
        return
    began, timeout, attempt = perf_counter(), call_timeout(run, tool), state.attempts
    run.began[call.id] = run.now()
    while True:
        attempt += 1
        key = state.key or f"{run.id}:{call.id}"
        if tool.effect != "read":
            await _record_start(run, state, call, key, attempt)
        context = _begin_attempt(run, state, tool, call, key, attempt)
        left = None if timeout is None else max(timeout - (perf_counter() - began), 0.0)
        try:
            work = run_call(run, tool, call, context, left, whole=bool(state.within) and not state.background)
            came = await trace_call(run, call, work)
        except Suspended as suspended:
            run.suspended[call.id] = suspended.approvals
            del run.began[call.id]
            return
        except DeferredResult as deferred:
            came = await _defer(run, state, tool, call, deferred.request)
            if came is None:
                del run.began[call.id]
                return
        left = None if timeout is None else timeout - (perf_counter() - began)
        if came.retries is None or not await _wait_for_next_try(run, came, came.retries, attempt, left):
            break
    del run.began[call.id]
    came = _with_event_trust(run, state, came)
    if not state.background or _get_call(run, call.id).result is None:  # else the turn has ended, and cancelled it
        record_result(run, state, call, came, perf_counter() - began)


async def _defer(run: LiveRun, state: CallState, tool: Tool, call: Call, request: WaitRequest) -> CallOutcome | None:
    """Have a call wait for its result; return that where it has one already."""
    from treadle.engine.waiting import defer_call  # few runs need it

    try:
        return await defer_call(run, state, call, request)
    except RuntimeError as error:
        return problem_outcome(run, tool, call, error)


async def _wait_within(run: LiveRun, outer: CallState, request: WaitRequest) -> Any:
    from treadle.engine.waiting import wait_within  # few runs need it

    return await wait_within(run, outer, request)


def _with_event_trust(run: LiveRun, state: CallState, came: CallOutcome) -> CallOutcome:
    """Return the outcome of a tool that has waited for an event: untrusted where the event is."""
    if not run.state.inner:
        return came
    from treadle.engine.waiting import reads_untrusted_event  # few runs need it

    return replace(came, result=replace(came.result, untrusted=True)) if reads_untrusted_event(run, state) else came


def _start_background(run: LiveRun, state: CallState, call: Call) -> None:
    """Start the work of a call in the background, and return to the model at once."""
    from treadle.engine.background import STARTED, work_id  # few runs need it

    work = Call(work_id(call.id), call.name, call.arguments)
    if run.watched:
        run.emit(CallStarted(run_id=run.id, call=run.shown_call(call), at=run.now()))
    if find_call(run.state, work.id) is None:  # otherwise it was started by a process that has died since
        run.record(Called(call=work, within=call.id, background=True, at=run.now()))
        _record_verdict(run, Judged(call=work, verdict=Allow("background"), at=run.now()))
    resume_background(run)
    record_result(run, state, call, CallOutcome(Result(call.id, call.name, STARTED.format(id=call.id))), 0.0)


def resume_background(run: LiveRun) -> None:
    """Have a task for each call in the background that isn't over: one that was interrupted is recovered."""
    for call in run.state.background:
        task = run.background.get(call.id)
        waits = call.waits or call.sleeps or call.id in run.suspended
        if call.result is None and not waits and (task is None or task.done()):
            run.background[call.id] = asyncio.get_running_loop().create_task(_settle_background(run, call))


async def _settle_background(run: LiveRun, call: CallState) -> None:
    await (_recover(run, call) if call.interrupted else _run_call(run, call))


async def wait_background(run: LiveRun) -> None:
    """Wait until nothing goes on in the background; re-raise the first error that breaks the run (not: a call that failed)."""
    while tasks := [task for task in run.background.values() if not task.done()]:
        await asyncio.wait(tasks)
    for task in run.background.values():
        task.result()


async def await_background(run: LiveRun) -> bool:
    """Wait for the calls in the background and tell the model. Returns False where what is left waits in a nested run.

    A message of the user ends the wait.
    """
    from treadle.engine.background import note_ended  # few runs need it

    resume_background(run)
    steered = asyncio.ensure_future(run.steered.wait())
    waiting = asyncio.ensure_future(wait_background(run))
    try:
        await asyncio.wait((waiting, steered), return_when=asyncio.FIRST_COMPLETED)
    finally:
        steered.cancel()
        waiting.cancel()  # the calls themselves go on
    if not waiting.done():
        return True
    waiting.result()
    if all(call.result is not None for call in run.state.background):
        note_ended(run)
        return True
    return any(call.waits for call in run.state.background)


async def _record_start(run: LiveRun, state: CallState, call: Call, key: str, attempt: int) -> None:
    """Record that a try with an effect begins. It is safe on disk when this returns."""
    audit_begin(run, state, call)  # the audit comes first here, too
    run.record(Started(call_id=call.id, key=key, attempt=attempt, at=run.now()))
    await run.flush()


def _begin_attempt(run: LiveRun, state: CallState, tool: Tool, call: Call, key: str, attempt: int) -> RunContext[Any]:
    """Report that a try begins, and return its context. What the tool calls itself is replayed from the journal."""
    if run.watched and (tool.effect != "read" or attempt == state.attempts + 1):  # what a reader of the journal sees, too
        run.emit(CallStarted(run_id=run.id, call=run.shown_call(call), at=run.now()))
    if run.inner_counts:
        run.inner_counts.pop(call.id, None)
    return CallContext(run, state, call, key, attempt)


class CallContext(RunContext[Any]):
    """The context of a call that is carried out: what its tool does through it is done by the run."""

    __slots__ = ("_live", "_outer")

    def __init__(self, run: LiveRun, outer: CallState, call: Call, key: str, attempt: int) -> None:
        # Not as `LiveRun.context` makes one: to pass all of this by name costs ten times as much, for each call.
        caller, state = run.caller, run.state
        self._run = self._live = run
        self._outer = outer
        self._parts = state.parts
        self.deps = caller.deps
        self.run_id = run.id
        self.call_id = call.id
        self.tool_name = call.name
        self.user = caller.user
        self.key = key
        self.seal = "" if outer.edited else outer.seal  # another call was shown than the person made of it
        self.attempt = attempt
        self.tainted = state.tainted
        self.credentials = caller.credentials
        self.usage = state.usage
        self.history = state.history

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Call another tool of this run: same policy, journal and audit as if the model had asked."""
        return await _call_within(self._live, self._outer, name, arguments)

    def progress(self, text: str) -> None:
        """Report the progress of this call to the watchers."""
        _emit_progress(self._live, self.call_id, text)

    async def _await(self, request: WaitRequest) -> Any:
        return await _wait_within(self._live, self._outer, request)


async def _wait_for_next_try(run: LiveRun, came: CallOutcome, retries: RetryPolicy, attempt: int, left: float | None) -> bool:
    """Return whether a call that raised is tried again, after the delay before that; not where the delay outlasts its time."""
    wait = retry_delay(attempt, retries.seconds, None, run.services.chance())
    if wait is None or (left is not None and wait >= left):
        return False
    if run.watched:
        reason = f"{came.result.content.rstrip('.')}."
        run.emit(CallRetried(run_id=run.id, call_id=came.result.call_id, attempt=attempt, wait=wait, reason=reason))
    await asyncio.sleep(wait)
    return True


def _find_tool(run: LiveRun, state: CallState, call: Call) -> Tool | None:
    """Return the tool of a call. One that can't run gets its result instead: its approval is invalid, or its tool is gone."""
    found = run.catalog.find(call.name)
    if state.approved and (wrong := _check_approval(run, state, call)):
        refusal = Result(call.id, call.name, run.redactor.text(f"Not run: {wrong}"), "denied")
    elif found is None:  # chosen for the run before it was resumed, and no more
        refusal = Result(call.id, call.name, f"Not run: {TOOL_GONE}", "unknown_tool")
    else:
        return found.for_call(call.arguments)
    record_result(run, state, call, CallOutcome(refusal), 0.0)
    return None


def _check_approval(run: LiveRun, state: CallState, call: Call) -> str:
    """Return why an approval is invalid: other arguments than those approved, or edited ones that are invalid or denied."""
    if state.digest != digest_arguments(call.arguments):
        return "these are not the arguments that were approved."
    if state.edited:
        checked = run.catalog.validator(call.name).check(call.arguments)
        if isinstance(checked, InvalidArguments):
            return describe_misfit(checked, call.name, call.arguments, run.catalog, run.redactor)
        verdict = run.setup.policy.judge(call, run.catalog.tool_for(call), run.situation)
        if isinstance(verdict, Deny):
            return verdict.reason
    return ""


def _emit_progress(run: LiveRun, call_id: str, text: str) -> None:
    if run.watched:
        run.emit(CallProgressed(run_id=run.id, call_id=call_id, text=run.redactor.text(text)))


async def recover_calls(run: LiveRun, calls: Sequence[CallState]) -> bool:
    """Recover calls interrupted by a crash: rerun, ask the tool, or ask a person. Returns False where all of them wait."""
    todo = [call for call in calls if call.id not in run.suspended]
    for state in todo:
        await _recover(run, state)
    return bool(todo)


async def _recover(run: LiveRun, state: CallState) -> None:
    assert state.call is not None  # a call that began was read
    tool = run.catalog.find(state.name)
    if tool is None:
        await handle_missing_tool(run, state)
    elif state.again:
        await _run_call(run, state)
    else:
        await _recover_by_retry_class(run, state, state.call, tool)


async def _recover_by_retry_class(run: LiveRun, state: CallState, call: Call, tool: Tool) -> None:
    """Recover a call by its tool's retry class."""
    match recovery(tool.retry):
        case "again":
            await _run_call(run, state)
        case "check":
            await _recover_by_reconciling(run, state, call, tool)
        case "never":
            await ask_what_happened(run, state, tool)


async def _recover_by_reconciling(run: LiveRun, state: CallState, call: Call, tool: Tool) -> None:
    """Recover a call by what its tool says happened."""
    try:
        happened = await reconcile_call(run, state, call)
    except CannotTell as unsure:
        await ask_what_happened(run, state, tool, str(unsure))
        return
    if happened is None:
        await _run_call(run, state)
    else:
        await invalidate_after(run, tool)
        record_result(run, state, call, happened, 0.0)


async def _call_within(run: LiveRun, outer: CallState, name: str, arguments: dict[str, Any]) -> Any:
    """Run a call made by a running tool: judged, journaled and audited like any call; replayed from the journal on a rerun."""
    from treadle.loop.program_replay import differs_from_journal, inner_call_id  # few tools call others

    number = run.inner_counts[outer.id] = run.inner_counts.get(outer.id, 0) + 1
    call = Call(inner_call_id(outer.id, number), name, to_json_value(arguments))
    if find_call(run.state, call.id) is None or differs_from_journal(run.state, call):
        run.record(Called(call=call, within=outer.id, at=run.now()))
        _judge_within(run, call)
    await _settle_within(run, outer, call.id)
    inner = _get_call(run, call.id)
    result = inner.result
    assert result is not None  # settled above
    if result.problem is not None:
        own = len(result.content) - result.quoted
        refused_by = inner.answered if result.problem == "denied" else ""
        raise ToolProblem(result.content[:own], result.content[own:], refused_by=refused_by)
    return _to_caller_value(run, result)


def _judge_within(run: LiveRun, call: Call) -> None:
    if call.name not in run.catalog.tools:
        reason = f"There is no tool {call.name!r}."
        _record_verdict(run, Judged(call=call, verdict=Deny("reading", reason, "unknown_tool"), at=run.now()))
        return
    checked = run.catalog.validator(call.name).check(call.arguments)
    if isinstance(checked, InvalidArguments):
        reason = describe_misfit(checked, call.name, call.arguments, run.catalog, run.redactor)
        _record_verdict(run, Judged(call=call, verdict=Deny("reading", reason, "invalid"), at=run.now()))
        return
    _record_verdict(run, judge_call(call, run.bench, run.state, run.now()))


async def _settle_within(run: LiveRun, outer: CallState, call_id: str) -> None:
    """Bring a tool's own call to its result: ask a person, run it, recover it."""
    while (inner := _get_call(run, call_id)).result is None and call_id not in run.suspended:
        if inner.interrupted:
            await _recover(run, inner)
        elif inner.sleeps:
            _suspend(run, outer, inner)
        elif not inner.waits:
            await _run_call(run, inner)
        elif not await _ask_about(run, inner):
            _suspend(run, outer, inner)
    if call_id in run.suspended:
        raise Suspended(run.suspended.pop(call_id))


def _suspend(run: LiveRun, outer: CallState, inner: CallState) -> None:
    """Suspend a call that waits for an answer: the tool is rerun when there is one, if it may be."""
    tool = run.catalog.find(outer.name)
    if tool is not None and recovery(tool.retry) == "again":
        run.suspended[inner.id] = (run.approval(inner),) if inner.waits else ()
    elif inner.unclear:
        record_unclear(run, inner)
    elif inner.sleeps:
        raise ToolProblem(f"The result of {inner.name} comes later, which {outer.name} can't wait for; call it directly.")
    else:
        raise ToolProblem(f"{inner.name} needs a person's approval, which can't be given inside of {outer.name}; call it directly.")


async def _ask_about(run: LiveRun, call: CallState) -> bool:
    """Ask about one call, unless its preview settles it. Returns False where no answer can be given now."""
    async with run.asking:
        return all([await ask_person(run, each) for each in await preview_calls(run, (call,))])


def _get_call(run: LiveRun, call_id: str) -> CallState:
    found = find_call(run.state, call_id)
    assert found is not None  # recorded by `_call_within`
    return found


def _to_caller_value(run: LiveRun, result: Result) -> Any:
    """Return a result as its caller in code expects it: its data if it has some, a single image, or the text."""
    if result.data is not None:
        return result.data
    blobs = run.services.blobs
    if len(result.media) == 1 and result.content == result.media[0].label and blobs is not None:
        return attachment_of(result.media[0], blobs.get(result.media[0].sha256))
    try:
        return msgspec.json.decode(result.content)
    except msgspec.DecodeError:
        return result.content
