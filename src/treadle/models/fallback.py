"""Models with a fallback: the next model when one is down, another API of its provider, calls in text instead of native ones.

A switch is announced with a `Notice`. Nothing is switched once a reply has begun: the engine decides about broken replies.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from copy import copy
from functools import reduce

from msgspec.structs import replace

from treadle.core.errors import AllowanceSpent, MissingKey, ModelError, ModelRefused, ToolsRefused, WrongWire
from treadle.core.requests import Delta, Notice, Request, Structured, Traits
from treadle.core.seams import Model
from treadle.models.media import narrow_modalities
from treadle.models.repairs import IN_TEXT, repair_memory

COOLDOWN = 60.0  # seconds for which a model that failed isn't asked, unless its server names others
_NO_SUCH_PATH = (404, 405)
_STRUCTURED: tuple[Structured, ...] = ("no", "without_tools", "yes")
_QUOTA_STATUSES = (402, 429)  # no credit, or too many requests


class FallbackModel:
    """Several models as one: the first that answers. Models without a key, or that are down or rate limited, are skipped.

    `makers` create the models, or raise `MissingKey`. The traits are what all of them support. `spec` is the text from which
    `resolve_model` creates all of them.
    """

    def __init__(
        self, makers: Sequence[Callable[[], Model]], clock: Callable[[], float] = time.monotonic, *, spec: str = ""
    ) -> None:
        self._clock = clock
        self.spec = spec
        self.models: list[Model] = []
        self._missing: list[str] = []
        last: MissingKey | None = None
        for make in makers:
            try:
                self.models.append(make())
            except MissingKey as missing:
                last = missing
                self._missing.append(str(missing))
        if not self.models:
            raise last or MissingKey("A list of models needs at least one.")
        self._rests: dict[int, float] = {}

    @property
    def name(self) -> str:
        """The first model's name."""
        return self.models[0].name

    @property
    def traits(self) -> Traits:
        """The first model's traits, limited to what all models have, accept and return, with room for any that thinks."""
        windows = [model.traits.context for model in self.models if model.traits.context is not None]
        known = [model.traits.modalities for model in self.models if model.traits.modalities is not None]
        return replace(
            self.models[0].traits,
            context=min(windows, default=None),
            modalities=reduce(narrow_modalities, known) if known else None,
            reasons=any(model.traits.reasons for model in self.models),
            structured_output=min([model.traits.structured_output for model in self.models], key=_STRUCTURED.index),
        )

    def wrap(self, wrap: Callable[[Model], Model]) -> "FallbackModel":
        """Return a copy with each model wrapped. A model that cools down in one of the two does in both."""
        made = copy(self)
        made.models = [wrap(model) for model in self.models]
        return made

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply of the first model that gives one."""
        for missing in self._missing:
            yield Notice(f"{missing} Going on with {self.name}.")
        self._missing = []
        waiting = self._order()
        while waiting:
            number = waiting.pop(0)
            begun = False
            try:
                async for delta in self.models[number].reply(request):
                    begun = begun or not isinstance(delta, Notice)
                    yield delta
            except ModelError as error:
                if begun or not waiting or not _may_fall_back(error):
                    raise
                self._rests[number] = self._clock() + (error.retry_after or COOLDOWN)
                why = str(error) if str(error).endswith((".", "!", "?")) else f"{error}."
                yield Notice(f"{why} Going on with {self.models[waiting[0]].name}.")
            else:
                return

    def _order(self) -> list[int]:
        """Return the order of the models, those first that haven't just failed."""
        now = self._clock()
        return sorted(range(len(self.models)), key=lambda number: (self._rests.get(number, 0.0) > now, number))


def _may_fall_back(error: ModelError) -> bool:
    return error.retryable or (error.status in _QUOTA_STATUSES and not isinstance(error, AllowanceSpent))


class EitherWireModel:
    """A model on one API until its server says that it belongs to another, or has only the other.

    `absent` says that a 404 counts too: compatible servers often have only one API of a provider.
    """

    def __init__(self, first: Model, other: Callable[[], Model], *, absent: bool = False) -> None:
        self._model = first
        self._other: Callable[[], Model] | None = other
        self._absent = absent
        self.address = str(getattr(first, "address", ""))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def traits(self) -> Traits:
        """The traits of the API in use."""
        return self._model.traits

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply, over the other API once the server has asked for it."""
        try:
            async for delta in self._model.reply(request):
                yield delta
        except ModelRefused as refusal:
            other = self._other
            if other is None or not (isinstance(refusal, WrongWire) or (self._absent and refusal.status in _NO_SUCH_PATH)):
                raise
            model = other()
            async for delta in model.reply(request):
                if model is not self._model:  # it answers: this is the API to use
                    self._model, self._other = model, None
                    yield Notice(f"{self.name} is asked over another API of its provider from now on, as its server has no other.")
                yield delta


class ToolFallbackModel:
    """A model with native calls until its server refuses tools; from then on calls are written in its text.

    That is remembered with the other repairs, for the same model at the same address.
    """

    def __init__(self, native: Model, prompted: Callable[[], Model]) -> None:
        self._native = native
        self._make = prompted
        self._address = str(getattr(native, "address", ""))
        refused = IN_TEXT in repair_memory.of(native.name, self._address)
        self._prompted: Model | None = prompted() if refused else None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._native.name

    @property
    def traits(self) -> Traits:
        """The traits of the calling method in use."""
        return (self._prompted or self._native).traits

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply, with native calls or calls in text, as the server supports them."""
        if self._prompted is not None:
            return self._prompted.reply(request)
        native = self._native.reply(request)
        return _GuardedReply(native, request, self._reply_in_text) if request.tools else native

    async def _reply_in_text(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply to a request whose tools were refused."""
        prompted = self._prompted = self._make()
        repair_memory.add(self.name, self._address, IN_TEXT)
        yield Notice(f"{self.name} takes no tools: calls are asked for in its text from now on.")
        async for delta in prompted.reply(request):
            yield delta


class _GuardedReply:
    """A reply with native calls, or another one if the server refuses tools; it does so before the first delta.

    No generator: that would be resumed for each delta, although only the first one matters here.
    """

    __slots__ = ("_begun", "_deltas", "_instead", "_request")

    def __init__(self, native: AsyncIterator[Delta], request: Request, instead: Callable[[Request], AsyncIterator[Delta]]) -> None:
        self._deltas = native
        self._request = request
        self._instead = instead
        self._begun = False

    def __aiter__(self) -> "_GuardedReply":
        return self

    def __anext__(self) -> Awaitable[Delta]:
        return self._deltas.__anext__() if self._begun else self._begin()

    @property
    def take_arrived(self) -> Callable[[], Iterable[Delta]] | None:
        """What returns the deltas that have arrived already; None where each has to be awaited."""
        return self._take_rest if hasattr(self._deltas, "take_arrived") else None

    def _take_rest(self) -> Iterable[Delta]:
        take: Callable[[], Iterable[Delta]] | None = getattr(self._deltas, "take_arrived", None) if self._begun else None
        return () if take is None else take()

    async def _begin(self) -> Delta:
        try:
            delta = await self._deltas.__anext__()
        except ToolsRefused:
            self._begun, self._deltas = True, self._instead(self._request)
            return await self._deltas.__anext__()
        self._begun = type(delta) is not Notice  # a repair of the request may come before it
        return delta

    async def aclose(self) -> None:
        """Close the reply that is read."""
        close = getattr(self._deltas, "aclose", None)
        if close is not None:
            await close()
