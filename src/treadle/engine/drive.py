"""The loop: decide, perform, journal, until the turn is over. Each step is performed by the module of its name."""

import asyncio
from collections.abc import Awaitable
from typing import assert_never

from treadle.core.entries import Replied, Shortened
from treadle.core.messages import text_of
from treadle.engine.ask import ask_model
from treadle.engine.inline_approval import ask_person, preview_calls
from treadle.engine.live import LiveRun
from treadle.engine.output_reader import read_answer
from treadle.engine.perform import (
    await_background,
    call_tools,
    judge_calls,
    recover_calls,
    resume_background,
    start_early,
    wait_background,
    wait_in_flight,
)
from treadle.loop.decide import (
    AskModel,
    AwaitBackground,
    CallTools,
    CloseReply,
    Compact,
    Deliver,
    Finish,
    Idle,
    Judge,
    ReadOutput,
    Recover,
    Shorten,
    Sleep,
    Step,
    WaitForPerson,
    decide,
)


async def drive(run: LiveRun) -> None:
    """Run the turn to its end, to where it waits for a person, or to where it is handed off to another agent."""
    if run.state.sleeping:
        from treadle.engine.waiting import wake_calls  # few runs need it

        await wake_calls(run)
    resume_background(run)
    agent = run.state.agent
    try:
        # The limits of the tree apply to nested runs only; the root goes by its own.
        while run.state.finished is None:
            step = decide(run.state, run.setup.terms, "" if run.is_root else run.meter.exhausted_limit())
            if run.state.agent != agent:
                await wait_background(run)  # its tools are those of the agent that hands off
                return
            if type(step) is Judge:
                judge_calls(run, step.calls)
            else:
                await _perform(run, step)
            if run.flying:  # calls that began during the reply: the others join them, and all are waited for
                start_early(run)
                await wait_in_flight(run)
    except asyncio.CancelledError:
        if not run.stopping:
            raise
        await _stop_calls(run)
        if run.state.finished is None:
            (run.finish_cancelled if run.stopping == "cancelled" else run.finish_interrupted)()
    finally:
        await _stop_calls(run)
        await run.flush()
        await run.anchor()


def _perform(run: LiveRun, step: Step) -> Awaitable[None]:
    """Perform a step. The two that every round has need no coroutine around them."""
    if type(step) is AskModel:
        return _pause_and_ask(run, step) if run.watched else ask_model(run, step)
    return _call_tools(run, step) if type(step) is CallTools else _perform_other(run, step)


async def _pause_and_ask(run: LiveRun, step: AskModel) -> None:
    pending = run.state.steering
    await run.pause(step)
    if run.state.steering == pending:  # else what came meanwhile may be delivered first
        await ask_model(run, step)


async def _call_tools(run: LiveRun, step: CallTools) -> None:
    if not await call_tools(run, step.calls):
        await _suspend_turn(run)


async def _perform_other(run: LiveRun, step: Step) -> None:  # noqa: C901 - one case for each kind of step
    match step:
        case Recover():
            if not await recover_calls(run, step.calls) and not await call_tools(run, step.ready):
                await _suspend_turn(run)
        case AwaitBackground():
            if not await await_background(run):
                await _suspend_turn(run)
        case WaitForPerson():
            await _ask_people(run, step)
        case Sleep():
            await _suspend_turn(run)
        case Deliver():
            from treadle.engine.steering import deliver_messages  # few runs need it

            deliver_messages(run, step.message_ids)
        case CloseReply():
            run.record(Replied(parts=(), finish="broken", at=run.now()))
        case Shorten():
            run.record(Shortened(call_ids=step.call_ids, at=run.now()))
        case Compact():
            from treadle.engine.compaction import compact  # few runs need it

            await compact(run, step.prefix)
        case ReadOutput():
            await read_answer(run, step)
        case Finish():
            await _stop_calls(run)
            _finish(run, step)
        case AskModel() | CallTools() | Judge() | Idle():
            pass  # `_perform`, or `drive` itself
        case _:
            assert_never(step)


async def _suspend_turn(run: LiveRun) -> None:
    await wait_background(run)
    reason = _describe_suspension(run)
    said = text_of(run.state.parts).strip() or run.state.words  # the reply that made the call isn't in the history yet
    run.finish("waiting", text=said, reason=reason, asleep=not run.approvals())


def _describe_suspension(run: LiveRun) -> str:
    approvals = run.approvals()
    if not approvals:
        from treadle.engine.waiting import describe_waits  # few runs need it

        return describe_waits(run)
    unclear = any(approval.unclear for approval in approvals)
    return "A user must report the outcome of a call." if unclear else "A user must approve a call."


async def _ask_people(run: LiveRun, step: WaitForPerson) -> None:
    """Ask about each call; where no answer can be given now, the run waits."""
    for call in await preview_calls(run, step.calls):
        if not await ask_person(run, call):
            await _suspend_turn(run)
            return


def _finish(run: LiveRun, step: Finish) -> None:
    if not run.state.steering:  # the user may have sent a message while calls were stopped: then the turn goes on
        run.finish(step.stopped, text=step.text, output=run.state.output, reason=step.reason, limit=step.limit)


async def _stop_calls(run: LiveRun) -> None:
    """Cancel the calls in flight, and in the background."""
    tasks = [*run.flying.values(), *run.background.values()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    run.flying.clear()
