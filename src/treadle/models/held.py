"""A model whose server can hold a reply to a shape: every call it writes is valid by construction.

Small models write good calls when they are held to them, and call anyway when nothing fits. So three things happen:

1. `fitting` asks whether a tool fits at all, and takes down how sure the model is. If it isn't, it is asked for an answer.
2. It writes calls, held to the schemas of the tools on offer.
3. `grounded` looks how many values of a call were said at all. The fewer, the surer it has to be that the tool fits.

Where the answer is a call as well, there is nothing to ask: it is held to calls, that one among them. Otherwise, once there are
results, it chooses between calls and an answer itself, and one that only repeats a call is asked for an answer.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from math import inf
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import Message, Text
from treadle.core.requests import CallDone, Delta, ReplyEnded, Request, Usage
from treadle.core.seams import Model
from treadle.dialects.held_json import HELD, shape_of
from treadle.dialects.mend import Read, read_object
from treadle.models.fitting import Fit, fit
from treadle.models.grounded import Said
from treadle.models.spoken import Spoken

INVENTED = 2.0  # how much surer a model has to be of a call none of whose values were said
_NO_TOOL = "None of the tools does this. Answer in plain words."
_CERTAIN = Fit(inf, Usage())
_ENOUGH = "You know enough now. Answer in plain words."


class Held:
    """A model held to calls and answers.

    `sure` is how much likelier than not a tool has to fit: the logarithm of the odds. At `-inf` it isn't asked, and always calls.
    """

    def __init__(self, model: Model, *, sure: float = 0.0) -> None:
        self.name = model.name
        self.traits = model.traits.through_text()
        self._model = model
        self._spoken = Spoken(model, HELD)
        self._sure = sure

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The reply, piece by piece."""
        if not request.tools:
            return self._spoken.reply(request)
        if request.must_call:
            return self._calls(request, _any_call, Usage(), shape_of(request.tools), _ENOUGH)
        if request.history[-1].role == "person":
            return self._at_first(request)
        return self._after_results(request)

    async def _at_first(self, request: Request) -> AsyncIterator[Delta]:
        """Calls if a tool fits, else an answer."""
        fits = _CERTAIN if self._sure == -inf else await fit(self._model, request)
        said, tools = Said(_said(request.history)), {tool.name: tool for tool in request.tools}

        def takes(call: Written) -> bool:
            tool = tools.get(call.name)
            missing = 0.0 if tool is None else 1 - said.share(call, tool)
            return fits.odds >= self._sure + INVENTED * missing

        if fits.odds >= self._sure:
            stream = self._calls(request, takes, fits.usage, shape_of(request.tools), _NO_TOOL)
        else:
            stream = self._answer(request, _NO_TOOL, fits.usage)
        async for delta in stream:
            yield delta

    def _after_results(self, request: Request) -> AsyncIterator[Delta]:
        """Calls or an answer, as it chooses; an answer where it would only call again what it has called."""
        made = {_key(part.name, part.arguments) for message in request.history for part in message.parts if isinstance(part, Call)}

        def takes(call: Written) -> bool:
            return _key(call.name, _arguments(call)) not in made

        return self._calls(request, takes, Usage(), shape_of(request.tools, answers=True), _ENOUGH)

    async def _calls(
        self, request: Request, takes: Callable[[Written], bool], used: Usage, shape: dict[str, Any], instead: str
    ) -> AsyncIterator[Delta]:
        """What it writes in that shape. Where its first call isn't taken, it is asked for an answer `instead`."""
        called = False
        async with aclosing(self._spoken.reply(replace(request, shape=shape))) as stream:
            async for delta in stream:
                if isinstance(delta, CallDone) and not called:
                    if not delta.call.cut and not takes(delta.call):
                        break
                    called = True
                yield _adding(delta, used)
            else:
                return
        async for delta in self._answer(request, instead, used + Usage(requests=1)):
            yield delta

    async def _answer(self, request: Request, why: str, used: Usage) -> AsyncIterator[Delta]:
        note = f"{request.note} {why}".lstrip()
        async for delta in self._spoken.reply(replace(request, note=note)):
            if not isinstance(delta, CallDone):  # it was told not to
                yield _adding(delta, used)


def _any_call(_: Written) -> bool:
    return True


def _adding(delta: Delta, used: Usage) -> Delta:
    return replace(delta, usage=delta.usage + used) if isinstance(delta, ReplyEnded) else delta


def _arguments(call: Written) -> dict[str, Any]:
    outcome = read_object(call.text)
    return outcome.value if isinstance(outcome, Read) else {}


def _key(name: str, arguments: object) -> bytes:
    return msgspec.json.encode([name, arguments], order="sorted")


def _said(history: Iterable[Message]) -> str:
    """What a value of a call may come from: all that a person said, and all results."""
    told: list[str] = []
    for message in history:
        if message.role != "model":
            told += [part.text for part in message.parts if isinstance(part, Text)]
            told += [part.content for part in message.parts if isinstance(part, Result)]
    return "\n".join(told)
