"""Quotas: what a user, or all users of a group together, may spend in a month or a day, in tokens and US dollars.

They are counted from the statistics of each user's home, and of the server's own home for the runs that workers execute.
All runs of a process share one `Budget` for each user or group, so that requests in flight count at once.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from time import time
from typing import Literal

from msgspec import Struct

from treadle.admin.stats import open_stats
from treadle.agent.budget import DAY, Budget, BudgetPeriod, BudgetUsage
from treadle.home import Home, open_user_home
from treadle.settings.schema import QuotaSettings
from treadle.stores.accounts import Allowance, User
from treadle.stores.stats.values import StatsQuery

USED_UP = "{who} {amount} of this {period} are used up; they begin anew on {day} (UTC)."

ListUsers = Callable[[], Sequence[User]]


class QuotaUsage(Struct, frozen=True):
    """A quota that applies to a user: its limits, and what was used in the current period.

    `group` is empty for a quota of the user's own; `since` and `until` are seconds since 1970.
    """

    quota: str
    group: str
    period: Literal["day", "month"]
    since: float
    until: float
    tokens: int
    cost: float
    token_limit: int | None
    cost_limit: float | None


def period_start(period: Literal["day", "month"], now: float) -> float:
    """Return when the current day or month began, in UTC."""
    if period == "day":
        return float(now // DAY * DAY)
    return datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()


def period_end(period: Literal["day", "month"], now: float) -> float:
    """Return when the next day or month begins, in UTC."""
    return period_start(period, period_start(period, now) + (DAY if period == "day" else 32 * DAY))


class Quotas:
    """The quotas of a server or worker. `users` lists the users, whose groups count as they are now."""

    def __init__(
        self, settings: Mapping[str, QuotaSettings], home: Home, users: ListUsers, clock: Callable[[], float] = time
    ) -> None:
        self._settings = settings
        self._home = home
        self._users = users
        self._clock = clock
        self._budgets: dict[tuple[str, str, str], Budget] = {}

    def budgets_for(self, person: User) -> list[Budget]:
        """Return the budgets that a user's requests count against."""
        return [self._budget(name, quota, person.name, group) for name, quota, group in self._matching(person)]

    async def usage_of(self, person: User) -> list[QuotaUsage]:
        """Return the quotas of a user and what is used of them."""
        found: list[QuotaUsage] = []
        for name, quota, group in self._matching(person):
            spent = await self._budget(name, quota, person.name, group).usage()
            now = self._clock()
            since, until = period_start(quota.period, now), period_end(quota.period, now)
            limits = quota.tokens, quota.cost
            found.append(QuotaUsage(name, group, quota.period, since, until, spent.tokens, round(spent.cost, 6), *limits))
        return found

    def _matching(self, person: User) -> list[tuple[str, QuotaSettings, str]]:
        """Return the quotas of a user: with the group that each is for, or none."""
        found: list[tuple[str, QuotaSettings, str]] = []
        for name, quota in self._settings.items():
            if any(fnmatchcase(person.name, pattern) for pattern in quota.users):
                found.append((name, quota, ""))
            found += [(name, quota, group) for group in quota.groups if group in person.groups]
        return found

    def _budget(self, name: str, quota: QuotaSettings, user: str, group: str) -> Budget:
        key = name, group, "" if group else user
        if key not in self._budgets:

            async def spent(since: float) -> BudgetUsage:
                names = [each.name for each in self._users() if group in each.groups] if group else [user]
                return await self._spent_by(names, since)

            self._budgets[key] = Budget(
                Allowance(tokens=quota.tokens, cost=quota.cost), spent, self._clock, self._period(quota, group)
            )
        return self._budgets[key]

    def _period(self, quota: QuotaSettings, group: str) -> BudgetPeriod:
        def exhausted(amount: str, now: float) -> str:
            day = datetime.fromtimestamp(period_end(quota.period, now), UTC).strftime("%Y-%m-%d")
            return USED_UP.format(who=f"The group {group}'s" if group else "Your", amount=amount, period=quota.period, day=day)

        return BudgetPeriod(lambda now: period_start(quota.period, now), exhausted, "a quota")

    async def _spent_by(self, names: Sequence[str], since: float) -> BudgetUsage:
        total = BudgetUsage()
        for name in names:
            total += await _spent_in(open_user_home(self._home, name), StatsQuery(since=since))
            total += await _spent_in(self._home, StatsQuery(since=since, user=name))
        return total


async def _spent_in(home: Home, query: StatsQuery) -> BudgetUsage:
    if not home.database.exists():
        return BudgetUsage()
    told = (await open_stats(home).ask(query)).total.spent
    return BudgetUsage(told.tokens, told.cost or 0.0) if told else BudgetUsage()
