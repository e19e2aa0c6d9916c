"""A day's budget: a model that is asked only as long as a person's tokens and dollars of today aren't used up.

What is spent stands in the journal of their home, which other processes may write too; what this process spends since its last
look, or outside of any run, is added. Requests that are under way at the same time are each let through. A reply that nobody hears
to its end is estimated: it was asked for and written, and whoever writes it never says what it came to.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from time import time
from typing import assert_never

import msgspec
from msgspec import Struct

from treadle.app.home import Home
from treadle.app.prices import price
from treadle.app.stats import stats_of
from treadle.core.calls import Opaque
from treadle.core.errors import AllowanceSpent, ModelError
from treadle.core.requests import CallDelta, CallDone, Delta, Notice, ReplyEnded, Request, TextDelta, ThinkingDelta, Traits, Usage
from treadle.core.seams import Model
from treadle.loop.window import CHARACTERS_PER_TOKEN
from treadle.models.fallback import Fallback
from treadle.stores.people import Allowance
from treadle.stores.stats.values import Question

DAY = 24 * 3600
FRESH = 5.0  # seconds for which a look into the journal counts
USED_UP = "Your {} of today are used up; they begin anew at midnight (UTC)."

ModelFactory = Callable[[], Awaitable[Model]]


class Spent(Struct, frozen=True):
    """Tokens, input and output together, and US dollars, where prices are known."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.cost + other.cost)


SpentSince = Callable[[float], Awaitable[Spent]]


def spent_in(home: Home) -> SpentSince:
    """What was spent in a home since a moment, as its journal says."""
    stats = stats_of(home)

    async def spent(since: float) -> Spent:
        told = (await stats.ask(Question(since=since))).total.spent
        return Spent(told.tokens, told.cost or 0.0) if told else Spent()

    return spent


class Budget:
    """What one person may spend today, and has."""

    def __init__(self, allowance: Allowance, spent_since: SpentSince, clock: Callable[[], float] = time) -> None:
        self._allowance = allowance
        self._spent_since = spent_since
        self._clock = clock
        self._looking = asyncio.Lock()
        self._day: int = -1
        self._looked_at = 0.0
        self._first = self._last = Spent()  # what the journal said at the first and at the last look of the day
        self._own = self._since = Spent()  # what was spent here since the first and since the last

    async def check(self) -> None:
        """Raise where it is used up."""
        spent, most = await self._spent(), self._allowance
        if most.tokens is not None and spent.tokens >= most.tokens:
            raise AllowanceSpent(USED_UP.format(f"{most.tokens:,} tokens"), status=429)
        if most.cost is not None and spent.cost >= most.cost:
            raise AllowanceSpent(USED_UP.format(f"${most.cost:,.2f}"), status=429)

    def note(self, model: str, usage: Usage) -> None:
        """Something was spent here."""
        spent = Spent(usage.total_tokens, usage.cost if usage.cost is not None else price(model, usage) or 0.0)
        self._own += spent
        self._since += spent

    async def _spent(self) -> Spent:
        """Whichever is more: the journal with what it can't have yet, or what it had with all that was spent here."""
        async with self._looking:
            await self._look()
        told, here = self._last + self._since, self._first + self._own
        return Spent(max(told.tokens, here.tokens), max(told.cost, here.cost))

    async def _look(self) -> None:
        now = self._clock()
        day = int(now // DAY)
        if day == self._day and now - self._looked_at < FRESH:
            return
        self._last = await self._spent_since(float(day * DAY))
        self._since, self._looked_at = Spent(), now
        if day != self._day:
            self._day, self._first, self._own = day, self._last, Spent()


class Budgeted:
    """A model, for as long as there is something left."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def traits(self) -> Traits:
        """The model's own."""
        return self._model.traits

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The model's reply; it isn't asked where nothing is left."""
        await self._budget.check()
        bill, deltas = _Bill(self._budget, self.name, request), self._model.reply(request)
        try:
            async for delta in deltas:
                bill.hear(delta)
                yield delta
        except ModelError as error:
            bill.fail(error)
            raise
        finally:
            bill.close()
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()


class _Bill:
    """What one reply costs: as the model says at its end, else roughly as much as was asked and heard."""

    def __init__(self, budget: Budget, model: str, request: Request) -> None:
        self._budget = budget
        self._model = model
        self._request = request
        self._heard: int | None = None  # characters, once anything came
        self._is_paid = False

    def hear(self, delta: Delta) -> None:
        """A piece of the reply; the last one says what it used."""
        if isinstance(delta, ReplyEnded):
            self._pay(delta.usage)
        else:
            self._heard = (self._heard or 0) + _length(delta)

    def fail(self, error: ModelError) -> None:
        """There is no more. Where nothing had come, a model that doesn't say what it used has used nothing."""
        if error.usage is not None or self._heard is None:
            self._pay(error.usage or Usage())

    def close(self) -> None:
        """Nobody listens any more."""
        if not self._is_paid:
            self._pay(Usage(requests=1, input_tokens=_tokens(_size(self._request)), output_tokens=_tokens(self._heard or 0)))

    def _pay(self, usage: Usage) -> None:
        self._is_paid = True
        self._budget.note(self._model, usage)


def _tokens(characters: int) -> int:
    return round(characters / CHARACTERS_PER_TOKEN)


def _size(request: Request) -> int:
    """Characters of a request, roughly."""
    tools = len(msgspec.json.encode(request.tools)) if request.tools else 0
    return len(request.instructions) + request.history.size + tools + len(request.note)


def _length(delta: TextDelta | ThinkingDelta | Opaque | Notice | CallDelta | CallDone) -> int:
    match delta:
        case Opaque():
            return len(delta.json)
        case Notice():
            return 0
        case TextDelta() | ThinkingDelta():
            return len(delta.text)
        case CallDelta():
            return len(delta.name)
        case CallDone():
            return len(delta.call.text)
        case _:
            assert_never(delta)


class BudgetedModels:
    """Gives the model that somebody chose, within their budget; `around` puts any other that they name within the same."""

    def __init__(self, make: ModelFactory, budget: Budget) -> None:
        self._make = make
        self._budget = budget

    async def __call__(self) -> Model:
        """The model."""
        return self.around(await self._make())

    def around(self, model: Model) -> Model:
        """This model, within the budget; each one of a fallback."""
        if isinstance(model, Fallback):
            return model.wrapped(self.around)
        return Budgeted(model, self._budget)


def budgeted(make: ModelFactory, allowance: Allowance, spent_today: SpentSince, clock: Callable[[], float] = time) -> ModelFactory:
    """What gives a model, so that it is asked only within what somebody may spend; as it is where that is as much as they like."""
    if allowance.tokens is None and allowance.cost is None:
        return make
    return BudgetedModels(make, Budget(allowance, spent_today, clock))


def within(make: ModelFactory, model: Model) -> Model:
    """A model that somebody named, within the budget of the one that `make` gives."""
    return make.around(model) if isinstance(make, BudgetedModels) else model
