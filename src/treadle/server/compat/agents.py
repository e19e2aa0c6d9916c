"""An assistant prepared for one turn: the client's tools beside its own, the client's instructions after its own."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent, Discovery
from treadle.agent.output import OUTPUT_TOOL, output_of
from treadle.core.calls import Call, Result
from treadle.core.errors import ModelError
from treadle.core.requests import Delta, Request, ToolSpec
from treadle.core.seams import Model, Toolset
from treadle.engine.catalog import OWN_TOOLS
from treadle.engine.setup import Caller
from treadle.guard.policy import to_policy
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.assistants import assistant_agent
from treadle.server.cleanup import close_resource
from treadle.server.compat.answer import AnswerFormat
from treadle.server.compat.client_tools import ClientToolPolicy, ClientTools, name_only_spec
from treadle.server.compat.errors import CompatError
from treadle.server.compat.turn_request import CompatTurnRequest, ResultBatch
from treadle.server.limits import RunLimiter, RunSlot
from treadle.server.runs.origin import WIRE


class ErrorTap:
    """A model wrapped unchanged, except that `error` is its last one."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.traits = model.traits
        self.error: ModelError | None = None
        self._model = model

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the reply, and remember its error."""
        self.error = None
        try:
            async for delta in self._model.reply(request):
                yield delta
        except ModelError as error:
            self.error = error
            raise


RESERVED_TOOLS = (*[tool.name for tool in OWN_TOOLS], OUTPUT_TOOL)


class TurnAgent(Struct, frozen=True):
    """The agent of a turn, how its answer is written, and what has to be closed after it. It holds a slot among the active runs."""

    agent: Agent[Any, Any]
    model: ErrorTap
    telling: AnswerFormat
    opened: list[Callable[[], object]]
    place: RunSlot

    async def close(self) -> None:
        """Close what the assistant has opened for the turn."""
        await _close(self.opened, self.place)


async def _close(opened: Sequence[Callable[[], object]], place: RunSlot) -> None:
    for each in reversed(opened):
        await close_resource(each)
    place.release()


class TurnContext(Struct, frozen=True):
    """What a request has besides its body: this server's address, the user's run limiter, and the caller."""

    address: str = ""
    run_limiter: RunLimiter | None = None
    caller: Caller = Caller()


class TurnAgentFactory:
    """A request with its assistant: makes the agent that answers it. `chosen` is the model's name, empty for the default."""

    def __init__(
        self, assistant: Assistant, host: Host, chosen: str, model: Model, asked: CompatTurnRequest, told: TurnContext
    ) -> None:
        self.assistant = assistant
        self.asked = asked
        self.caller = told.caller
        self._run_limiter = told.run_limiter
        self._host = host
        self._chosen = chosen
        self._model = model
        self._address = told.address

    @property
    def origin(self) -> dict[str, Any]:
        """The origin that is journaled with the run."""
        asked = self.asked
        begun = {"face": WIRE, "assistant": self.assistant.name, "model": self._chosen, "instructions": asked.instructions}
        return {**begun, "wire": asked.wire, "tools": [spec.name for spec in asked.tools]}

    @property
    def telling(self) -> AnswerFormat:
        """How the answer is written."""
        output = output_of(self.asked.shape)
        return AnswerFormat(self._address, None if output is None else output.convert)

    async def worker(
        self, batch: ResultBatch | None = None, calls: Mapping[str, Call] | None = None, *, tainted: bool = False
    ) -> TurnAgent:
        """Return the assistant as an agent with the client's tools, and with the results that were delivered."""
        opened, place = list[Callable[[], object]](), RunSlot(self._run_limiter)
        try:
            return self._make_agent(batch, calls, opened, place, tainted=tainted)
        except BaseException:
            await _close(opened, place)
            raise

    def _make_agent(
        self,
        batch: ResultBatch | None,
        calls: Mapping[str, Call] | None,
        opened: list[Callable[[], object]],
        place: RunSlot,
        *,
        tainted: bool,
    ) -> TurnAgent:
        model = ErrorTap(self._model)
        host = replace(self._host, model=_constant_model(model), on_close=opened.append)
        foreign = ClientTools(self._tool_specs(calls or {}), _results_by_call(batch, calls or {}), self.asked.media)
        agent = assistant_agent(self._add_client_tools(host, foreign), host, model, **self._how(host, batch, tainted=tainted))
        return TurnAgent(agent, model, self.telling, opened, place)

    def _add_client_tools(self, host: Host, foreign: ClientTools) -> Assistant:
        """Return the assistant with the client's tools. A plan doesn't know these, so no model is guided with them."""
        own: tuple[Toolset, ...] = () if self.assistant.toolsets is None else tuple(self.assistant.toolsets(host))
        self._check_names({tool.name for toolset in own for tool in toolset.tools()})
        toolsets = (*own, foreign) if foreign.tools() else own

        def made(_: Host) -> tuple[Toolset, ...]:
            return toolsets

        return replace(self.assistant, toolsets=made, lead=None if self.asked.tools else self.assistant.lead)

    def _how(self, host: Host, batch: ResultBatch | None, *, tainted: bool) -> dict[str, Any]:
        asked = self.asked
        names = [spec.name for spec in asked.tools] if asked.choice is None else list(asked.choice.names)
        added = [words for words in (asked.instructions, _tool_choice_note(asked)) if words.strip()]
        said = {"notes": (batch.words,)} if batch is not None and batch.words else {}
        return {
            **said,
            "instructions": "\n\n".join(added),
            "policy": ClientToolPolicy(to_policy(self.assistant.for_host(host).policy), names, tainted=tainted),
            "options": asked.options,
            "discovery": Discovery(always=tuple(names)),
            "output_type": str if asked.shape is None else asked.shape,
            "priced": True,
        }

    def _check_names(self, taken: set[str]) -> None:
        for number, spec in enumerate(self.asked.tools):
            if spec.name in taken or spec.name in RESERVED_TOOLS:
                words = f"{self.asked.model} has a tool {spec.name!r} of its own; give yours another name."
                raise CompatError(400, words, f"tools[{number}]")

    def _tool_specs(self, calls: Mapping[str, Call]) -> list[ToolSpec]:
        """Return the client's tools, and those that it no longer sends but that have been called."""
        specs = {spec.name: spec for spec in self.asked.tools}
        return [*specs.values(), *[name_only_spec(name) for name in {call.name for call in calls.values()} - set(specs)]]


def _results_by_call(batch: ResultBatch | None, calls: Mapping[str, Call]) -> dict[str, Result]:
    return {} if batch is None else {call.id: batch.results[mark] for mark, call in calls.items()}


def _constant_model(model: Model) -> Callable[[], Awaitable[Model]]:
    async def same() -> Model:
        return model

    return same


def _tool_choice_note(asked: CompatTurnRequest) -> str:
    choice = asked.choice
    if choice is None or not choice.must:
        return ""
    return f"Answer by calling {' or '.join(choice.names)}, not in words."
