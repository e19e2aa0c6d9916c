"""A day's budget: a model that is asked only as long as a person's tokens and dollars of today aren't used up.

What is spent stands in the journal of their home, which other processes may write too; what this process spends since its last
look, or outside of any run, is added. Requests that are under way at the same time are each let through.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from time import time

from msgspec import Struct

from treadle.app.home import Home
from treadle.app.prices import price
from treadle.app.stats import stats_of
from treadle.core.errors import ModelError, ModelRefused
from treadle.core.requests import Delta, ReplyEnded, Request, Traits, Usage
from treadle.core.seams import Model
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
            raise ModelRefused(USED_UP.format(f"{most.tokens:,} tokens"), status=429)
        if most.cost is not None and spent.cost >= most.cost:
            raise ModelRefused(USED_UP.format(f"${most.cost:,.2f}"), status=429)

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
        deltas = self._model.reply(request)
        try:
            async for delta in deltas:
                if isinstance(delta, ReplyEnded):
                    self._budget.note(self.name, delta.usage)
                yield delta
        except ModelError as error:
            if error.usage is not None:
                self._budget.note(self.name, error.usage)
            raise
        finally:
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()


class BudgetedModels:
    """Gives the model that somebody chose, within their budget; `around` puts any other that they name within the same."""

    def __init__(self, make: ModelFactory, budget: Budget) -> None:
        self._make = make
        self._budget = budget

    async def __call__(self) -> Model:
        """The model."""
        return self.around(await self._make())

    def around(self, model: Model) -> Model:
        """This model, within the budget."""
        return Budgeted(model, self._budget)


def budgeted(make: ModelFactory, allowance: Allowance, spent_today: SpentSince, clock: Callable[[], float] = time) -> ModelFactory:
    """What gives a model, so that it is asked only within what somebody may spend; as it is where that is as much as they like."""
    if allowance.tokens is None and allowance.cost is None:
        return make
    return BudgetedModels(make, Budget(allowance, spent_today, clock))


def within(make: ModelFactory, model: Model) -> Model:
    """A model that somebody named, within the budget of the one that `make` gives."""
    return make.around(model) if isinstance(make, BudgetedModels) else model
