"""Waiting for a time or an event: a run that waits is rows in its store, and goes on once, whatever dies in between."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from treadle import Agent, RunContext, Runs, allow, ask, open_home, tool
from treadle.core.entries import Awaited, Entry, Finished, Replied, Returned, Woken
from treadle.core.errors import EventError, EventNotAwaited, EventTimeout, JournalError, RunWaiting, SettingsError
from treadle.engine.setup import Services
from treadle.home import close_home
from treadle.models.scripted import calls
from treadle.stores.journal import DatabaseJournal
from treadle.stores.memory import MemoryJournal
from treadle.stores.sqlite import SqliteDatabase
from treadle.stores.waits import DatabaseWaits
from treadle.testing import Scripted

NOON = 1_800_000_000.0
HOUR = 3600.0


class Clock:
    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def home(tmp_path):
    opened = open_home(tmp_path / "home")
    yield opened
    close_home(opened)


@pytest.fixture
def services(home, clock):
    return replace(home.services(), clock=clock)


def kinds(entries: list[Entry]) -> list[str]:
    return [type(entry).__name__ for entry in entries]


def waiting_agent(function, *replies, **settings):
    return Agent(Scripted(calls((function.__name__, {})), *replies), tools=[function], name="waiter", **settings)


def sleeper(ran: list[str], seconds: float = HOUR):
    @tool(effect="read")
    async def nap(ctx: RunContext) -> str:
        """Sleep."""
        ran.append("before")
        await ctx.sleep(seconds)
        ran.append("after")
        return "rested"

    return nap


def payment(seen: list[object], **wait):
    @tool(effect="read")
    async def pay(ctx: RunContext) -> str:
        """Wait for the payment."""
        try:
            value = await ctx.wait_for_event("paid", "order-7", **wait)
        except EventTimeout as error:
            seen.append(str(error))
            return "not paid"
        seen.append(value)
        return f"paid {value['amount']}"

    return pay


def test_a_sleep_ends_the_turn_and_the_tool_goes_on_when_its_time_has_come(services, clock):
    ran: list[str] = []
    agent = waiting_agent(sleeper(ran), "Done.")

    async def story():
        first = await agent.run("Go.", run_id="r", journal=services)
        clock.at += HOUR - 1
        early = await agent.wake_due(journal=services)
        clock.at += 1
        return first, early, await agent.wake_due(journal=services), await agent.wake_due(journal=services)

    first, early, (woken,), again = asyncio.run(story())
    assert (first.stopped, first.reason) == ("waiting", "The run waits until 2027-01-15T09:00:00Z.")
    assert kinds(first.entries) == ["Opened", "Said", "Replied", "Judged", "Awaited", "Finished"]
    assert early == again == []
    assert (woken.output, woken.calls[0].result.content) == ("Done.", "rested")
    assert kinds(woken.entries)[6:] == ["Resumed", "Woken", "Returned", "Replied", "Finished"]
    assert ran == ["before", "before", "after"]
    with pytest.raises(RunWaiting, match=r"`agent.wake_due\(\)` continues it then"):
        _ = first.output


def test_a_tool_that_catches_every_exception_waits_all_the_same(services, clock):
    ran = []

    @tool(effect="read")
    async def nap(ctx: RunContext) -> str:
        """Sleep."""
        try:
            await ctx.sleep(HOUR)
        except Exception:  # noqa: BLE001 - as careful tools do
            ran.append("caught")
        ran.append("after")
        return "rested"

    agent = waiting_agent(nap, "Good morning.")

    async def main():
        waiting = await agent.run("Rest.", run_id="r", journal=services)
        assert (waiting.stopped, ran) == ("waiting", [])
        clock.at += HOUR
        return await agent.wake_due(journal=services)

    assert [result.output for result in asyncio.run(main())] == ["Good morning."]
    assert ran == ["after"]


def test_a_wait_takes_none_of_the_turns_time(services, clock):
    agent = waiting_agent(sleeper([]), "Done.")

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        clock.at += 1000 * HOUR
        return await agent.wake_due(journal=services)

    (woken,) = asyncio.run(story())
    assert woken.stopped == "answered"
    from treadle.loop.state import replay

    assert replay(woken.entries).spent.seconds == 0.0


def test_a_tool_may_wait_several_times_and_what_it_called_is_not_repeated(services, clock):
    asked: list[int] = []

    @tool(effect="read")
    def count() -> int:
        """Count."""
        asked.append(1)
        return len(asked)

    @tool(effect="write", retry="idempotent")
    async def poll(ctx: RunContext) -> list[int]:
        """Poll."""
        seen = []
        for _ in range(3):
            seen.append(await ctx.call("count"))
            await ctx.sleep(until=datetime.fromtimestamp(clock.at, UTC).timestamp() + HOUR)  # another one on each rerun
        return seen

    agent = Agent(Scripted(calls(("poll", {})), "Done."), tools=[poll, count], policy=[allow("poll")], name="waiter")

    async def story():
        result = await agent.run("Go.", run_id="r", journal=services)
        while result.stopped == "waiting":
            clock.at += HOUR
            (result,) = await agent.wake_due(journal=services)
        return result

    result = asyncio.run(story())
    assert result.calls[0].result.data == [1, 2, 3]
    assert len(asked) == 3
    assert len([entry for entry in result.entries if isinstance(entry, Finished)]) == 4


def test_an_event_is_the_value_that_was_waited_for(services, clock, home):
    seen: list[object] = []
    agent = waiting_agent(payment(seen), "Thank you.")

    async def story():
        first = await agent.run("Go.", run_id="r", journal=services)
        runs = Runs(services)
        with pytest.raises(EventNotAwaited, match="No run waits for the event 'paid' of 'order-8'"):
            await runs.send_event("paid", {"amount": 1}, key="order-8")
        due_before = await runs.due()
        sent = await runs.send_event("paid", {"amount": 12}, key="order-7", sender="bank")
        with pytest.raises(EventNotAwaited):  # it has one already
            await runs.send_event("paid", {"amount": 13}, key="order-7")
        return first, due_before, sent, await runs.due(), await agent.wake_due(journal=services)

    first, due_before, sent, due, (woken,) = asyncio.run(story())
    assert first.reason == "The run waits for the event 'paid' of 'order-7'."
    assert (due_before, sent, due) == ([], ["r"], ["r"])
    assert seen == [{"amount": 12}]
    assert woken.output == "Thank you."
    assert woken.calls[0].result.untrusted


def test_the_users_own_event_is_trusted(services):
    agent = waiting_agent(payment([]), "Thank you.")

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        await Runs(services).send_event("paid", {"amount": 12}, key="order-7", from_user=True)
        return await agent.wake_due(journal=services)

    (woken,) = asyncio.run(story())
    assert not woken.calls[0].result.untrusted


def test_a_value_that_is_not_the_users_requires_approval_of_what_is_done_with_it(services):
    @tool(effect="write")
    def ship(place: str) -> str:
        """Ship."""
        return "shipped"

    replies = (calls(("pay", {})), calls(("ship", {"place": "Oslo"})), "Done.")

    def run(from_user):
        agent = Agent(Scripted(*replies), tools=[payment([]), ship], policy=[allow("ship")], name="waiter")

        async def story():
            run_id = f"r{from_user}"
            await agent.run("Go.", run_id=run_id, journal=services)
            await Runs(services).send_event("paid", {"amount": 12, "place": "Oslo"}, key="order-7", from_user=from_user)
            (woken,) = await agent.wake_due(journal=services)
            return woken.stopped

        return asyncio.run(story())

    assert (run(False), run(True)) == ("waiting", "answered")


def test_an_event_that_does_not_come_in_time_is_a_problem_that_a_tool_can_catch(services, clock):
    seen: list[object] = []
    agent = waiting_agent(payment(seen, timeout=HOUR), "I see.")

    async def story():
        first = await agent.run("Go.", run_id="r", journal=services)
        clock.at += HOUR
        return first, await agent.wake_due(journal=services)

    first, (woken,) = asyncio.run(story())
    assert first.reason.endswith("until 2027-01-15T09:00:00Z at the latest.")
    assert seen == ["The event 'paid' of 'order-7' hasn't come by 2027-01-15T09:00:00Z."]
    assert woken.calls[0].result.content == "not paid"


@tool(effect="write", retry="once")
async def order(ctx: RunContext, item: str = "tea") -> str:
    """Order, and wait for the delivery."""
    ordered.append(item)
    return ctx.defer(event="delivered", key=item, timeout=100 * HOUR)


ordered: list[str] = []


def test_a_deferred_result_is_the_events_value_and_the_tool_runs_once(services, clock):
    ordered.clear()
    agent = waiting_agent(order, "It is here.", policy=[allow("order")])

    async def story():
        first = await agent.run("Go.", run_id="r", journal=services)
        again = await agent.resume("r", journal=services)
        await Runs(services).send_event("delivered", {"boxes": 2}, key="tea")
        return first, again, await agent.wake_due(journal=services)

    first, again, (woken,) = asyncio.run(story())
    assert (first.stopped, again.stopped, woken.output) == ("waiting", "waiting", "It is here.")
    result = woken.calls[0].result
    assert (result.data, result.content, result.untrusted, result.problem) == ({"boxes": 2}, '{"boxes":2}', True, None)
    assert ordered == ["tea"]


def test_a_deferred_result_that_does_not_come_is_a_problem_the_model_reads(services, clock):
    agent = waiting_agent(order, "Hm.", policy=[allow("order")])

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        clock.at += 100 * HOUR
        return await agent.wake_due(journal=services)

    (woken,) = asyncio.run(story())
    result = woken.calls[0].result
    assert (result.problem, result.content) == ("timeout", "The event 'delivered' of 'tea' hasn't come by 2027-01-19T12:00:00Z.")


def test_a_deferred_time_is_told_to_the_model(services, clock):
    @tool(effect="write")
    def remind(ctx: RunContext) -> str:
        """Remind."""
        return ctx.defer(until=datetime.fromtimestamp(NOON + HOUR, UTC))

    agent = waiting_agent(remind, "Time for tea.", policy=[allow("remind")])

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        clock.at += HOUR
        return await agent.wake_due(journal=services)

    (woken,) = asyncio.run(story())
    assert woken.calls[0].result.content == "The time has come: it is 2027-01-15T09:00:00Z."


def test_a_large_event_is_shortened_as_any_result_is(services):
    agent = waiting_agent(order, "It is here.", policy=[allow("order")])

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        await Runs(services).send_event("delivered", "x" * 100_000, key="tea")
        return await agent.wake_due(journal=services)

    (woken,) = asyncio.run(story())
    assert len(woken.calls[0].result.content) < 50_000
    assert next(entry.kept for entry in woken.entries if isinstance(entry, Returned))


def test_a_tool_that_may_run_once_cannot_wait_in_the_middle(services):
    @tool(effect="write", retry="once")
    async def nap(ctx: RunContext) -> str:
        """Sleep."""
        await ctx.sleep(HOUR)
        return ""

    agent = waiting_agent(nap, "Hm.", policy=[allow("nap")])
    result = asyncio.run(agent.run("Go.", journal=services))
    assert "Return `ctx.defer(…)` at its end instead" in result.calls[0].result.content


def test_without_a_database_only_short_sleeps_are_possible():
    ran: list[str] = []
    for seconds, said in ((0.0, "rested"), (HOUR, "run the agent with `journal=True`")):
        result = asyncio.run(waiting_agent(sleeper(ran, seconds), "Done.").run("Go."))
        assert said in result.calls[0].result.content
    assert "for the event 'paid'" in asyncio.run(waiting_agent(payment([]), "Hm.").run("Go.")).calls[0].result.content
    deferring = waiting_agent(order, "Hm.", policy=[allow("order")])
    assert "`journal=True`" in asyncio.run(deferring.run("Go.", journal=MemoryJournal())).calls[0].result.content

    @tool(effect="read")
    def soon(ctx: RunContext) -> str:
        """Soon."""
        return ctx.defer(seconds=0.001)

    assert "The time has come" in asyncio.run(waiting_agent(soon, "Done.").run("Go.")).calls[0].result.content
    with pytest.raises(SettingsError, match="Only runs in a database can wait"):
        asyncio.run(deferring.wake_due(journal=MemoryJournal()))


def test_a_tool_that_does_something_else_when_it_is_called_anew_is_refused(services, clock):
    ran: list[int] = []

    @tool(effect="read")
    async def fickle(ctx: RunContext) -> str:
        """Fickle."""
        ran.append(1)
        await ctx.wait_for_event("first" if len(ran) == 1 else "second")
        return ""

    agent = waiting_agent(fickle, "Hm.")

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        return await agent.resume("r", journal=services)

    result = asyncio.run(story())
    assert "did something else than before" in result.calls[0].result.content
    assert asyncio.run(services.waits.waiting()) == []  # the turn is over, and so is what waited in it


def test_calls_beside_one_that_waits_go_on_and_an_approval_may_be_pending_too(services, clock):
    @tool(effect="write")
    def write() -> str:
        """Write."""
        return "written"

    agent = Agent(
        Scripted(calls(("order", {}), ("write", {})), "Both."),
        tools=[order, write],
        policy=[allow("order"), ask("write")],
        name="waiter",
    )

    async def story():
        first = await agent.run("Go.", run_id="r", journal=services)
        await Runs(services).send_event("delivered", 1, key="tea")
        (second,) = await agent.wake_due(journal=services)
        await agent.approve("r", second.approvals[0].call_id, journal=services)
        return first, second, await agent.resume("r", journal=services)

    first, second, last = asyncio.run(story())
    assert len(first.approvals) == len(second.approvals) == 1
    assert second.stopped == "waiting"
    assert [call.result.content for call in last.calls] == ["1", "written"]


def test_a_nested_run_may_wait_and_the_outermost_is_woken(services, clock):
    inner = Agent(Scripted(calls(("nap", {})), "Rested."), tools=[sleeper([])], name="inner")
    outer = Agent(Scripted(calls(("rest", {"prompt": "Rest."})), "Done."), tools=[inner.as_tool("rest", "Rests.")], name="outer")

    async def story():
        first = await outer.run("Go.", run_id="r", journal=services)
        clock.at += HOUR
        return first, await inner.wake_due(journal=services), await outer.wake_due(journal=services)

    first, none, (woken,) = asyncio.run(story())
    assert (first.stopped, first.reason) == ("waiting", "A nested run waits for a time or an event.")
    assert none == []
    assert (woken.output, woken.calls[0].result.content) == ("Done.", "Rested.")


def test_a_tool_may_call_one_whose_result_comes_later(services):
    ordered.clear()

    def agent(retry):
        @tool(effect="write", retry=retry)
        async def twice(ctx: RunContext) -> str:
            """Order twice."""
            return f"{await ctx.call('order', item='tea')} {await ctx.call('order', item='milk')}"

        says = Scripted(calls(("twice", {})), "Done.")
        return Agent(says, tools=[twice, order], policy=[allow("*")], name="waiter")

    async def story():
        rerun = agent("idempotent")
        await rerun.run("Go.", run_id="r", journal=services)
        for item in ("tea", "milk"):
            await Runs(services).send_event("delivered", item.upper(), key=item, from_user=True)
            (woken,) = await rerun.wake_due(journal=services)
        return woken, await agent("once").run("Go.", run_id="o", journal=services)

    woken, refused = asyncio.run(story())
    assert woken.calls[0].result.content == "TEA MILK"
    assert ordered == ["tea", "milk", "tea"]
    assert "comes later, which twice can't wait for" in refused.calls[0].result.content


def test_a_background_tool_may_wait(services, clock):
    @tool(effect="read", background=True)
    async def watch(ctx: RunContext) -> str:
        """Watch."""
        await ctx.sleep(HOUR)
        return ctx.defer(seconds=HOUR)

    agent = Agent(Scripted(calls(("watch", {})), "Started.", "Seen."), tools=[watch], name="waiter")

    async def story():
        results = [await agent.run("Go.", run_id="r", journal=services)]
        for _ in range(2):
            clock.at += HOUR
            results += await agent.wake_due(journal=services)
        return results

    results = asyncio.run(story())
    assert [result.stopped for result in results] == ["waiting", "waiting", "answered"]
    assert results[-1].output == "Seen."


def test_a_run_that_cannot_be_woken_is_logged_and_the_others_go_on(services, clock, caplog):
    agent = waiting_agent(sleeper([]), calls(("nap", {})), "Done.")

    async def story():
        for run_id in ("a", "b"):
            await agent.run("Go.", run_id=run_id, journal=services)
        clock.at += HOUR
        return await agent.wake_due(journal=replace(services, journal=Unreadable(services.journal)))

    class Unreadable(DatabaseJournal):
        def __init__(self, journal) -> None:
            super().__init__(journal.database)

        async def read(self, run_id: str):
            if run_id == "a":
                raise JournalError("The disk is gone.")
            return await super().read(run_id)

    (woken,) = asyncio.run(story())
    assert (woken.run_id, woken.output) == ("b", "Done.")
    assert "Run a couldn't be woken: The disk is gone." in caplog.text


def test_a_cancelled_run_waits_for_nothing_any_more(services, clock):
    agents = (waiting_agent(sleeper([]), "x"), waiting_agent(order, "x", policy=[allow("order")]))

    async def story():
        for number, agent in enumerate(agents):
            await agent.run("Go.", run_id=f"r{number}", journal=services)
            await Runs(services).cancel(f"r{number}")
        clock.at += 200 * HOUR
        return await Runs(services).due(), await services.waits.waiting(), await agents[0].resume("r1", journal=services)

    due, left, over = asyncio.run(story())
    assert (due, left) == ([], [])
    assert over.calls[0].result.content == "Cancelled while it was waiting for its result; its work had been done."


def test_a_fork_waits_as_well_and_one_before_a_message_does_not(services, clock):
    agent = waiting_agent(order, "It is here.", policy=[allow("order")])

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        await agent.fork("r", journal=services)
        waiting = await services.waits.waiting()
        await agent.steer("r", "And?", journal=services)
        await agent.regenerate("r", journal=services)
        return waiting, await services.waits.waiting()

    waiting, after = asyncio.run(story())
    assert len(waiting) == len(after) == 2


def test_a_message_to_a_waiting_run_is_read_when_it_goes_on(services, clock):
    agent = waiting_agent(sleeper([]), "Done.")

    async def story():
        await agent.run("Go.", run_id="r", journal=services)
        assert await agent.steer("r", "Hurry.", journal=services)
        clock.at += HOUR
        return await agent.wake_due(journal=services)

    (woken,) = asyncio.run(story())
    assert [message.text for message in woken.history if message.role == "person"] == ["Go.", "Hurry."]


def test_what_an_event_may_be(services):
    async def story():
        runs = Runs(services)
        for name, value, key in (("", 1, ""), ("a\0", 1, ""), ("a", 1, "k" * 201), ("a", object, ""), ("a", "x" * 300_000, "")):
            with pytest.raises(EventError):
                await runs.send_event(name, value, key=key)
        with pytest.raises(EventNotAwaited, match="only runs in a database can"):
            await Runs(replace(services, waits=None)).send_event("a")
        assert await Runs(replace(services, waits=None)).due() == []

    asyncio.run(story())


class Meeting:
    """A store of waits that has all of its users see what is due before any of them goes on."""

    def __init__(self, waits, barrier: asyncio.Barrier) -> None:
        self._waits, self._barrier = waits, barrier

    def __getattr__(self, name: str):
        return getattr(self._waits, name)

    async def due(self, *how, **more):
        found = await self._waits.due(*how, **more)
        await self._barrier.wait()
        return found


def test_of_several_processes_that_wake_a_run_one_goes_on(services, clock, home):
    ran: list[str] = []
    ordered.clear()
    replies = (calls(("order", {})), "Done.")

    def agent(*first):
        return Agent(Scripted(*first, *replies), tools=[sleeper(ran), order], policy=[allow("order")], name="waiter")

    async def story():
        await agent(calls(("nap", {}))).run("Go.", run_id="r", journal=services)
        clock.at += HOUR
        barrier = asyncio.Barrier(3)
        databases = [SqliteDatabase(home.database.path) for _ in range(3)]
        places = [Services(DatabaseJournal(each), clock=clock, waits=Meeting(DatabaseWaits(each), barrier)) for each in databases]
        try:
            return await asyncio.gather(*[agent().wake_due(journal=place) for place in places])
        finally:
            for each in databases:
                each.close()

    woken = asyncio.run(story())
    assert {result.stopped for results in woken for result in results} == {"waiting"}  # for what was ordered
    assert (ran.count("after"), ordered) == (1, ["tea"])


@tool(effect="write", retry="keyed")
async def report(ctx: RunContext) -> str:
    """Report, and wait for the confirmation, twice."""
    first = await ctx.wait_for_event("confirmed", "1")
    await ctx.sleep(HOUR)
    return f"{first} {await ctx.wait_for_event('confirmed', '2', timeout=100 * HOUR)}"


def test_killed_after_any_entry_no_wait_is_lost_and_nothing_is_done_twice(home, clock):
    """Each kill is tried twice: with the event sent before the run is resumed, and after."""
    replies = [calls(("nap", {}), ("order", {})), calls(("report", {})), "All done."]

    services = replace(home.services(audit=False), clock=clock)

    async def go_on(run_id, kept, *, early):
        clock.at = kept[-1].at if kept else NOON
        left = replies[sum(isinstance(entry, Replied) for entry in kept) :]
        agent = Agent(Scripted(*left), tools=[sleeper([]), order, report], policy=[allow("*", untrusted=True)], name="waiter")
        if kept:
            await home.journal.append(run_id, 0, kept)
            if early:
                await send_all()
            result = await agent.resume(run_id, journal=services)
        else:
            result = await agent.run("Go.", run_id=run_id, journal=services)
        while result.stopped == "waiting":
            for approval in result.approvals:
                await agent.settle(run_id, approval.call_id, "again", journal=services)
            clock.at += HOUR
            await send_all()
            due = await agent.wake_due(journal=services)
            result = due[0] if due else await agent.resume(run_id, journal=services)
        assert await services.waits.waiting() == []
        return result

    async def send_all():
        for waiting in await services.waits.waiting():
            if waiting.wait.event:
                with suppress(EventNotAwaited):
                    await Runs(services).send_event(waiting.wait.event, waiting.wait.key, key=waiting.wait.key)

    whole = asyncio.run(go_on("whole", [], early=False))
    assert [call.result.content for call in whole.calls] == ["rested", "tea", "1 2"]
    assert kinds(whole.entries).count("Awaited") == 5
    for number in range(2, len(whole.entries)):
        for early in (False, True):
            kept = whole.entries[:number]
            ordered.clear()
            resumed = asyncio.run(go_on(f"{number}{early}", kept, early=early))
            assert resumed.stopped == "answered", number
            assert [call.result.content for call in resumed.calls] == ["rested", "tea", "1 2"], number
            done = any(isinstance(entry, Awaited) and not entry.within for entry in kept)
            assert ordered == ([] if done else ["tea"]), number
            ends = [entry.result.call_id for entry in resumed.entries if isinstance(entry, Woken | Returned)]
            assert len(ends) == len(set(ends)) == 7, number
