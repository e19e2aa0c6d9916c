"""An assistant made ready for one turn: the caller's tools beside its own, their instructions below its own."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.app.agent import Agent, Discovery
from treadle.app.assistant import Assistant, Host
from treadle.app.assistants import agent_of
from treadle.app.output import output_of
from treadle.core.calls import Call, Result
from treadle.core.requests import ToolSpec
from treadle.core.seams import Model, Toolset
from treadle.engine.setup import Caller
from treadle.guard.policy import policy_of
from treadle.server.closing import close_one
from treadle.server.place import Place
from treadle.server.rates import Turnstile
from treadle.server.runs.begun import WIRE
from treadle.server.wires.answer import Telling
from treadle.server.wires.asked import Asked, Batch
from treadle.server.wires.foreign import Foreign, Handed, bare
from treadle.server.wires.overheard import Overheard
from treadle.server.wires.refused import Refused

RESERVED = ("find_tools", "read_result", "give_answer")  # the engine's own


class Worker(Struct, frozen=True):
    """Who carries a turn out, how its answer is told, and what has to be closed after it. Its place is among the runs under way."""

    agent: Agent[Any]
    model: Overheard
    telling: Telling
    opened: list[Callable[[], object]]
    place: Place

    async def close(self) -> None:
        """Let go of what the assistant has opened for it."""
        await _closed(self.opened, self.place)


async def _closed(opened: Sequence[Callable[[], object]], place: Place) -> None:
    for each in reversed(opened):
        await close_one(each)
    place.leave()


class Told(Struct, frozen=True):
    """What a request tells besides its body: where this server is, what counts the runs of whoever asks, and who that is."""

    address: str = ""
    turnstile: Turnstile | None = None
    caller: Caller = Caller()


class Maker:
    """What is asked, with who can do it: makes the agent that does. `chosen` is the model by name, empty for the default."""

    def __init__(self, assistant: Assistant, host: Host, chosen: str, model: Model, asked: Asked, told: Told) -> None:
        self.assistant = assistant
        self.asked = asked
        self.caller = told.caller
        self._turnstile = told.turnstile
        self._host = host
        self._chosen = chosen
        self._model = model
        self._address = told.address

    @property
    def origin(self) -> dict[str, Any]:
        """What is kept with the run."""
        asked = self.asked
        begun = {"face": WIRE, "assistant": self.assistant.name, "model": self._chosen, "instructions": asked.instructions}
        return {**begun, "wire": asked.wire, "tools": [spec.name for spec in asked.tools]}

    @property
    def telling(self) -> Telling:
        """How an answer is told."""
        output = output_of(self.asked.shape)
        return Telling(self._address, None if output is None else output.convert)

    async def worker(self, batch: Batch | None = None, calls: Mapping[str, Call] | None = None, *, tainted: bool = False) -> Worker:
        """The assistant as an agent with the caller's tools, and with the results that they have brought."""
        opened, place = list[Callable[[], object]](), Place(self._turnstile)
        try:
            return self._worker(batch, calls, opened, place, tainted=tainted)
        except BaseException:
            await _closed(opened, place)
            raise

    def _worker(
        self,
        batch: Batch | None,
        calls: Mapping[str, Call] | None,
        opened: list[Callable[[], object]],
        place: Place,
        *,
        tainted: bool,
    ) -> Worker:
        model = Overheard(self._model)
        host = replace(self._host, model=_always(model), at_end=opened.append)
        foreign = Foreign(self._specs(calls or {}), _results(batch, calls or {}), self.asked.media)
        agent = agent_of(self._ready(host, foreign), host, model, **self._how(host, batch, tainted=tainted))
        return Worker(agent, model, self.telling, opened, place)

    def _ready(self, host: Host, foreign: Foreign) -> Assistant:
        """The assistant with the caller's tools. A plan knows nothing of these, so that nobody is led with them."""
        own: tuple[Toolset, ...] = () if self.assistant.toolsets is None else tuple(self.assistant.toolsets(host))
        self._check_names({tool.name for toolset in own for tool in toolset.tools()})
        toolsets = (*own, foreign) if foreign.tools() else own

        def made(_: Host) -> tuple[Toolset, ...]:
            return toolsets

        return replace(self.assistant, toolsets=made, lead=None if self.asked.tools else self.assistant.lead)

    def _how(self, host: Host, batch: Batch | None, *, tainted: bool) -> dict[str, Any]:
        asked = self.asked
        names = [spec.name for spec in asked.tools] if asked.choice is None else list(asked.choice.names)
        added = [words for words in (asked.instructions, _must(asked)) if words.strip()]
        said = {"notes": (batch.words,)} if batch is not None and batch.words else {}
        return {
            **said,
            "instructions": "\n\n".join(added),
            "policy": Handed(policy_of(self.assistant.configured(host).policy), names, tainted=tainted),
            "options": asked.options,
            "discovery": Discovery(always=tuple(names)),
            "output_type": str if asked.shape is None else asked.shape,
            "priced": True,
        }

    def _check_names(self, taken: set[str]) -> None:
        for number, spec in enumerate(self.asked.tools):
            if spec.name in taken or spec.name in RESERVED:
                words = f"{self.asked.model} has a tool {spec.name!r} of its own; give yours another name."
                raise Refused(400, words, f"tools[{number}]")

    def _specs(self, calls: Mapping[str, Call]) -> list[ToolSpec]:
        """The caller's tools, and such as they no longer bring but have been called."""
        specs = {spec.name: spec for spec in self.asked.tools}
        return [*specs.values(), *[bare(name) for name in {call.name for call in calls.values()} - set(specs)]]


def _results(batch: Batch | None, calls: Mapping[str, Call]) -> dict[str, Result]:
    return {} if batch is None else {call.id: batch.results[mark] for mark, call in calls.items()}


def _always(model: Model) -> Callable[[], Awaitable[Model]]:
    async def same() -> Model:
        return model

    return same


def _must(asked: Asked) -> str:
    choice = asked.choice
    if choice is None or not choice.must:
        return ""
    return f"Answer by calling {' or '.join(choice.names)}, not in words."
