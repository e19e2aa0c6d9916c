"""Reads a run's output: from the call that gives it, or from text; output functions and validators are applied here.

What is accepted is journaled as JSON, and `Output.convert` makes the value of that: also when the run has just ended, so that
the output is the same after a restart, where no function and no validator runs again.
"""

import inspect
from itertools import takewhile
from typing import Any

import msgspec

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.entries import Noted, UngroundedValue
from treadle.core.errors import SettingsError, ToolProblem
from treadle.core.events import AnswerUngrounded
from treadle.core.messages import Message
from treadle.dialects.json_repair import JsonRead, read_json
from treadle.engine.judge import describe_misfit
from treadle.engine.live import LiveRun
from treadle.engine.setup import Output, OutputValidator
from treadle.engine.tool_offer import output_schema
from treadle.loop.decide import REJECTED, ReadOutput
from treadle.loop.limits import find_exhausted
from treadle.tools.text import to_json_value
from treadle.tools.validate import InvalidArguments

JournaledAnswer = dict[str, Any] | str  # arguments, or what a function made of them; or a text

IN_WORDS = "The answer came in words."


class OutputRejected(Exception):
    """An answer that isn't accepted, with the reason for the model."""


async def accept_answer(output: Output, answer: JournaledAnswer, context: RunContext[Any]) -> JournaledAnswer:
    """Return the answer as it is journaled; the same object where nothing was changed. Raises `OutputRejected`."""
    try:
        if output.function is not None and isinstance(answer, dict):
            answer = await output.function(answer, context)
        value = first = _convert(output, answer)
        for validator in output.validators:
            value = await _apply_validator(validator, value, context)
    except ToolProblem as problem:
        raise OutputRejected(str(problem)) from problem
    return answer if value is first else _to_answer(output, value)


def _convert(output: Output, answer: JournaledAnswer) -> Any:
    if isinstance(answer, str):
        return answer
    try:
        return output.convert(answer)
    except (ValueError, TypeError) as error:
        raise OutputRejected(str(error)) from error


async def _apply_validator(validator: OutputValidator, value: Any, context: RunContext[Any]) -> Any:
    """Return what a validator makes of the output; None leaves it as it is."""
    takes_context = len(inspect.signature(validator).parameters) > 1
    returned = validator(context, value) if takes_context else validator(value)
    returned = await returned if inspect.isawaitable(returned) else returned
    return value if returned is None else returned


def _to_answer(output: Output, value: Any) -> JournaledAnswer:
    """Return a value of a validator as it is journaled. Raises `SettingsError` where the output type can't be made of it again."""
    if output.takes_text and isinstance(value, str):
        return value
    try:
        data = to_output_data(value)
        answer: dict[str, Any] = {"value": data} if output.wraps else data
        output.convert(answer)
    except (TypeError, ValueError, LookupError, AttributeError, ToolProblem) as error:
        kind = type(value).__name__
        raise SettingsError(f"An output validator returned a {kind}, which isn't of the output type: {error}") from error
    return answer


def to_output_data(value: Any) -> Any:
    """Return an output as the JSON value that `Output.convert` reads. Raises `TypeError` or `ValueError` where there is none."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_dump_model))


def _dump_model(value: Any) -> Any:
    """Return the JSON of a pydantic model with the names by which it is validated."""
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else to_json_value(value)


# Answers in text


async def read_answer(run: LiveRun, step: ReadOutput) -> None:
    """Read the answer from text and end the turn, or tell the model what is missing.

    The turn goes on if the user has sent a message meanwhile.
    """
    output = run.setup.output
    assert output is not None  # only then is this step decided
    try:
        await _read_text(run, output, step)
    except OutputRejected as rejected:
        _tell_model(run, output, step, run.redactor.text(str(rejected)))


async def _read_text(run: LiveRun, output: Output, step: ReadOutput) -> None:
    text, context = step.text, run.context(Call("", "" if output.tool is None else output.tool.name, {}))
    try:
        arguments = _parse_arguments(run, output, text)
    except OutputRejected:
        words = _parse_words(run, output, text)
        if words is not None:
            answer = await accept_answer(output, words, context)
            if not run.state.steering:
                run.finish("answered", text=text, output=answer, reason=IN_WORDS)
            return
        if not output.takes_text:
            raise
        answer = await accept_answer(output, text, context)
    else:
        answer = await accept_answer(output, arguments, context)
    ungrounded = _find_ungrounded(run, output, text)
    if ungrounded and _may_ask_again(run, step):
        _ask_again(run, ungrounded)
        return
    if not run.state.steering:
        run.finish(step.stopped, text=text, output=answer, reason=step.reason, limit=step.limit, ungrounded=ungrounded)


def _find_ungrounded(run: LiveRun, output: Output, text: str) -> tuple[UngroundedValue, ...]:
    """Return the values of an answer that nothing vouches for; none where no tool was called for it."""
    messages = list(run.state.transcript)
    turn = takewhile(lambda message: message.role != "person", reversed(messages))
    if not output.grounded or not any(message.role == "tools" for message in turn):
        return ()
    from treadle.guard.answer_grounding import find_ungrounded  # few agents are grounded
    from treadle.guard.answer_sources import sources_of

    return find_ungrounded(text, sources_of(messages, run.system_prompt))


def _ask_again(run: LiveRun, ungrounded: tuple[UngroundedValue, ...]) -> None:
    from treadle.guard.answer_grounding import explain_ungrounded

    run.record(Noted(text=run.redactor.text(explain_ungrounded(ungrounded)), ungrounded=ungrounded, at=run.now()))
    if run.watched:
        run.emit(AnswerUngrounded(run_id=run.id, values=ungrounded))


def _may_ask_again(run: LiveRun, step: ReadOutput) -> bool:
    """Return whether an answer may be asked for again: once in a turn, and not at a limit that ends it."""
    limits = run.setup.terms.limits
    reached = find_exhausted(limits, run.state.spent)
    has_room = not reached or (reached == "rounds" and limits.at_limit == "conclude")
    return step.stopped == "answered" and not run.state.asked_again and has_room


def _parse_arguments(run: LiveRun, output: Output, text: str) -> dict[str, Any]:
    """Return the arguments that a text has as JSON. Raises `OutputRejected` with what is wrong with it."""
    read = read_json(text)
    if output.tool is None or not isinstance(read, JsonRead):
        raise OutputRejected("What came was not JSON.")
    checked = run.catalog.validator(output.tool.name).check(read.value)
    if isinstance(checked, InvalidArguments):
        raise OutputRejected(describe_misfit(checked, output.tool.name, read.value, run.catalog, run.redactor))
    return checked.arguments


def _parse_words(run: LiveRun, output: Output, text: str) -> dict[str, Any] | None:
    """Return the structured answer that a text stands for, if allowed; not at a limit, as the work isn't done then."""
    if output.from_words is None or run.state.last:
        return None
    silent = takewhile(_has_no_calls, reversed(list(run.state.history)))
    return output.from_words(text, sum(1 for _ in silent))


def _has_no_calls(message: Message) -> bool:
    return message.role == "model" and not any(isinstance(part, Call) for part in message.parts)


def _tell_model(run: LiveRun, output: Output, step: ReadOutput, problem: str) -> None:
    """Note for the model why its answer wasn't accepted; after too many of them the run fails."""
    if run.state.notes + run.state.rejections >= run.setup.terms.limits.output_retries:
        why = REJECTED if output.takes_text else "The model's answer doesn't have the shape that was asked for:"
        run.finish("failed", text=step.text, reason=f"{why} {problem}")
        return
    how = _explain_output(run, output)
    may_go_on = output.from_words is not None and not run.state.last
    note = f"No tool was called. Go on; or, if you are done: {how}" if may_go_on else f"{how} {problem}"
    run.record(Noted(text=note, at=run.now()))


def _explain_output(run: LiveRun, output: Output) -> str:
    """Return the message to a model whose answer didn't fit. Without an output tool, the schema: its server may have ignored it."""
    if output.takes_text:
        return "Your answer was not accepted. Answer again."
    shape = output_schema(run, has_tools=bool(run.offered) and not run.state.last)
    if shape is not None or output.tool is None:
        return f"Give your answer as JSON alone, which fits this schema: {msgspec.json.encode(shape).decode()}"
    return f"Give your answer by calling {output.tool.name}, or as JSON that fits its arguments."
