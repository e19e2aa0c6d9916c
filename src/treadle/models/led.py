"""A model that is led: a plan says what comes next, and asks the model only for what code can't decide.

For models too small to choose among tools, and for work whose steps are fixed (`Program`). To the engine it is a model like any
other: its calls are judged and journaled, its runs taken up again. A plan is pure; it sees the whole history with every request, so
it keeps nothing but a move's state. What it has to know besides may be looked up first: then it is awaited.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Opaque, Written
from treadle.core.messages import History, Message, person
from treadle.core.requests import CallDelta, CallDone, Delta, Options, ReplyEnded, Request, TextDelta, ToolSpec, Usage
from treadle.core.seams import Model

WIRE = "led"  # whose data the state of a plan is


class Move(Struct, frozen=True):
    """What comes next: calls, each a tool's name and its arguments; or words alone, which are the answer.

    `state` is what the plan has to know when it goes on, as JSON: it stays in the history (`treadle.leading.state_of`).
    """

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    text: str = ""
    state: Any = None


class Question(Struct, frozen=True):
    """What a plan asks the model, whose words it is sent. `shape` is a JSON schema to hold them to, where that works.

    `before` is what was said before it, and `used` hears what it used. Where the model calls one of `tools`, its calls are the
    move, and the plan sees what came of them with the next request.
    """

    text: str
    instructions: str = ""
    options: Options = Options()
    shape: dict[str, Any] | None = None
    before: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    used: Callable[[Usage], object] | None = None


Steps = Generator[Question, str, Move]
Plan = Callable[[Request], Steps | Awaitable[Steps]]


class Program(Struct, frozen=True):
    """A plan that leads every model, also one that calls by itself: the steps of the work are fixed."""

    plan: Plan


class Led:
    """A model, and the plan that leads it."""

    def __init__(self, model: Model, plan: Plan) -> None:
        self.name = model.name
        # What the model is asked, the plan keeps short, and it's words alone.
        self.traits = replace(model.traits, native_calls=True, streams=False, context=None, modalities=frozenset())
        self._model = model
        self._plan = plan

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """What the plan decides."""
        spent: list[Usage] = []
        planned, words = self._plan(request), None
        plan = planned if isinstance(planned, Generator) else await planned
        while True:
            try:
                asked = next(plan) if words is None else plan.send(words)
            except StopIteration as over:
                deltas = _moved(over.value)
                break
            deltas = [delta async for delta in self._model.reply(self._request(asked))]
            words = "".join([delta.text for delta in deltas if isinstance(delta, TextDelta)])
            spent.append(sum([delta.usage for delta in deltas if isinstance(delta, ReplyEnded)], Usage()))
            if asked.used is not None:
                asked.used(spent[-1])
            if asked.tools and any(isinstance(delta, CallDone) for delta in deltas):
                break
        for delta in deltas:
            if not isinstance(delta, ReplyEnded):
                yield delta
        yield ReplyEnded("calls" if any(isinstance(delta, CallDone) for delta in deltas) else "done", sum(spent, Usage()))

    def _request(self, asked: Question) -> Request:
        """A question of the plan's, as the model is asked it."""
        history = History([*asked.before, *([person(asked.text)] if asked.text else ())])
        shape = asked.shape if self._model.traits.holds else None
        return Request(asked.instructions, history, asked.tools, options=asked.options.suited(self._model.traits), shape=shape)


def _moved(move: Move) -> list[Delta]:
    deltas: list[Delta] = [TextDelta(move.text)] if move.text else []
    if move.state is not None:
        deltas.append(Opaque(WIRE, msgspec.json.encode(move.state).decode()))
    for number, (name, arguments) in enumerate(move.calls):
        call_id = f"led-{number}"
        deltas += [CallDelta(call_id, name), CallDone(Written(call_id, name, msgspec.json.encode(arguments).decode()))]
    return deltas
