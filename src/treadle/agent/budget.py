"""A budget of a day or a month: a model that is called only while its tokens and dollars aren't used up.

Spending is read from journals, which other processes may write too; what this process spends after its last read, or
outside of any run, is added. Requests in flight count with the estimated size of what they send, until their usage is
known. A reply that isn't read to its end is estimated: it was requested and written, but its usage is never reported.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from time import time
from typing import assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.admin.stats import open_stats
from treadle.core.calls import Opaque
from treadle.core.errors import AllowanceSpent, ModelError
from treadle.core.requests import CallDelta, CallDone, Delta, Notice, ReplyEnded, Request, TextDelta, ThinkingDelta, Traits, Usage
from treadle.core.seams import Model, warm_model
from treadle.home import Home
from treadle.loop.window import CHARACTERS_PER_TOKEN
from treadle.models.fallback import FallbackModel
from treadle.prices import calculate_cost
from treadle.stores.accounts import Allowance
from treadle.stores.stats.values import StatsQuery

DAY = 24 * 3600
REFRESH_SECONDS = 5.0  # seconds for which a look into the journal counts
EXHAUSTED = "Your {} of today are used up; they begin anew at midnight (UTC)."
NO_PRICE = (
    "The price of {model} isn't known, so {what} in US dollars can't be kept, and the model isn't asked. The administrator can set"
    ' [prices."{model}"] in treadle.toml, or limit tokens instead.'
)
UNPRICED_KINDS = ("scripted", "recorded")  # models of tests, whose replies say themselves what they cost

ModelFactory = Callable[[], Awaitable[Model]]


class BudgetUsage(Struct, frozen=True):
    """Tokens, input and output together, and US dollars, where prices are known."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "BudgetUsage") -> "BudgetUsage":
        return BudgetUsage(self.tokens + other.tokens, self.cost + other.cost)


class BudgetPeriod(Struct, frozen=True):
    """The time that a budget is for: when the current one began, and the sentence that an amount of it is used up.

    With `what`, such as "a quota", models without a price are refused where the budget is in money.
    """

    start: Callable[[float], float] = lambda now: float(now // DAY * DAY)
    exhausted: Callable[[str, float], str] = lambda amount, _now: EXHAUSTED.format(amount)
    what: str = ""


SpendingReader = Callable[[float], Awaitable[BudgetUsage]]


def make_spending_reader(home: Home) -> SpendingReader:
    """Return a function that reads from a home's journal what was spent since a time."""
    stats = open_stats(home)

    async def spent(since: float) -> BudgetUsage:
        told = (await stats.ask(StatsQuery(since=since))).total.spent
        return BudgetUsage(told.tokens, told.cost or 0.0) if told else BudgetUsage()

    return spent


class Budget:
    """What may be spent in a period, and was spent: by one user, or by all users of a group."""

    def __init__(
        self,
        allowance: Allowance,
        spent_since: SpendingReader,
        clock: Callable[[], float] = time,
        period: BudgetPeriod = BudgetPeriod(),  # noqa: B008 - it is frozen
    ) -> None:
        self._allowance = allowance
        self._spent_since = spent_since
        self._clock = clock
        self._period = period
        self._looking = asyncio.Lock()
        self._in_flight = BudgetUsage()  # what requests have sent whose usage isn't known yet
        self._start: float = -1.0
        self._looked_at = 0.0
        self._first = self._last = BudgetUsage()  # what the journal said at the first and at the last look of the day
        self._own = self._since = BudgetUsage()  # what was spent here since the first and since the last

    async def check(self, model: str = "") -> None:
        """Raise where the budget is used up, or is in money and can't be kept for this model."""
        most, what = self._allowance, self._period.what
        if model and what and most.cost is not None and not _has_price(model):
            raise AllowanceSpent(NO_PRICE.format(model=model, what=what), status=429)
        spent = await self.usage() + self._in_flight
        if most.tokens is not None and spent.tokens >= most.tokens:
            raise AllowanceSpent(self._period.exhausted(f"{most.tokens:,} tokens", self._clock()), status=429)
        if most.cost is not None and spent.cost >= most.cost:
            raise AllowanceSpent(self._period.exhausted(f"${most.cost:,.2f}", self._clock()), status=429)

    def reserve(self, spent: BudgetUsage) -> None:
        """Count a request that is being sent with what it costs at least; `note` or a negative amount ends that."""
        self._in_flight += spent

    def note(self, model: str, usage: Usage) -> None:
        """Record usage of this process."""
        spent = reply_cost(model, usage)
        self._own += spent
        self._since += spent

    async def usage(self) -> BudgetUsage:
        """Return the usage of the current period.

        The larger of: the journal plus what it can't contain yet, or the previous journal plus all spent in this process.
        """
        async with self._looking:
            await self._refresh()
        told, here = self._last + self._since, self._first + self._own
        return BudgetUsage(max(told.tokens, here.tokens), max(told.cost, here.cost))

    async def _refresh(self) -> None:
        now = self._clock()
        start = self._period.start(now)
        if start == self._start and now - self._looked_at < REFRESH_SECONDS:
            return
        self._last = await self._spent_since(start)
        self._since, self._looked_at = BudgetUsage(), now
        if start != self._start:
            self._start, self._first, self._own = start, self._last, BudgetUsage()


def _has_price(model: str) -> bool:
    known = model.partition(":")[0] in UNPRICED_KINDS
    return known or calculate_cost(model, Usage(input_tokens=1, output_tokens=1)) is not None


def reply_cost(model: str, usage: Usage) -> BudgetUsage:
    """Return what a reply has cost, where its price is known."""
    return BudgetUsage(usage.total_tokens, usage.cost if usage.cost is not None else calculate_cost(model, usage) or 0.0)


class BudgetedModel:
    """A model that is called only within its budgets."""

    def __init__(self, model: Model, *budgets: Budget) -> None:
        self._model = model
        self._budgets = budgets

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
        await self.check()
        bill, deltas = _ReplyMeter(self._budgets, self.name, request), self._model.reply(request)
        try:
            async for delta in deltas:
                bill.hear(delta)
                yield delta
        except ModelError as error:
            bill.fail(error)
            raise
        finally:
            bill.close()
            close = getattr(deltas, "aclose", None)
            if close is not None:
                await close()

    async def warm(self, request: Request) -> None:
        """Have the model read what requests like this one begin with, which costs nothing."""
        await warm_model(self._model, request)

    async def check(self) -> None:
        """Raise where a budget is used up."""
        for budget in self._budgets:
            await budget.check(self.name)


class _ReplyMeter:
    """The cost of one reply: as the model reports at its end, else estimated from the request and the text received."""

    def __init__(self, budgets: Sequence[Budget], model: str, request: Request) -> None:
        self._budgets = budgets
        self._model = model
        self._sent = Usage(requests=1, input_tokens=_estimate_tokens(_request_size(request)))
        self._reserved = reply_cost(model, self._sent)
        for budget in budgets:
            budget.reserve(self._reserved)
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
            self._record(replace(self._sent, output_tokens=_estimate_tokens(self._heard or 0)))

    def _record(self, usage: Usage) -> None:
        if not self._is_paid:
            for budget in self._budgets:
                budget.reserve(BudgetUsage(-self._reserved.tokens, -self._reserved.cost))
        self._is_paid = True
        for budget in self._budgets:
            budget.note(self._model, usage)


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

    def __init__(self, make: ModelFactory, *budgets: Budget) -> None:
        self._make = make
        self._budgets = budgets

    async def __call__(self) -> Model:
        """Return the model."""
        return self.wrap(await self._make())

    def wrap(self, model: Model) -> Model:
        """Wrap a model in the budgets."""
        return wrap_in_budgets(model, self._budgets)


def limit_to_budget(
    make: ModelFactory,
    allowance: Allowance,
    spent_today: SpendingReader,
    clock: Callable[[], float] = time,
    quotas: Sequence[Budget] = (),
) -> ModelFactory:
    """Wrap a model factory in a daily budget and quotas; return it unchanged where spending is unlimited."""
    is_unlimited = allowance.tokens is None and allowance.cost is None
    budgets = [*([] if is_unlimited else [Budget(allowance, spent_today, clock)]), *quotas]
    return BudgetedModelFactory(make, *budgets) if budgets else make


def wrap_in_budgets(model: Model, budgets: Sequence[Budget]) -> Model:
    """Return a model that is asked only within budgets; in a fallback, each of its models."""
    if isinstance(model, FallbackModel):
        return model.wrap(lambda each: wrap_in_budgets(each, budgets))
    return BudgetedModel(model, *budgets) if budgets else model


async def check_budget(model: Model) -> None:
    """Raise where the model wouldn't be asked, since a budget is used up: before a run begins."""
    for each in getattr(model, "models", (model,)):
        if isinstance(each, BudgetedModel):
            await each.check()
            return


def apply_budget(make: ModelFactory, model: Model) -> Model:
    """Apply the budget of the model that `make` returns to another model."""
    return make.wrap(model) if isinstance(make, BudgetedModelFactory) else model
