"""Waits for a time or an event: begun by a tool, journaled, and ended when the run is resumed. Events are sent here too.

A run that waits ends its turn; nothing of it stays in memory. Rows that the journal keeps with its entries (`stores.waits`) say
when it is due, and have the value of an event that has come.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Call, Delivery, Result, WaitRequest
from treadle.core.entries import Awaited, Woken
from treadle.core.errors import EventError, EventNotAwaited, EventTimeout
from treadle.engine.call_results import record_result
from treadle.engine.live import LiveRun
from treadle.engine.outcome import CallOutcome, Suspended, value_to_outcome
from treadle.engine.setup import Services
from treadle.loop.recover import recovery
from treadle.loop.state import CallState, find_call
from treadle.loop.waits import begin_wait, describe_wait, format_moment, is_over, matches_request, timeout_result
from treadle.tools.text import to_json_value, to_text

IN_PROCESS_SECONDS = 5.0  # a shorter sleep is no reason to end the turn
MAX_VALUE = 256 * 1024  # bytes of an event's value, as JSON
MAX_NAME = 200  # characters of an event's name or key
_CONTROL = re.compile(r"[\x00-\x1f]")


async def wait_within(run: LiveRun, outer: CallState, request: WaitRequest) -> Any:
    """Wait in the middle of a tool's work. Where the wait isn't over, the tool's call is suspended."""
    call_id = f"{outer.id}.{run.inner_counts.get(outer.id, 0) + 1}"
    found = find_call(run.state, call_id)
    if found is None or found.wait is None or not matches_request(found.wait, request):
        wait = begin_wait(request, run.now())
        left = None if wait.event or wait.until is None else wait.until - run.now()
        if left is not None and left <= IN_PROCESS_SECONDS:
            await asyncio.sleep(max(left, 0.0))
            return None
        _check_waits(run, outer, request)
        if found is not None:
            raise RuntimeError(
                f"{outer.name} was called anew and did something else than before: it has to wait in the same order."
            )
        run.record(Awaited(call_id=call_id, wait=wait, within=outer.id, at=run.now()))
        found = find_call(run.state, call_id)
    run.inner_counts[outer.id] = run.inner_counts.get(outer.id, 0) + 1
    if found is None or found.result is None:
        raise Suspended(())
    if found.result.problem is not None:
        raise EventTimeout(found.result.content)
    return found.result.data


def _check_waits(run: LiveRun, outer: CallState, request: WaitRequest) -> None:
    _check_durable(run, request)
    tool = run.catalog.find(outer.name)
    if tool is None or recovery(tool.retry) != "again":
        raise RuntimeError(
            f"{outer.name} may run only once, so it can't wait in the middle of its work and be called anew. Return `ctx.defer(…)` "
            'at its end instead; or declare that it may run again: `@tool(retry="idempotent")` or `"keyed"`.'
        )


def _check_durable(run: LiveRun, request: WaitRequest) -> None:
    if run.services.waits is None:
        what = f"for the event {request.event!r}" if request.event else f"for longer than {IN_PROCESS_SECONDS:.0f} seconds"
        raise RuntimeError(f"This run isn't stored in a database, so it can't wait {what}: run the agent with `journal=True`.")


async def defer_call(run: LiveRun, state: CallState, call: Call, request: WaitRequest) -> CallOutcome | None:
    """Have a call wait for its result. Return that where the wait is too short for the turn to end, or impossible."""
    wait = begin_wait(request, run.now())
    left = None if wait.event or wait.until is None else wait.until - run.now()
    if left is not None and left <= IN_PROCESS_SECONDS:
        await asyncio.sleep(max(left, 0.0))
        return CallOutcome(_time_result(run, state))
    _check_durable(run, request)
    run.record(Awaited(call_id=call.id, wait=wait, at=run.now()))
    return None


async def wake_calls(run: LiveRun) -> None:
    """End the waits that are over. Safe on disk before anything else is done: of two processes that wake a run, one goes on."""
    waits = run.services.waits
    delivered: Mapping[str, Delivery] = {} if waits is None else await waits.deliveries(run.id)
    for call in run.state.sleeping:
        delivery = delivered.get(call.id)
        if call.wait is None or not is_over(call.wait, delivery, run.now()):
            continue
        if call.verdict is None:  # a wait in the middle of a tool's work, and no call of a tool
            run.record(Woken(result=_inner_result(run, call, delivery), at=run.now()))
        else:
            await _end_deferred(run, call, delivery)
    await run.flush()


def _inner_result(run: LiveRun, call: CallState, delivery: Delivery | None) -> Result:
    assert call.wait is not None  # it sleeps
    if delivery is None:
        return timeout_result(call.id, call.name, call.wait) if call.wait.event else _time_result(run, call)
    value = to_json_value(delivery.value)
    if not run.setup.shows_secrets:
        value = run.redactor.value(value)
    return Result(call.id, call.name, to_text(value), untrusted=not delivery.from_user, data=value)


async def _end_deferred(run: LiveRun, state: CallState, delivery: Delivery | None) -> None:
    """Record the result of a call that was deferred: the event's value, the time, or that the event didn't come."""
    assert state.call is not None  # a call that was carried out was read
    assert state.wait is not None  # it sleeps
    tool = run.catalog.find(state.name)
    if delivery is None:
        came = CallOutcome(timeout_result(state.id, state.name, state.wait) if state.wait.event else _time_result(run, state))
    elif tool is None:
        came = CallOutcome(replace(_inner_result(run, state, delivery), name=state.name))
    else:
        came = await value_to_outcome(run, tool, state.call, delivery.value)
    if delivery is not None and not delivery.from_user:
        came = replace(came, result=replace(came.result, untrusted=True))
    record_result(run, state, state.call, came, 0.0)


def _time_result(run: LiveRun, call: CallState) -> Result:
    return Result(call.id, call.name, f"The time has come: it is {format_moment(run.now())}.")


def reads_untrusted_event(run: LiveRun, call: CallState) -> bool:
    """Return whether a tool has waited for an event whose value is untrusted: then what it makes of it is, too."""
    return any(inner.within == call.id and inner.wait and inner.result and inner.result.untrusted for inner in run.state.inner)


def describe_waits(run: LiveRun) -> str:
    """Return what a run waits for besides people, in a sentence."""
    waits = [call.wait for call in run.state.sleeping if call.wait is not None]
    return f"The run waits {'; '.join(map(describe_wait, waits))}." if waits else "A nested run waits for a time or an event."


# sending events


async def send_event(services: Services, name: str, key: str, delivery: Delivery) -> list[str]:
    """Store an event for the calls that wait for it; return their top-level runs. Raises `EventNotAwaited` where there are none."""
    if services.waits is None:
        raise EventNotAwaited("No run waits here: only runs in a database can.")
    _check_event_name(name, key)
    try:
        value = to_json_value(delivery.value)
    except (TypeError, ValueError) as error:
        raise EventError(f"The value of an event has to be JSON: {error}") from error
    size = len(msgspec.json.encode(value))
    if size > MAX_VALUE:
        raise EventError(f"The value of an event may have {MAX_VALUE:,} bytes, and this one has {size:,}: send a reference.")
    sent = await services.waits.deliver(name, key, Delivery(value, delivery.sender, delivery.from_user), services.clock())
    if not sent:
        what = f"the event {name!r}{f' of {key!r}' if key else ''}"
        raise EventNotAwaited(f"No run waits for {what}. If one is about to, send the event again later.")
    return sent


def _check_event_name(name: str, key: str) -> None:
    """Raise `EventError` for a name or key that none can wait for."""
    if not name or any(len(text) > MAX_NAME or _CONTROL.search(text) for text in (name, key)):
        raise EventError(f"An event has a name, and may have a key: up to {MAX_NAME} characters each, and no control characters.")
