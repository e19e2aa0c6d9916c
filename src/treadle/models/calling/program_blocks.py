"""How a model whose server can constrain its replies writes programs in code mode: as blocks of code, which aren't constrained.

As about tools, it is first asked whether one of the functions fits. If so it is asked for a program, and for another one if that
calls none of them: it would work on data that the model made up. After a result it is told how to go on. A program that was run
isn't accepted again.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.requests import CallDone, Delta, Programs, ReplyEnded, Request, ToolDecision, Usage
from treadle.core.seams import Model
from treadle.dialects.formats.auto import AUTO
from treadle.dialects.json_repair import JsonRead, read_object
from treadle.dialects.program_blocks import STOP
from treadle.models.calling.prompted import PromptedModel
from treadle.models.calling.tool_fit import judge_tool_fit

_WRITE = (
    "Write a short program that does all of this by calling the functions, which are imported already. Reply with it as a block of "
    "Python code, and nothing else."
)
_NO_DATA = "Don't write data into the program: get it by calling {}."
_CORRECT = "Write the corrected program, as a block of Python code, and nothing else."
_TELL = "The user doesn't see this result. Tell it to them with all its values, in plain words and without code."
_OTHERWISE = "Don't write the same program again: do it in another way."
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
        if decision.called:
            calls = re.compile(rf"\b(?:{'|'.join(programs.functions)})\b")
            named = ", ".join(list(programs.functions)[:_MOST_NAMED])
            stream = self._write(
                request, programs, _WRITE, lambda program: calls.search(program) is not None, _NO_DATA.format(named)
            )
        else:
            stream = self._spoken.reply_in_words(request)
        async for delta in stream:
            yield replace(delta, decision=decision, usage=delta.usage + fits.usage) if isinstance(delta, ReplyEnded) else delta

    def _reply_after_result(self, request: Request, programs: Programs) -> AsyncIterator[Delta]:
        """Stream an answer; after an error another program."""
        failed = [part for part in request.history[-1].parts if isinstance(part, Result) and part.problem]
        written = {
            part.arguments.get(programs.argument) for message in request.history for part in message.parts if isinstance(part, Call)
        }
        note = f"{_CORRECT}{''.join(map(_find_error, failed))}" if failed else _TELL
        return self._write(request, programs, note, lambda program: program not in written, _OTHERWISE)

    async def _write(
        self, request: Request, programs: Programs, note: str, takes: Callable[[str], bool], instead: str
    ) -> AsyncIterator[Delta]:
        """Stream words and a program. If it isn't accepted it is asked for again, with chance: the same words might come back."""
        refused, used = False, Usage()
        async for delta in self._write_once(request, note):
            if isinstance(delta, CallDone) and not delta.call.cut and not takes(_read_program(delta.call, programs)):
                refused = True
            elif not refused:
                yield delta
            elif isinstance(delta, ReplyEnded):
                used = delta.usage
        if refused:
            options = replace(request.options, temperature=max(_CHANCE, request.options.temperature or 0))
            async for delta in self._write_once(replace(request, options=options), f"{note} {instead}"):
                yield replace(delta, usage=delta.usage + used) if isinstance(delta, ReplyEnded) else delta

    async def _write_once(self, request: Request, note: str) -> AsyncIterator[Delta]:
        options = replace(request.options, stop=(*request.options.stop, STOP))
        asked = replace(request, options=options, note=f"{request.note} {note}".lstrip())
        async with aclosing(self._spoken.reply(asked)) as stream:
            async for delta in stream:
                yield delta


def _find_error(result: Result) -> str:
    """Return the line of a problem that says where a program failed, unless it may have words of others in it."""
    if result.untrusted or result.quoted:
        return ""
    return next((f" The last one failed in {line}" for line in result.content.splitlines() if line.startswith("Line ")), "")


def _read_program(call: Written, programs: Programs) -> str:
    outcome = read_object(call.text)
    return str(outcome.value.get(programs.argument, "")) if isinstance(outcome, JsonRead) else ""
