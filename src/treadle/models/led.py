"""A model that is led: a plan says what comes next, and asks the model only for what code can't decide.

For models too small to choose among tools. To the engine it is a model like any other: its calls are judged and journaled, its runs
taken up again. A plan is pure; it sees the whole history with every request, so it keeps nothing but a move's
state. What it has to know besides may be looked up first: then it is awaited.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Opaque, Written
from treadle.core.messages import History, person
from treadle.core.requests import CallDelta, CallDone, Delta, Options, ReplyEnded, Request, TextDelta, Usage
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
    """What a plan asks the model, whose words it is sent. `shape` is a JSON schema to hold them to, where that works."""

    text: str
    instructions: str = ""
    options: Options = Options()
    shape: dict[str, Any] | None = None


Steps = Generator[Question, str, Move]
Plan = Callable[[Request], Steps | Awaitable[Steps]]


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
                move: Move = over.value
                break
            words = await self._words(asked, spent)
        if move.text:
            yield TextDelta(move.text)
        if move.state is not None:
            yield Opaque(WIRE, msgspec.json.encode(move.state).decode())
        for number, (name, arguments) in enumerate(move.calls):
            call_id = f"led-{number}"
            yield CallDelta(call_id, name)
            yield CallDone(Written(call_id, name, msgspec.json.encode(arguments).decode()))
        yield ReplyEnded("calls" if move.calls else "done", sum(spent, Usage()))

    async def _words(self, asked: Question, spent: list[Usage]) -> str:
        """What the model says to a question of the plan's."""
        said: list[str] = []
        shape = asked.shape if self._model.traits.holds else None
        options = asked.options.suited(self._model.traits)
        request = Request(asked.instructions, History([person(asked.text)]), options=options, shape=shape)
        async for delta in self._model.reply(request):
            if isinstance(delta, TextDelta):
                said.append(delta.text)
            elif isinstance(delta, ReplyEnded):
                spent.append(delta.usage)
        return "".join(said)
