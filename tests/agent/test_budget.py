"""A day's budget: what counts, when it is looked up, and what happens when it is used up."""

import asyncio
from contextlib import suppress

import msgspec
import pytest

from treadle.agent.agent import Agent
from treadle.agent.budget import DAY, Budget, BudgetedModel, BudgetUsage, apply_budget, limit_to_budget, make_spending_reader
from treadle.core.calls import Written
from treadle.core.errors import AllowanceSpent, ModelRefused, ModelUnavailable
from treadle.core.messages import History, person_message
from treadle.core.requests import CallDelta, CallDone, ReplyEnded, Request, TextDelta, ThinkingDelta, ToolSpec, Usage
from treadle.home import close_homes, open_home
from treadle.models.fallback import FallbackModel
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.stores.accounts import Allowance

NOON = 20_000 * DAY + DAY / 2
NOTHING = BudgetUsage()
REQUEST = Request("", History())


def spends(tokens, cost=None):
    return ScriptedReply(text="hello", usage=Usage(requests=1, input_tokens=tokens, cost=cost))


class Clock:
    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


class Journal:
    """What was spent elsewhere, and how often somebody looked."""

    def __init__(self, spent=NOTHING):
        self.spent = spent
        self.since = []

    async def __call__(self, since):
        self.since.append(since)
        return self.spent


async def heard(model):
    return [delta async for delta in model.reply(REQUEST)]


def gives(model):
    async def make():
        return model

    return make


def bounded(model, allowance, journal, clock):
    return asyncio.run(limit_to_budget(gives(model), allowance, journal, clock)())


def test_without_a_limit_nothing_is_looked_up():
    make = gives(Scripted("hello"))
    assert limit_to_budget(make, Allowance(), Journal()) is make


def test_a_model_is_the_same_within_a_budget():
    model = Scripted("hello")
    made = bounded(model, Allowance(tokens=10), Journal(), Clock())
    assert (made.name, made.traits) == (model.name, model.traits)
    assert asyncio.run(heard(made))[0] == TextDelta("hello")


@pytest.mark.parametrize(
    ("allowance", "words"),
    [
        (Allowance(tokens=100_000), "Your 100,000 tokens of today are used up; they begin anew at midnight (UTC)."),
        (Allowance(cost=5), "Your $5.00 of today are used up; they begin anew at midnight (UTC)."),
    ],
)
def test_a_budget_that_is_used_up_is_a_sentence_and_the_model_is_not_asked(allowance, words):
    model = Scripted("hello")
    made = bounded(model, allowance, Journal(BudgetUsage(100_000, 5.0)), Clock())
    with pytest.raises(ModelRefused) as refused:
        asyncio.run(heard(made))
    assert (str(refused.value), refused.value.status, refused.value.retryable) == (words, 429, False)
    assert model.requests == []


def test_nothing_at_all_may_be_spent_either():
    made = bounded(Scripted("hello"), Allowance(tokens=0), Journal(), Clock())
    with pytest.raises(ModelRefused, match="Your 0 tokens of today"):
        asyncio.run(heard(made))


def test_what_is_spent_here_counts_before_the_journal_says_so():
    clock, journal = Clock(), Journal(BudgetUsage(40))
    made = bounded(Scripted(spends(30), spends(30), "never"), Allowance(tokens=100), journal, clock)
    asyncio.run(heard(made))
    asyncio.run(heard(made))
    with pytest.raises(ModelRefused):
        asyncio.run(heard(made))
    assert journal.since == [20_000 * DAY]  # one look for all three


def test_the_journal_is_looked_at_again_after_a_few_seconds():
    clock, journal = Clock(), Journal()
    made = bounded(Scripted(*[spends(1)] * 3), Allowance(tokens=100), journal, clock)
    asyncio.run(heard(made))
    clock.now += 6
    journal.spent = BudgetUsage(99)
    asyncio.run(heard(made))
    with pytest.raises(ModelRefused):
        asyncio.run(heard(made))
    assert len(journal.since) == 2


def test_what_the_journal_never_hears_of_counts_all_the_same():
    clock, journal = Clock(), Journal(BudgetUsage(10))
    made = bounded(Scripted(*[spends(50)] * 3), Allowance(tokens=100), journal, clock)
    asyncio.run(heard(made))
    clock.now += 6
    asyncio.run(heard(made))
    clock.now += 6
    with pytest.raises(ModelRefused):
        asyncio.run(heard(made))


def test_at_midnight_it_begins_anew():
    clock, journal = Clock(), Journal(BudgetUsage(100))
    made = bounded(Scripted("hello"), Allowance(tokens=100), journal, clock)
    with pytest.raises(ModelRefused):
        asyncio.run(heard(made))
    clock.now, journal.spent = 20_001 * DAY + 1.0, BudgetUsage()
    assert asyncio.run(heard(made))
    assert journal.since == [20_000 * DAY, 20_001 * DAY]


def test_what_a_failed_request_cost_counts_and_what_is_not_known_does_not():
    paid = ModelUnavailable("Too many.", usage=Usage(requests=1, input_tokens=60))
    clock, journal = Clock(), Journal()
    made = bounded(Scripted(paid, ModelUnavailable("Gone."), spends(40), "never"), Allowance(tokens=100), journal, clock)
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            asyncio.run(heard(made))
    asyncio.run(heard(made))
    with pytest.raises(ModelRefused):
        asyncio.run(heard(made))


def test_dollars_are_as_the_model_says_or_as_prices_say():
    budget = Budget(Allowance(cost=1), Journal(), Clock())

    async def spend(model, usage):
        await budget.check()
        budget.note(model, usage)

    asyncio.run(spend("mine", Usage(input_tokens=10**9)))
    asyncio.run(spend("mine", Usage(cost=0.4)))
    asyncio.run(spend("openai:gpt-4o-mini", Usage(input_tokens=10_000_000)))
    with pytest.raises(ModelRefused):
        asyncio.run(budget.check())


def test_many_who_ask_at_once_look_once():
    journal = Journal()
    made = bounded(Scripted(*["hello"] * 20), Allowance(tokens=100), journal, Clock())

    async def all_at_once():
        await asyncio.gather(*[heard(made) for _ in range(20)])

    asyncio.run(all_at_once())
    assert len(journal.since) == 1


def test_a_model_that_is_named_is_within_the_same_budget():
    journal = Journal()
    make = limit_to_budget(gives(Scripted(spends(100))), Allowance(tokens=100), journal, Clock())
    asyncio.run(heard(asyncio.run(make())))
    with pytest.raises(ModelRefused):
        asyncio.run(heard(apply_budget(make, Scripted("hello"))))
    free = Scripted("hello")
    assert apply_budget(gives(free), free) is free


def test_each_model_of_a_fallback_is_within_the_same_budget():
    class Down(Scripted):
        async def reply(self, request):
            raise ModelUnavailable("Down.", status=503)
            yield

    models = Down(), Scripted(spends(10), name="up:b")
    made = bounded(FallbackModel([lambda model=model: model for model in models]), Allowance(tokens=10), Journal(), Clock())

    async def twice():
        first = await heard(made)
        with pytest.raises(AllowanceSpent, match="used up"):
            await heard(made)
        return first

    assert TextDelta("hello") in asyncio.run(twice())
    assert len(models[1].requests) == 1


def test_whoever_stops_listening_closes_the_model_too():
    closed = []

    async def reply():
        try:
            yield TextDelta("one")
            yield ReplyEnded("done")
        finally:
            closed.append(True)

    made = bounded(Scripted(reply()), Allowance(tokens=1), Journal(), Clock())

    async def listen():
        deltas = made.reply(REQUEST)
        await anext(deltas)
        await deltas.aclose()

    asyncio.run(listen())
    assert closed == [True]


async def left_after(made, request, deltas):
    """Hear so many pieces of a reply, and leave."""
    reply = made.reply(request)
    for _ in range(deltas):
        await anext(reply)
    await reply.aclose()


def test_whoever_leaves_before_the_end_pays_for_what_was_asked_and_heard_as_an_estimate():
    spec = ToolSpec("look", "Look.", {"type": "object"})
    request = Request("x" * 350, History([person_message("y" * 350)]), (spec,), note="z" * 35)
    reply = [ThinkingDelta("t" * 70), TextDelta("w" * 70), CallDelta("c", "l" * 7), CallDone(Written("c", "look", "a" * 70))]
    noted = Noted()
    asyncio.run(left_after(BudgetedModel(Scripted([*reply, ReplyEnded("done")]), noted), request, 4))
    tools = len(msgspec.json.encode((spec,)))
    assert noted.usages == [Usage(requests=1, input_tokens=round((350 + 350 + 35 + tools) / 3.5), output_tokens=62)]


def test_whoever_leaves_at_the_last_word_has_spent_it(tmp_path):
    words = [TextDelta("word " * 70), ReplyEnded("done", Usage(requests=1, output_tokens=100))]
    made = bounded(Scripted(words, words, "never"), Allowance(tokens=150), Journal(), Clock())
    asyncio.run(left_after(made, REQUEST, 1))
    asyncio.run(left_after(made, REQUEST, 1))
    with pytest.raises(ModelRefused):
        asyncio.run(heard(made))


def test_what_is_stopped_before_anything_comes_was_asked_all_the_same():
    async def silent():
        await asyncio.Event().wait()
        yield TextDelta("never")

    async def stopped():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await heard(BudgetedModel(Scripted(silent()), noted))

    noted = Noted()
    asyncio.run(stopped())
    assert [each.requests for each in noted.usages] == [1]


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        ([TextDelta("x" * 35), ModelUnavailable("Lost.")], Usage(requests=1, output_tokens=10)),
        ([TextDelta("x" * 35), ModelUnavailable("Lost.", usage=Usage(output_tokens=7))], Usage(output_tokens=7)),
        ([ModelUnavailable("Lost.")], Usage()),
        ([TextDelta("x" * 35)], Usage(requests=1, output_tokens=10)),
    ],
)
def test_a_reply_that_breaks_off_is_paid_for_once(reply, usage):
    noted = Noted()
    with suppress(ModelUnavailable):
        asyncio.run(heard(BudgetedModel(Scripted(reply), noted)))
    assert noted.usages == [usage]


class Noted(Budget):
    """A budget without end, of which is seen what is noted."""

    def __init__(self):
        super().__init__(Allowance(), Journal(), Clock())
        self.usages = []

    def note(self, model, usage):
        self.usages.append(usage)


def test_a_model_whose_replies_are_no_generator_will_do():
    class Plain:
        name, traits = "plain", Scripted().traits

        def reply(self, request):
            return Replies()

    class Replies:
        def __init__(self):
            self.left = [TextDelta("one"), ReplyEnded("done")]

        def __aiter__(self):
            return self

        async def __anext__(self):
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    assert len(asyncio.run(heard(bounded(Plain(), Allowance(tokens=5), Journal(), Clock())))) == 2


def test_runs_in_a_home_are_what_was_spent_there(tmp_path):
    async def spend():
        home = open_home(tmp_path)
        assert await make_spending_reader(home)(0.0) == BudgetUsage()
        await Agent(Scripted(spends(70, cost=0.5))).run("Hello", journal=home.services())
        return await make_spending_reader(home)(0.0), await make_spending_reader(home)(4e9)

    try:
        assert asyncio.run(spend()) == (BudgetUsage(70, 0.5), BudgetUsage())
    finally:
        close_homes()
