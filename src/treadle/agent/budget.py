"""A daily budget: a model that is called only while a user's tokens and dollars of today aren't used up.

Spending is read from the journal of the user's home, which other processes may write too; what this process spends
after its last read, or outside of any run, is added. Concurrent requests are each let through. A reply that isn't
read to its end is estimated: it was requested and written, but its usage is never reported.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from time import time
from typing import assert_never

import msgspec
from msgspec import Struct

from treadle.admin.stats import open_stats
from treadle.core.calls import Opaque
from treadle.core.errors import AllowanceSpent, ModelError
from treadle.core.requests import CallDelta, CallDone, Delta, Notice, ReplyEnded, Request, TextDelta, ThinkingDelta, Traits, Usage
from treadle.core.seams import Model
from treadle.home import Home
from treadle.loop.window import CHARACTERS_PER_TOKEN
from treadle.models.fallback import FallbackModel
from treadle.prices import calculate_cost
from treadle.stores.accounts import Allowance
from treadle.stores.stats.values import StatsQuery

DAY = 24 * 3600
REFRESH_SECONDS = 5.0  # seconds for which a look into the journal counts
EXHAUSTED = "Your {} of today are used up; they begin anew at midnight (UTC)."

ModelFactory = Callable[[], Awaitable[Model]]


class BudgetUsage(Struct, frozen=True):
    """Tokens, input and output together, and US dollars, where prices are known."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "BudgetUsage") -> "BudgetUsage":
        return BudgetUsage(self.tokens + other.tokens, self.cost + other.cost)


SpendingReader = Callable[[float], Awaitable[BudgetUsage]]


def make_spending_reader(home: Home) -> SpendingReader:
    """Return a function that reads from a home's journal what was spent since a time."""
    stats = open_stats(home)

    async def spent(since: float) -> BudgetUsage:
        told = (await stats.ask(StatsQuery(since=since))).total.spent
        return BudgetUsage(told.tokens, told.cost or 0.0) if told else BudgetUsage()

    return spent


class Budget:
    """What one user may spend today, and has spent."""

    def __init__(self, allowance: Allowance, spent_since: SpendingReader, clock: Callable[[], float] = time) -> None:
        self._allowance = allowance
        self._spent_since = spent_since
        self._clock = clock
        self._looking = asyncio.Lock()
        self._day: int = -1
        self._looked_at = 0.0
        self._first = self._last = BudgetUsage()  # what the journal said at the first and at the last look of the day
        self._own = self._since = BudgetUsage()  # what was spent here since the first and since the last

    async def check(self) -> None:
        """Raise where the budget is used up."""
        spent, most = await self._current_usage(), self._allowance
        if most.tokens is not None and spent.tokens >= most.tokens:
            raise AllowanceSpent(EXHAUSTED.format(f"{most.tokens:,} tokens"), status=429)
        if most.cost is not None and spent.cost >= most.cost:
            raise AllowanceSpent(EXHAUSTED.format(f"${most.cost:,.2f}"), status=429)

    def note(self, model: str, usage: Usage) -> None:
        """Record usage of this process."""
        spent = BudgetUsage(usage.total_tokens, usage.cost if usage.cost is not None else calculate_cost(model, usage) or 0.0)
        self._own += spent
        self._since += spent

    async def _current_usage(self) -> BudgetUsage:
        """Return the usage of today.

        The larger of: the journal plus what it can't contain yet, or the previous journal plus all spent in this process.
        """
        async with self._looking:
            await self._refresh()
        told, here = self._last + self._since, self._first + self._own
        return BudgetUsage(max(told.tokens, here.tokens), max(told.cost, here.cost))

    async def _refresh(self) -> None:
        now = self._clock()
        day = int(now // DAY)
        if day == self._day and now - self._looked_at < REFRESH_SECONDS:
            return
        self._last = await self._spent_since(float(day * DAY))
        self._since, self._looked_at = BudgetUsage(), now
        if day != self._day:
            self._day, self._first, self._own = day, self._last, BudgetUsage()


class BudgetedModel:
    """A model that is called only within a budget."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self._model.name

    @property
    def traits(self) -> Traits:
        """The wrapped model's traits."""
        return self._model.traits

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the model's reply; raise before the request where nothing is left."""
        await self._budget.check()
        bill, deltas = _ReplyMeter(self._budget, self.name, request), self._model.reply(request)
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


class _ReplyMeter:
    """The cost of one reply: as the model reports at its end, else estimated from the request and the text received."""

    def __init__(self, budget: Budget, model: str, request: Request) -> None:
        self._budget = budget
        self._model = model
        self._request = request
        self._heard: int | None = None  # characters, once anything came
        self._is_paid = False

    def hear(self, delta: Delta) -> None:
        """Add a piece of the reply; the last one reports the usage."""
        if isinstance(delta, ReplyEnded):
            self._record(delta.usage)
        else:
            self._heard = (self._heard or 0) + _delta_length(delta)

    def fail(self, error: ModelError) -> None:
        """Record that the reply failed. Before its first piece, a model that reports no usage has used nothing."""
        if error.usage is not None or self._heard is None:
            self._record(error.usage or Usage())

    def close(self) -> None:
        """Record an estimate where the reply was abandoned."""
        if not self._is_paid:
            self._record(
                Usage(
                    requests=1,
                    input_tokens=_estimate_tokens(_request_size(self._request)),
                    output_tokens=_estimate_tokens(self._heard or 0),
                )
            )

    def _record(self, usage: Usage) -> None:
        self._is_paid = True
        self._budget.note(self._model, usage)


def _estimate_tokens(characters: int) -> int:
    return round(characters / CHARACTERS_PER_TOKEN)


def _request_size(request: Request) -> int:
    """Return the approximate number of characters of a request."""
    tools = len(msgspec.json.encode(request.tools)) if request.tools else 0
    return len(request.instructions) + request.history.size + tools + len(request.note)


def _delta_length(delta: TextDelta | ThinkingDelta | Opaque | Notice | CallDelta | CallDone) -> int:
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


class BudgetedModelFactory:
    """Factory of a user's model, within their budget; `wrap` applies the same budget to any other model."""

    def __init__(self, make: ModelFactory, budget: Budget) -> None:
        self._make = make
        self._budget = budget

    async def __call__(self) -> Model:
        """Return the model."""
        return self.around(await self._make())

    def around(self, model: Model) -> Model:
        """Wrap a model in the budget; in a fallback, each of its models."""
        if isinstance(model, FallbackModel):
            return model.wrapped(self.around)
        return BudgetedModel(model, self._budget)


def limit_to_budget(
    make: ModelFactory, allowance: Allowance, spent_today: SpendingReader, clock: Callable[[], float] = time
) -> ModelFactory:
    """Wrap a model factory in a daily budget; return it unchanged where spending is unlimited."""
    if allowance.tokens is None and allowance.cost is None:
        return make
    return BudgetedModelFactory(make, Budget(allowance, spent_today, clock))


def apply_budget(make: ModelFactory, model: Model) -> Model:
    """Apply the budget of the model that `make` returns to another model."""
    return make.around(model) if isinstance(make, BudgetedModelFactory) else model
