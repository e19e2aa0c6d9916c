"""The loop: decide, perform, write down, until the turn is over. Each step is performed by the module of its name."""

import asyncio
from itertools import takewhile
from typing import Any, assert_never

import msgspec

from treadle.core.calls import Call
from treadle.core.entries import Noted, Replied, Shortened
from treadle.core.errors import ToolProblem
from treadle.core.messages import Message, text_of
from treadle.dialects.mend import Read, read_json
from treadle.engine.ask import ask
from treadle.engine.judge import misfit
from treadle.engine.live import LiveRun
from treadle.engine.offer import answer_schema
from treadle.engine.people import ask_inline, preview_calls
from treadle.engine.perform import call_tools, judge_calls, land, recover_calls, start_early
from treadle.engine.setup import Output
from treadle.loop.decide import (
    MOST_NOTES,
    AskModel,
    CallTools,
    CloseReply,
    Finish,
    Judge,
    ReadOutput,
    Recover,
    Rest,
    Shorten,
    Step,
    Wait,
    decide,
)
from treadle.tools.validate import Invalid

IN_WORDS = "The answer came in words."


async def drive(run: LiveRun) -> None:
    """Bring the turn to its end, or to where it waits for a person."""
    try:
        while not isinstance(step := decide(run.state, run.setup.terms, _squeezed(run)), Rest):
            await _perform(run, step)
            if run.flying:  # calls that began during the reply: the others join them, and all are waited for
                start_early(run)
                await land(run)
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


def _squeezed(run: LiveRun) -> str:
    """What the tree has spent only squeezes the runs inside of another; the root goes by its own limits."""
    return "" if run.is_root else run.meter.squeezed()


async def _perform(run: LiveRun, step: Step) -> None:  # noqa: C901 - one case for each kind of step
    match step:
        case AskModel():
            await ask(run, step)
        case Judge():
            judge_calls(run, step.calls)
        case CallTools():
            if not await call_tools(run, step.calls):
                _wait(run)
        case Recover():
            if not await recover_calls(run, step.calls) and not await call_tools(run, step.ready):
                _wait(run)
        case Wait():
            await _ask_people(run, step)
        case CloseReply():
            run.record(Replied(parts=(), finish="broken", at=run.now()))
        case Shorten():
            run.record(Shortened(call_ids=step.call_ids, at=run.now()))
        case ReadOutput():
            _read_output(run, step.text)
        case Finish():
            _finish(run, step)
        case Rest():
            pass
        case _:
            assert_never(step)


def _wait(run: LiveRun) -> None:
    unclear = any(approval.unclear for approval in run.approvals())
    reason = "A person has to say what became of a call." if unclear else "A person has to approve a call."
    said = text_of(run.state.parts).strip() or run.state.words  # the reply that made the call isn't in the history yet
    run.finish("waiting", text=said, reason=reason)


async def _ask_people(run: LiveRun, step: Wait) -> None:
    """Ask about each call; where nobody is there, the run waits."""
    for call in await preview_calls(run, step.calls):
        if not await ask_inline(run, call):
            _wait(run)
            return


def _finish(run: LiveRun, step: Finish) -> None:
    output = run.state.output.arguments if run.state.output is not None else None
    run.finish(step.stopped, text=step.text, output=output, reason=step.reason)


def _read_output(run: LiveRun, text: str) -> None:
    """The answer came as words although it has to fit a schema: take it if it does, else say what is missing."""
    assert run.setup.output is not None  # only then is this step decided
    problem = _misfit(run, text)
    if problem is None:
        read = read_json(text)
        assert isinstance(read, Read)  # `_misfit` found nothing
        stopped = "limit" if run.state.last else "answered"
        run.finish(stopped, text=text, output=read.value)
    elif (meant := _from_words(run, text)) is not None:
        run.finish("answered", text=text, output=meant, reason=IN_WORDS)
    elif run.state.notes >= MOST_NOTES:
        run.finish("failed", text=text, reason=f"The model's answer doesn't have the shape that was asked for: {problem}")
    else:
        how = _how_to_answer(run, run.setup.output)
        may_go_on = run.setup.output.from_words is not None and not run.state.last
        note = f"No tool was called. Go on; or, if you are done: {how}" if may_go_on else f"{how} {problem}"
        run.record(Noted(text=note, at=run.now()))


def _from_words(run: LiveRun, text: str) -> dict[str, Any] | None:
    """The answer that words stand for, where those may be one; at a limit they may not, as the work isn't done then."""
    output = run.setup.output
    if output is None or output.from_words is None or run.state.last:
        return None
    silent = takewhile(_is_silent, reversed(list(run.state.history)))
    return output.from_words(text, sum(1 for _ in silent))


def _is_silent(message: Message) -> bool:
    return message.role == "model" and not any(isinstance(part, Call) for part in message.parts)


def _how_to_answer(run: LiveRun, output: Output) -> str:
    """What a model is told whose answer didn't fit. Without a tool for it, the schema: its server may have ignored that."""
    shape = answer_schema(run, has_tools=bool(run.offered) and not run.state.last)
    if shape is None:
        return f"Give your answer by calling {output.tool.name}, or as JSON that fits its arguments."
    return f"Give your answer as JSON alone, which fits this schema: {msgspec.json.encode(shape).decode()}"


def _misfit(run: LiveRun, text: str) -> str | None:
    """What is wrong with an answer in words; None where it is the JSON that was asked for."""
    output = run.setup.output
    assert output is not None  # asked by the caller
    read = read_json(text)
    if not isinstance(read, Read):
        return "What came was not JSON."
    checked = run.catalog.validator(output.tool.name).check(read.value)
    if isinstance(checked, Invalid):
        return misfit(checked, output.tool.name, read.value, run.catalog, run.redactor)
    try:
        output.convert(read.value)
    except (ToolProblem, ValueError, TypeError) as error:
        return run.redactor.text(f"Not accepted: {error}")
    return None


async def _stop_calls(run: LiveRun) -> None:
    """End what is under way."""
    tasks = list(run.flying.values())
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    run.flying.clear()
