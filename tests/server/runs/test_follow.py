"""The events of runs that other processes execute: complete, once each, wherever a reader breaks off, at whichever server."""

import asyncio

import msgspec
import pytest

from server.running import Serving
from server.runs.asking import Asking, Echo, Gate, rivers, with_server
from treadle import Agent, allow, ask, tool
from treadle.core.entries import Opened
from treadle.home import close_home, open_home
from treadle.server.runs import hosted_runs
from treadle.server.runs.events import encode
from treadle.server.runs.follow import RunFollower, is_follow_cursor
from treadle.server.runs.journals import read_journals
from treadle.server.runs.replay import all_events
from treadle.server.runs.sse import parse_cursor
from treadle.stores.queue import QueuePosition, RunQueue
from treadle.testing import Scripted, calls
from treadle.workers import follow
from treadle.workers.dispatcher import WorkerOptions
from treadle.workers.executor import advance_run
from treadle.workers.run_spec import RunSpec, WorkerModels, opening_entries
from working import installed


@tool(effect="write")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.fixture
def home(tmp_path):
    home = open_home(tmp_path / "data")
    yield home
    close_home(home)


async def followed(home, run_id="r", after=""):
    """All events of a run, each as a cursor and its JSON."""
    follower = RunFollower(home, run_id, parse_cursor(after))
    events = [each for look in [look async for look in follower.batches()] for each in look]
    return [(str(cursor), msgspec.json.decode(encode(event))) for cursor, event in events]


async def nested_run(home):
    """A run with two calls at once, each of which is a run of its own, with a call inside; the last turn waits for a person."""
    clerk = Agent(Scripted(calls(("pay", {"amount": 5})), "It is paid."), tools=[pay], policy=[allow("pay")], name="clerk")
    other = Agent(Scripted("Nothing to do."), name="other")
    boss = Agent(
        Scripted(calls(("clerk", {"prompt": "Pay."}), ("other", {"prompt": "Look."})), "Done.", calls(("pay", {"amount": 7}))),
        tools=[clerk.as_tool(), other.as_tool(), pay],
        policy=[ask("pay"), allow("clerk"), allow("other")],
        name="boss",
    )
    await boss.run("Have it paid.", run_id="r", journal=home.services())
    await boss.run("And 7.", run_id="r", journal=home.services())


def test_a_reader_that_breaks_off_after_any_event_gets_the_rest_once(home):
    async def story():
        await nested_run(home)
        whole = await followed(home)
        rests = [await followed(home, after=cursor) for cursor, _ in whole]
        stored = all_events("r", await read_journals(home, "r"))
        return whole, rests, [msgspec.json.decode(encode(event)) for event in stored]

    whole, rests, stored = asyncio.run(story())
    assert len({cursor for cursor, _ in whole}) == len(whole)
    assert [event for _, event in whole] == stored
    assert (whole[-1][1]["event"], whole[-1][1]["stopped"], len(whole[-1][1]["approvals"])) == ("reply", "waiting", 1)
    assert rests == [whole[number:] for number in range(1, len(whole) + 1)]


def test_events_come_as_entries_are_written_and_none_twice(home, monkeypatch):
    """As a process would write it: entry by entry, in the order of their times."""
    monkeypatch.setattr(follow, "POLL_SECONDS", 0.0)

    async def story():
        await nested_run(home)
        journals = await read_journals(home, "r")
        whole = [event for _, event in await followed(home)]
        pieces = [(entry.at, run_id != "r", run_id, entry) for run_id, each in journals.items() for entry in each]
        pieces.sort(key=lambda piece: piece[:2])
        copies = {run_id: run_id.replace("r", "s", 1) for run_id in journals}
        await RunQueue(home.database).add(QueuePosition("s"))
        follower, found, counts = None, [], dict.fromkeys(journals, 0)
        for _, _, run_id, entry in pieces:
            parent = isinstance(entry, Opened) and copies.get(entry.parent)
            written = msgspec.structs.replace(entry, parent=parent) if parent else entry
            await home.journal.append(copies[run_id], counts[run_id], [written])
            counts[run_id] += 1
            follower = follower or RunFollower(home, "s").batches()
            found += [event for _, event in await anext(follower)]
        await RunQueue(home.database).remove("s")
        found += [event for _, event in await anext(follower)]
        await follower.aclose()
        return whole, [msgspec.json.decode(encode(event)) for event in found]

    whole, found = asyncio.run(story())
    names = [event["event"] for event in found]
    assert sorted(names) == sorted(event["event"] for event in whole)
    assert (names[-1], found[-1]["stopped"]) == ("reply", "waiting")


@pytest.mark.parametrize("cursor", ["w900-0", "w2~no-json-0", "w2~IiI=-0", "wx-0", "j3-2", "abc-1"])
def test_a_cursor_of_something_else_starts_anew_and_says_so(home, cursor):
    async def story():
        await home.journal.append("r", 0, opening_entries(RunSpec("steps", "a:b"), "hello", ""))
        follower = RunFollower(home, "r", parse_cursor(cursor))
        batches = follower.batches()
        first = await anext(batches)
        await batches.aclose()
        return [msgspec.json.decode(encode(event))["event"] for _, event in first]

    assert asyncio.run(story()) == ["reset", "run_started", "said"]
    assert not is_follow_cursor(None)


# over HTTP


@pytest.fixture
def steps(tmp_path, monkeypatch):
    (tmp_path / "done").touch()
    monkeypatch.setenv("STEPS_DONE", str(tmp_path / "done"))
    monkeypatch.syspath_prepend(str(installed(tmp_path / "packages")))


async def queue_run(home, message):
    await RunQueue(home.database).open(QueuePosition("r1"), opening_entries(RunSpec("steps", "stepping:a"), message, ""))


async def execute(home):
    queue = RunQueue(home.database)
    (sent,) = await queue.admit(WorkerOptions().ceilings, 1)
    lease = await home.leases.take("r1", "me", 30)
    done = await advance_run(home, lease, WorkerModels())
    await queue.over(sent)
    await home.leases.give_up(lease)
    return done.outcome


def test_a_run_of_workers_is_watched_from_the_queue_to_its_end_over_a_break(home, steps, tmp_path):
    async def work(asking):
        await queue_run(home, "2 steps of 0.01 s")
        first = await asking.until("/api/runs/r1/events", "said")
        watching = asyncio.create_task(asking.events("/api/runs/r1/events", after=first[-1].id))
        outcome = await execute(home)
        rest = await watching
        over = await asking("GET", "/api/runs/r1/events", headers={"last-event-id": rest[-1].id})
        return outcome, [*first, *rest], over, await asking.events("/api/runs/r1/events")

    with Serving(tmp_path, [rivers()], Echo()) as server:
        outcome, told, over, again = with_server(server, work)
    assert (outcome, told[-1].name, told[-1].data["stopped"], over) == ("answered", "reply", "answered", (204, None))
    assert [event.data for event in told] == [event.data for event in again]


def test_a_run_of_workers_is_cancelled_over_http(home, steps, tmp_path):
    async def work(asking):
        await queue_run(home, "1 steps of 600 s")
        executing = asyncio.create_task(execute(home))
        await asking.until("/api/runs/r1/events", "call_started")
        said = await asking("POST", "/api/runs/r1/cancel")
        return said, await executing, await asking.ended("r1", "cancelled"), await asking("POST", "/api/runs/r1/retry")

    with Serving(tmp_path, [rivers()], Echo()) as server:
        said, outcome, run, retried = with_server(server, work)
    assert said == (200, {"run_id": "r1", "status": "cancelled"})
    assert outcome == "cancelled"
    assert "may have taken effect" in str(run["entries"])
    assert (retried[0], "only a failed run can be retried" in retried[1]["error"]) == (409, True)


def test_a_run_of_one_server_is_watched_and_cancelled_at_another(tmp_path, monkeypatch):
    gate = Gate()
    monkeypatch.setattr(hosted_runs, "wait_for_lock", lambda lock: lock.try_now())  # the second server needn't wait for the first

    async def work(one, two):
        _, said = await one("POST", "/api/runs", {"assistant": "rivers", "message": "How deep?"})
        run_id = said["run_id"]
        first = await two.until(f"/api/runs/{run_id}/events", "call_judged")
        watching = asyncio.create_task(two.events(f"/api/runs/{run_id}/events", after=first[-1].id))
        said = await two("POST", f"/api/runs/{run_id}/cancel")
        return said, await watching, await one.events(f"/api/runs/{run_id}/events")

    with (
        Serving(tmp_path, [rivers(tools=[gate.tool])], Scripted(calls(("wait", {})))) as first,
        Serving(tmp_path, [rivers(tools=[gate.tool])], Echo()) as second,
    ):
        said, rest, whole = with_server(first, lambda one: at_both(one, second, work))
    assert (said[0], said[1]["status"]) == (200, "cancelled")
    assert (rest[-1].name, rest[-1].data["stopped"], whole[-1].data["stopped"]) == ("reply", "cancelled", "cancelled")


async def at_both(one, second, work):
    async with Asking(second.url) as two:
        return await work(one, two)
