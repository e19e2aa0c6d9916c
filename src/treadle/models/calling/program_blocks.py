"""How a model whose server can constrain its replies writes programs in code mode: as blocks of code, which aren't constrained.

As about tools, it is first asked whether one of the functions fits. If so it is asked for a program, and for another one if that
calls none of them, since it would work on data that the model made up, or was run already. If that one is no better, the model
says that it failed. After a result it is told how to go on.
"""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing

from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import History, person_message
from treadle.core.requests import CallDone, Delta, Programs, ReplyEnded, Request, ToolDecision, Usage
from treadle.core.seams import Model
from treadle.dialects.formats.auto import AUTO
from treadle.dialects.json_repair import JsonRead, read_object
from treadle.dialects.program_blocks import STOP
from treadle.models.calling.prompted import PromptedModel
from treadle.models.calling.tool_fit import judge_tool_fit
from treadle.models.calling.turn_results import last_turn

_WRITE = (
    "Write a short program that does all of this by calling the functions, which are imported already. Reply with it as a block of "
    "Python code, and nothing else."
)
_CORRECT = "Write the corrected program, as a block of Python code, and nothing else."
_TELL = "The user doesn't see this result. Tell it to them with all its values, in plain words and without code."
_OTHERWISE = "Don't write data into the program, get it by calling {}; and don't write the same program again."
_FAILED = (
    "You have tried to do what a user asks for, and couldn't complete it. Tell them in one short sentence that you didn't succeed. "
    "Use the language of the request, and add nothing."
)
_FAILED_TOKENS = 80
_CHANCE = 1.0  # temperature
_MOST_NAMED = 10


class ProgramWriter:
    """Has a model write programs. `sure` is the minimum log odds that a function fits."""

    def __init__(self, model: Model, sure: float) -> None:
        self._model = model
        self._spoken = PromptedModel(model, AUTO)
        self._sure = sure

    def reply(self, request: Request, programs: Programs) -> AsyncIterator[Delta]:
        """Stream the reply to a request that offers nothing but the tool which runs programs."""
        if request.history[-1].role == "person":
            return self._reply_first(request, programs)
        return self._reply_after_result(request, programs)

    async def _reply_first(self, request: Request, programs: Programs) -> AsyncIterator[Delta]:
        """Stream a program where a function fits, else an answer."""
        fits = await judge_tool_fit(self._model, replace(request, tools=tuple(programs.functions.values())))
        decision = ToolDecision(fits.probability, fits.odds >= self._sure)
        stream = self._write(request, programs, _WRITE) if decision.called else self._spoken.reply_in_words(request)
        async for delta in stream:
            yield replace(delta, decision=decision, usage=delta.usage + fits.usage) if isinstance(delta, ReplyEnded) else delta

    def _reply_after_result(self, request: Request, programs: Programs) -> AsyncIterator[Delta]:
        """Stream an answer; after an error another program."""
        failed = [part for part in request.history[-1].parts if isinstance(part, Result) and part.problem]
        if failed:
            return self._write(request, programs, f"{_CORRECT}{''.join(map(_describe_error, failed))}")
        told = self._spoken.reply_in_words(replace(request, note=f"{request.note} {_TELL}".lstrip()))
        return _take_first(request, programs, self._write_once(request, _TELL), told)

    def _write(self, request: Request, programs: Programs, note: str) -> AsyncIterator[Delta]:
        """Stream words or a program. It is asked for again with a temperature, since the same words might come back."""
        options = replace(request.options, temperature=max(_CHANCE, request.options.temperature or 0))
        again = f"{note} {_OTHERWISE.format(', '.join(list(programs.functions)[:_MOST_NAMED]))}"
        second = self._write_once(replace(request, options=options), again)
        return _take_first(request, programs, self._write_once(request, note), second, self._say_failed(request))

    def _say_failed(self, request: Request) -> AsyncIterator[Delta]:
        """Stream that it failed, in the model's words. It doesn't see its programs: they have data that it made up."""
        message, _ = last_turn(request.history)
        options = replace(request.options, max_tokens=_FAILED_TOKENS)
        return self._spoken.reply(Request(_FAILED, History((person_message(message),)), options=options, progress=request.progress))

    async def _write_once(self, request: Request, note: str) -> AsyncIterator[Delta]:
        options = replace(request.options, stop=(*request.options.stop, STOP))
        asked = replace(request, options=options, note=f"{request.note} {note}".lstrip())
        async with aclosing(self._spoken.reply(asked)) as stream:
            async for delta in stream:
                yield delta


async def _take_first(request: Request, programs: Programs, *attempts: AsyncIterator[Delta]) -> AsyncIterator[Delta]:
    """Stream the first attempt whose program is accepted, or that has none; the last one in any case.

    A program isn't accepted if it was run already, or calls no function.
    """
    calls = re.compile(rf"\b(?:{'|'.join(programs.functions)})\b")
    made = [part.arguments for message in request.history for part in message.parts if isinstance(part, Call)]
    written = {arguments.get(programs.argument) for arguments in made}
    used = Usage()
    for attempt in attempts:
        refused = False
        async for delta in attempt:
            if isinstance(delta, CallDone) and not delta.call.cut and attempt is not attempts[-1]:
                program = _read_program(delta.call, programs)
                refused = refused or program in written or calls.search(program) is None
            if isinstance(delta, ReplyEnded):
                used += delta.usage
                delta = replace(delta, usage=used)
            if not refused:
                yield delta
        if not refused:
            return


def _describe_error(result: Result) -> str:
    """Return the error of a program, unless it may have words of others in it: then it isn't in the data."""
    match result.data:
        case {"error": str(error)}:  # of `ProgramError`
            return f" The error of the last one: {error}"
        case _:
            return ""


def _read_program(call: Written, programs: Programs) -> str:
    outcome = read_object(call.text)
    return str(outcome.value.get(programs.argument, "")) if isinstance(outcome, JsonRead) else ""
