"""Turns that are under way: how they begin, end, and are let go of."""

import asyncio

import pytest
from starlette.exceptions import HTTPException

from server.runs.test_sse import agent, held, living, over, received, turn
from treadle import Agent
from treadle.core.entries import Finished
from treadle.core.errors import JournalError, RunTaken
from treadle.models.scripted import Scripted
from treadle.server.limits import RunLimiter, reserve_slot
from treadle.server.runs.live_turns import PendingTurn
from treadle.stores.accounts import Allowance, User


async def until(true):
    async with asyncio.timeout(120):
        while not true():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.001)


def test_a_run_is_under_way_only_once(tmp_path):
    async def beginning():
        async with living(tmp_path) as live:
            await live.begin(turn(agent([held(asyncio.Event())]), "first"))
            with pytest.raises(RunTaken, match="under way already"):
                await live.begin(turn(agent(["x"]), "second"))
            return live.is_under_way("r"), live.is_under_way("other"), live.broadcast("other")

    assert asyncio.run(beginning()) == (True, False, None)


def test_what_keeps_a_turn_from_beginning_is_told_to_whoever_began_it(tmp_path):
    async def breaks(services, watchers):
        raise JournalError("The disk is full.")

    async def beginning():
        async with living(tmp_path) as live:
            with pytest.raises(JournalError, match="disk is full"):
                await live.begin(PendingTurn("r", "rivers", agent(["x"]), breaks))
            return live.is_under_way("r"), live.broadcast("r"), dict(live.figures.ended), +live.figures.under_way

    assert asyncio.run(beginning()) == (False, None, {("rivers", "failed"): 1}, {})


def test_what_treadle_says_of_a_turn_that_broke_is_told_without_secrets(tmp_path):
    made = agent(["x"])

    async def breaks(services, watchers):
        await made.run("Hello", run_id="r", journal=services, watchers=watchers)
        raise JournalError("The disk of ghp_abcdefghijklmnopqrstuvwxyz0123456789 is full.")

    async def beginning():
        async with living(tmp_path) as live:
            await live.begin(PendingTurn("r", "rivers", made, breaks))
            broadcast = live.broadcast("r")
            await over(live)
            return [item.data for item in broadcast.since(0)[1]][-1].decode()

    reply = asyncio.run(beginning())
    assert '"stopped":"failed"' in reply
    assert "The disk of [redacted" in reply


def test_whoever_began_a_turn_may_leave_before_it_has_begun(tmp_path):
    async def beginning():
        async with living(tmp_path) as live:
            go_on = asyncio.Event()
            made = agent(["Yes."])

            async def late(services, watchers):
                await go_on.wait()
                return await made.run("Hello", run_id="r", journal=services, watchers=watchers)

            asking = asyncio.create_task(live.begin(PendingTurn("r", "rivers", made, late)))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            go_on.set()
            await over(live)
            return (await received(live))[-1][1]["message"]

    assert asyncio.run(beginning()) == "Yes."


def test_a_turn_that_is_cancelled_before_it_began_never_does(tmp_path):
    async def beginning():
        async with living(tmp_path) as live:

            async def never(services, watchers):
                await asyncio.Event().wait()

            asking = asyncio.create_task(live.begin(PendingTurn("r", "rivers", agent(["x"]), never)))
            await asyncio.sleep(0)
            cancelled = await live.cancel("r")
            with pytest.raises(RunTaken, match="cancelled before it began"):
                await asking
            return cancelled, await live.cancel("r")

    assert asyncio.run(beginning()) == (True, False)


def test_when_the_server_stops_turns_are_left_as_after_a_crash(tmp_path):
    async def stopping():
        async with living(tmp_path) as live:
            await live.begin(turn(agent([held(asyncio.Event())]), "first"))
        async with living(tmp_path) as live:
            entries = await live.home.journal.read("r")
            made = agent(["Yes."])
            again = PendingTurn(
                "r", "rivers", made, lambda services, watchers: made.resume("r", journal=services, watchers=watchers), len(entries)
            )
            await live.begin(again)
            await over(live)
            return entries, await live.home.journal.read("r")

    left, after = asyncio.run(stopping())
    assert not any(isinstance(entry, Finished) for entry in left)
    assert (after[-1].stopped, after[-1].text) == ("answered", "Yes.")


def test_readers_leave_when_the_server_begins_to_stop(tmp_path):
    async def stopping():
        async with living(tmp_path) as live:
            stop = asyncio.Event()
            live.heed(None)
            live.heed(stop)
            live.heed(stop)
            await live.begin(turn(agent([held(asyncio.Event())]), "first"))
            reader = asyncio.create_task(received(live))
            await until(lambda: live.figures.readers)
            stop.set()
            return [event["event"] for _, event in await reader], live.is_under_way("r")

    told, is_under_way = asyncio.run(stopping())
    assert "reply" not in told
    assert is_under_way


def test_events_are_kept_for_a_while_and_then_let_go(tmp_path):
    async def waiting():
        async with living(tmp_path, seconds=0.01) as live:
            await live.begin(turn(agent(["Yes."]), "first"))
            broadcast = live.broadcast("r")
            await over(live)
            assert live.broadcast("r") is broadcast
            await until(lambda: live.broadcast("r") is None)
            return len(broadcast.since(0)[1])

    assert asyncio.run(waiting()) == 1


def test_what_is_over_longest_goes_first_where_there_is_too_much(tmp_path):
    async def filling():
        async with living(tmp_path, over=30_000) as live:
            for number in range(5):
                run_id = f"r{number}"
                await live.begin(turn(Agent(Scripted("x" * 6000), name="rivers"), "first", run_id=run_id))
                await until(lambda run_id=run_id: not live.is_under_way(run_id))
            return [number for number in range(5) if live.broadcast(f"r{number}")]

    assert asyncio.run(filling()) == [3, 4]


def test_a_place_is_held_for_as_long_as_a_turn_lasts_whoever_leaves(tmp_path):
    run_limiter = RunLimiter(User("ann", allowance=Allowance(runs=1)))

    async def passing():
        async with living(tmp_path) as live:
            made = agent(["Yes."])
            with reserve_slot(run_limiter) as place:
                await live.begin(PendingTurn("r", "rivers", made, turn(made, "first").work, place=place))
            during = run_limiter.inside
            await over(live)
            await until(lambda: not live.is_under_way("r"))
            return during

    assert asyncio.run(passing()) == 1
    assert run_limiter.inside == 0


def test_nothing_begins_where_the_server_stops(tmp_path):
    closed = []

    async def late():
        async with living(tmp_path) as live:
            pass
        made = agent(["Yes."])
        with pytest.raises(HTTPException, match="send this again"):
            await live.begin(PendingTurn("r", "rivers", made, turn(made, "first").work, close=[lambda: closed.append("closed")]))

    asyncio.run(late())
    assert closed == ["closed"]
