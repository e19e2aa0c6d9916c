"""Quotas by user, group, month and day: what counts, whom it concerns, and what is refused."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from treadle.agent.agent import Agent
from treadle.agent.budget import DAY, Budget, BudgetedModel, BudgetPeriod, BudgetUsage, check_budget, wrap_in_budgets
from treadle.agent.quotas import Quotas, period_end, period_start
from treadle.core.errors import AllowanceSpent
from treadle.core.messages import History
from treadle.core.requests import ReplyEnded, Request, TextDelta, Traits, Usage
from treadle.home import close_homes, open_home, open_user_home
from treadle.models.fallback import FallbackModel
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.settings.schema import QuotaSettings
from treadle.stores.accounts import Allowance, User

ANNA, BEN, EVE = User("anna", groups=("staff",)), User("ben", groups=("staff", "ops")), User("eve")
MIDDLE = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def home(tmp_path):
    yield open_home(tmp_path)
    close_homes()


def spends(tokens, cost=None):
    return ScriptedReply(text="hello", usage=Usage(requests=1, input_tokens=tokens, cost=cost))


def quotas(home, clock=None, **settings):
    there = {name: QuotaSettings(**fields) for name, fields in settings.items()}
    return Quotas(there, home, lambda: [ANNA, BEN, EVE], **({"clock": clock} if clock else {}))


def asked(kept, home, person, tokens=10, cost=None, at=None):
    """A run of a user in their own home, or in another one."""
    model = wrap_in_budgets(Scripted(spends(tokens, cost)), kept.budgets_for(person))
    services = (at or open_user_home(home, person.name)).services()
    return asyncio.run(Agent(model).run("hi", journal=services, user=person.name))


def used(kept, person):
    return asyncio.run(kept.usage_of(person))


def test_a_user_has_a_quota_of_their_own(home):
    kept = quotas(home, each={"users": ("*",), "tokens": 15})
    assert [asked(kept, home, ANNA).stopped for _ in range(2)] == ["answered"] * 2
    third = asked(kept, home, ANNA)
    assert third.stopped == "failed"
    assert third.reason.startswith("Your 15 tokens of this month are used up; they begin anew on ")
    assert asked(kept, home, BEN).stopped == "answered"
    (usage,) = used(kept, ANNA)
    assert (usage.quota, usage.group, usage.period, usage.tokens, usage.token_limit) == ("each", "", "month", 20, 15)


def test_the_users_of_a_group_share_one(home):
    kept = quotas(home, team={"groups": ("staff",), "cost": 1.0})
    assert asked(kept, home, ANNA, cost=0.6).stopped == "answered"
    assert asked(kept, home, BEN, cost=0.6).stopped == "answered"
    refused = asked(kept, home, ANNA, cost=0.1)
    assert refused.reason.startswith("The group staff's $1.00 of this month are used up")
    assert asked(kept, home, EVE, cost=9).stopped == "answered"
    assert used(kept, EVE) == []
    assert used(kept, BEN)[0].cost == pytest.approx(1.2)


def test_what_other_processes_and_workers_spend_counts(home):
    others = quotas(home)
    asked(others, home, ANNA, 10)  # in her home, by another process
    asked(others, home, ANNA, 10, at=home)  # by a worker, in the server's
    asked(others, home, BEN, 10, at=home)
    kept = quotas(home, each={"users": ("anna",), "tokens": 20})
    assert asked(kept, home, ANNA).stopped == "failed"
    assert used(kept, ANNA)[0].tokens == 20


def test_several_quotas_apply_together(home):
    kept = quotas(home, all={"users": ("*",), "tokens": 1000}, ops={"groups": ("ops",), "tokens": 5, "period": "day"})
    assert len(kept.budgets_for(BEN)) == 2
    assert asked(kept, home, BEN).stopped == "answered"
    assert "The group ops's 5 tokens of this day" in asked(kept, home, BEN).reason
    assert asked(kept, home, ANNA).stopped == "answered"


def test_a_month_begins_on_its_first_day():
    assert datetime.fromtimestamp(period_start("month", MIDDLE), UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert datetime.fromtimestamp(period_end("month", MIDDLE), UTC) == datetime(2026, 12, 1, tzinfo=UTC)
    december = datetime(2026, 12, 31, 23, tzinfo=UTC).timestamp()
    assert datetime.fromtimestamp(period_end("month", december), UTC) == datetime(2027, 1, 1, tzinfo=UTC)
    assert period_end("day", MIDDLE) - period_start("day", MIDDLE) == DAY


def test_a_new_month_has_a_new_quota(home):
    now = [MIDDLE]
    kept = quotas(home, lambda: now[0], each={"users": ("*",), "tokens": 5})
    (budget,) = kept.budgets_for(EVE)
    asyncio.run(budget.check())
    budget.note("m", Usage(input_tokens=10))
    with pytest.raises(AllowanceSpent, match="2026-12-01"):
        asyncio.run(budget.check())
    now[0] = period_end("month", MIDDLE) + 1
    asyncio.run(budget.check())
    assert kept.budgets_for(EVE) == [budget]


class Unpriced:
    """A model whose price isn't known."""

    name, traits = "openai:no-such-model", Traits()

    async def reply(self, request):
        yield ReplyEnded("done", Usage(requests=1), self.name)


def test_money_without_a_price_is_refused_aloud(home):
    kept = quotas(home, each={"users": ("*",), "cost": 100.0})
    model = wrap_in_budgets(Unpriced(), kept.budgets_for(ANNA))
    with pytest.raises(AllowanceSpent, match=r'The price of openai:no-such-model isn\'t known.*\[prices\."openai:no-such-model"\]'):
        asyncio.run(check_budget(model))
    only_tokens = quotas(home, each={"users": ("*",), "tokens": 100})
    asyncio.run(check_budget(wrap_in_budgets(Unpriced(), only_tokens.budgets_for(ANNA))))


def test_a_fallback_is_checked_by_its_first_model(home):
    kept = quotas(home, each={"users": ("*",), "tokens": 5})
    model = wrap_in_budgets(FallbackModel([lambda: Scripted("a"), lambda: Scripted("b")]), kept.budgets_for(ANNA))
    asyncio.run(check_budget(model))
    kept.budgets_for(ANNA)[0].note("m", Usage(input_tokens=5))
    with pytest.raises(AllowanceSpent):
        asyncio.run(check_budget(model))
    asyncio.run(check_budget(Scripted("x")))


class Slow:
    """A model that answers when it may."""

    name, traits = "scripted", Traits()

    def __init__(self):
        self.may = asyncio.Event()
        self.asked = 0

    async def reply(self, request):
        self.asked += 1
        await self.may.wait()
        yield TextDelta("x")
        yield ReplyEnded("done", Usage(requests=1, input_tokens=100, output_tokens=5), self.name)


def test_requests_in_flight_count():
    """Of 20 runs at once, only as many ask as the quota has room for; each exceeds it by one reply at most."""

    async def nothing(since):
        return BudgetUsage()

    async def story():
        slow, budget = Slow(), Budget(Allowance(tokens=300), nothing, period=BudgetPeriod(what="a quota"))
        request = Request("x" * 350, History())  # about 100 tokens

        async def ask():
            return [delta async for delta in BudgetedModel(slow, budget).reply(request)]

        tasks = [asyncio.create_task(ask()) for _ in range(20)]
        for refused in asyncio.as_completed(tasks):
            with suppress(AllowanceSpent):
                await refused
            if sum(task.done() for task in tasks) == 17:
                break
        assert slow.asked == 3
        slow.may.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(each, AllowanceSpent) for each in results) == 17
        assert (await budget.usage()).tokens == 315
        with pytest.raises(AllowanceSpent):
            await ask()

    asyncio.run(story())
