"""The loop: decide, perform, journal, until the turn is over. Each step is performed by the module of its name."""

import asyncio
from itertools import takewhile
from typing import Any, assert_never

import msgspec

from treadle.core.calls import Call
from treadle.core.entries import Noted, Replied, Shortened
from treadle.core.errors import ToolProblem
from treadle.core.messages import Message, text_of
from treadle.dialects.json_repair import JsonRead, read_json
from treadle.engine.ask import ask_model
from treadle.engine.inline_approval import ask_person, preview_calls
from treadle.engine.judge import describe_misfit
from treadle.engine.live import LiveRun
from treadle.engine.perform import call_tools, judge_calls, recover_calls, start_early, wait_in_flight
from treadle.engine.setup import Output
from treadle.engine.tool_offer import output_schema
from treadle.loop.decide import (
    MOST_NOTES,
    AskModel,
    CallTools,
    CloseReply,
    Finish,
    Idle,
    Judge,
    ReadOutput,
    Recover,
    Shorten,
    Step,
    WaitForPerson,
    decide,
)
from treadle.tools.validate import InvalidArguments

IN_WORDS = "The answer came in words."


async def drive(run: LiveRun) -> None:
    """Run the turn to its end, or to where it waits for a person."""
    try:
        while not isinstance(step := decide(run.state, run.setup.terms, _find_exhausted_limit(run)), Idle):
            await _perform(run, step)
            if run.flying:  # calls that began during the reply: the others join them, and all are waited for
                start_early(run)
                await wait_in_flight(run)
    except asyncio.CancelledError:
        if not run.cancelled:
            raise
        await _stop_calls(run)
        if run.state.finished is None:
            run.finish_cancelled()
    finally:
        await _stop_calls(run)
        await run.flush()
        await run.anchor()


def _find_exhausted_limit(run: LiveRun) -> str:
    """Return the limit that the tree has exhausted. It only applies to nested runs; the root goes by its own limits."""
    return "" if run.is_root else run.meter.squeezed()


async def _perform(run: LiveRun, step: Step) -> None:  # noqa: C901 - one case for each kind of step
    match step:
        case AskModel():
            await ask_model(run, step)
        case Judge():
            judge_calls(run, step.calls)
        case CallTools():
            if not await call_tools(run, step.calls):
                _suspend_turn(run)
        case Recover():
            if not await recover_calls(run, step.calls) and not await call_tools(run, step.ready):
                _suspend_turn(run)
        case WaitForPerson():
            await _ask_people(run, step)
        case CloseReply():
            run.record(Replied(parts=(), finish="broken", at=run.now()))
        case Shorten():
            run.record(Shortened(call_ids=step.call_ids, at=run.now()))
        case ReadOutput():
            _read_output(run, step.text)
        case Finish():
            _finish(run, step)
        case Idle():
            pass
        case _:
            assert_never(step)


def _suspend_turn(run: LiveRun) -> None:
    unclear = any(approval.unclear for approval in run.approvals())
    reason = "A person has to say what became of a call." if unclear else "A person has to approve a call."
    said = text_of(run.state.parts).strip() or run.state.words  # the reply that made the call isn't in the history yet
    run.finish("waiting", text=said, reason=reason)


async def _ask_people(run: LiveRun, step: WaitForPerson) -> None:
    """Ask about each call; where nobody can answer now, the run waits."""
    for call in await preview_calls(run, step.calls):
        if not await ask_person(run, call):
            _suspend_turn(run)
            return


def _finish(run: LiveRun, step: Finish) -> None:
    output = run.state.output.arguments if run.state.output is not None else None
    run.finish(step.stopped, text=step.text, output=output, reason=step.reason)


def _read_output(run: LiveRun, text: str) -> None:
    """Read a structured answer from text: accept it if it fits the schema, else tell the model what is missing."""
    assert run.setup.output is not None  # only then is this step decided
    problem = _find_misfit(run, text)
    if problem is None:
        read = read_json(text)
        assert isinstance(read, JsonRead)  # `_find_misfit` found nothing
        stopped = "limit" if run.state.last else "answered"
        run.finish(stopped, text=text, output=read.value)
    elif (meant := _parse_words(run, text)) is not None:
        run.finish("answered", text=text, output=meant, reason=IN_WORDS)
    elif run.state.notes >= MOST_NOTES:
        run.finish("failed", text=text, reason=f"The model's answer doesn't have the shape that was asked for: {problem}")
    else:
        how = _explain_output(run, run.setup.output)
        may_go_on = run.setup.output.from_words is not None and not run.state.last
        note = f"No tool was called. Go on; or, if you are done: {how}" if may_go_on else f"{how} {problem}"
        run.record(Noted(text=note, at=run.now()))


def _parse_words(run: LiveRun, text: str) -> dict[str, Any] | None:
    """Return the structured answer that a text stands for, if allowed; not at a limit, as the work isn't done then."""
    output = run.setup.output
    if output is None or output.from_words is None or run.state.last:
        return None
    silent = takewhile(_has_no_calls, reversed(list(run.state.history)))
    return output.from_words(text, sum(1 for _ in silent))


def _has_no_calls(message: Message) -> bool:
    return message.role == "model" and not any(isinstance(part, Call) for part in message.parts)


def _explain_output(run: LiveRun, output: Output) -> str:
    """Return the message to a model whose answer didn't fit. Without an output tool, the schema: its server may have ignored it."""
    shape = output_schema(run, has_tools=bool(run.offered) and not run.state.last)
    if shape is None:
        return f"Give your answer by calling {output.tool.name}, or as JSON that fits its arguments."
    return f"Give your answer as JSON alone, which fits this schema: {msgspec.json.encode(shape).decode()}"


def _find_misfit(run: LiveRun, text: str) -> str | None:
    """Return what is wrong with a text answer; None where it is the required JSON."""
    output = run.setup.output
    assert output is not None  # asked by the caller
    read = read_json(text)
    if not isinstance(read, JsonRead):
        return "What came was not JSON."
    checked = run.catalog.validator(output.tool.name).check(read.value)
    if isinstance(checked, InvalidArguments):
        return describe_misfit(checked, output.tool.name, read.value, run.catalog, run.redactor)
    try:
        output.convert(read.value)
    except (ToolProblem, ValueError, TypeError) as error:
        return run.redactor.text(f"Not accepted: {error}")
    return None


async def _stop_calls(run: LiveRun) -> None:
    """Cancel the calls in flight."""
    tasks = list(run.flying.values())
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    run.flying.clear()
