"""Readers that come at any moment, and after any break: nothing twice, nothing left out."""

import asyncio
import json
from collections import Counter
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from properties import examples
from treadle import Agent, RunContext, allow, ask, tool
from treadle.core.entries import Opened, Said
from treadle.core.errors import ModelUnavailable
from treadle.core.requests import ReplyEnded, TextDelta
from treadle.home import close_home, open_home
from treadle.loop.limits import Limits
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply, calls
from treadle.server.metrics import ServerMetrics
from treadle.server.runs.events import PersonSaid
from treadle.server.runs.live_turns import BroadcastRetention, LiveTurns, PendingTurn
from treadle.server.runs.sse import EventCursor, open_stream, parse_cursor, stream_lines
from treadle.stores.journal import DatabaseJournal

PASSING = {"call_progressed", "call_retried", "model_retried"}  # no entry tells of these


@tool(effect="read")
async def look(ctx: RunContext, at: int) -> str:
    """Look."""
    for _ in range(at % 4):
        ctx.progress("looking")
        await asyncio.sleep(0)
    return f"seen {at}"


@tool(effect="write")
async def change(at: int) -> str:
    """Change."""
    await asyncio.sleep(0)
    return f"changed {at}"


@tool(effect="write")
async def both(ctx: RunContext, at: int) -> str:
    """Look, and change."""
    return f"{await ctx.call('look', at=at)} {await ctx.call('change', at=at)}"


def helper():
    replies = [calls(("look", {"at": 1}), text="I look."), "Looked."]
    return Agent(Scripted(*replies * 4, chunk=2), tools=[look], name="helper")


def agent(replies, **more):
    how = {"tools": [look, change, both, helper().as_tool()], "policy": [allow("*")], "limits": Limits(rounds=99, backoff=0.0)}
    return Agent(Scripted(*replies, chunk=3), name="rivers", **{**how, **more})


@asynccontextmanager
async def living(folder, **how):
    home = open_home(Path(folder))
    live = LiveTurns(home, ServerMetrics(), BroadcastRetention(**how))
    try:
        async with live:
            yield live
    finally:
        close_home(home)


def turn(made, message, position=0, run_id="r"):
    return PendingTurn(
        run_id,
        "rivers",
        made,
        lambda services, watchers: made.run(message, run_id=run_id, journal=services, watchers=watchers),
        position=position,
        first=(PersonSaid(run_id=run_id, text=message),),
    )


async def received(live, place=None, most=None, run_id="r"):
    """What a reader is told who comes now, each with its id; at most so many events, and then the connection breaks."""
    start = await open_stream(live, run_id, place)
    told = []
    async for chunk in stream_lines(start, live.figures):
        for block in chunk.decode().split("\n\n")[:-1]:
            if block.startswith("id: "):
                name, data = block.split("\ndata: ")
                told.append((name[4:], json.loads(data)))
                if most is not None and len(told) >= most:
                    return told
    return told


def account(told):
    """What there was, in which number; text as a whole, round by round."""
    counted, texts = Counter(), []
    for _, event in told:
        name = event["event"]
        if name == "model_asked" and event["run_id"] == "r":
            texts.append("")
        if name == "text_arrived":
            if event["run_id"] == "r":
                texts[-1] += event["text"]
        elif name not in PASSING:
            about = event.get("call", {}).get("id") or event.get("result", {}).get("call_id") if "call" in name else ""
            counted[
                name, event["run_id"], about or event.get("call_id", "") or event.get("text", "") or event.get("message", "")
            ] += 1
    return counted, texts


async def over(live):
    broadcast = live.broadcast("r")
    async with asyncio.timeout(120):
        while await broadcast.news(broadcast.last):
            pass


async def happened(live, number):
    """Wait until there are so many events, or the turn is over."""
    broadcast = live.broadcast("r")
    while broadcast.last < number and await broadcast.news(broadcast.last):
        pass


ROUNDS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(["look", "change", "both"]), min_size=1, max_size=3).map(
            lambda names: calls(*[(name, {"at": at}) for at, name in enumerate(names)], text="Some words first.")
        ),
        st.just(calls(("helper", {"prompt": "Look there."}))),
        st.just(calls(("look", {"where": "nowhere"}))),
        st.just(ScriptedReply(text="A thought.", thinking="Hm.", calls=(ScriptedCall("look", {"at": 3}),))),
    ),
    max_size=4,
)


def distinct(rounds):
    """With ids of their own: whoever writes the same call again and again is stopped."""
    numbers = count(1)
    return [
        ScriptedReply(
            each.text,
            tuple(
                [
                    ScriptedCall(one.name, _numbered(one.arguments, next(numbers)), f"c{number}_{at}")
                    for at, one in enumerate(each.calls)
                ]
            ),
            each.thinking,
        )
        for number, each in enumerate(rounds)
    ]


def _numbered(arguments, number):
    return {name: number if name == "at" else f"{value} {number}" for name, value in arguments.items()}


@examples(40)
@given(rounds=ROUNDS, cuts=st.lists(st.integers(0, 120), min_size=1, max_size=4), most=st.sampled_from([5000, 5000, 40, 15]))
def test_whoever_comes_at_any_moment_is_told_everything_once(rounds, cuts, most):
    async def reading():
        with TemporaryDirectory() as folder:
            async with living(folder, events=most) as live:
                made = agent([*distinct(rounds), "That is all.", "And that."])
                way = await live.begin(turn(made, "first"))
                readers = []
                for cut in sorted(cuts):
                    await happened(live, cut)
                    readers.append(asyncio.create_task(received(live)))
                await over(live)
                entries = len(await live.home.journal.read("r"))
                told = [await reader for reader in readers] + [await received(live)]
                await live.begin(turn(made, "second", entries))
                told.append(await received(live))
                assert way.broadcast.epoch == live.broadcast("r").epoch
                return told

    *first, last = asyncio.run(reading())
    whole = first[-1]
    for told in first:
        assert [event["event"] for _, event in told].count("reply") == 1
        assert told[-1][1] == whole[-1][1]
        ids = [name for name, _ in told]
        assert len(set(ids)) == len(ids)
        if not any(event["event"] == "missed" for _, event in told):
            assert account(told) == account(whole)
    assert [event["event"] for _, event in last].count("reply") == 1
    assert account(last)[1][:-1] == account(whole)[1]


@examples(40)
@given(rounds=ROUNDS, breaks=st.lists(st.integers(1, 30), max_size=5), wait=st.integers(0, 60))
def test_after_any_breaks_a_reader_goes_on_where_it_was(rounds, breaks, wait):
    async def reading():
        with TemporaryDirectory() as folder:
            async with living(folder) as live:
                await live.begin(turn(agent([*distinct(rounds), "That is all."]), "first"))
                await happened(live, wait)
                told, place = [], None
                for most in [*breaks, None]:
                    part = await received(live, place, most)
                    if any(event["event"] == "reset" for _, event in part):
                        told = []
                    told += part
                    place = parse_cursor(told[-1][0]) if told else None
                await over(live)
                return told, await received(live), (await open_stream(live, "r", place)).is_nothing

    told, whole, is_nothing = asyncio.run(reading())
    assert account([each for each in told if each[1]["event"] != "reset"]) == account(whole)
    assert is_nothing


async def up_to(live, words):
    """What a reader is told who comes now, until it hears these words and leaves."""
    start, told = await open_stream(live, "r", None), []
    async for chunk in stream_lines(start, live.figures):
        told += [json.loads(line[6:]) for line in chunk.decode().splitlines() if line.startswith("data: ")]
        if words in chunk.decode():
            return told
    raise AssertionError(told)


def held(go_on, *after, before=("This counts.",)):
    """A reply that waits in the middle."""

    async def reply():
        for text in before:
            yield TextDelta(text)
        await go_on.wait()
        for text in after:
            yield TextDelta(text)
        yield ReplyEnded("done")

    return lambda request: reply()


def test_a_try_that_failed_is_not_told_to_whoever_comes_later(tmp_path):
    async def reading():
        async with living(tmp_path, events=3) as live:
            gone_wrong = [TextDelta("This is "), TextDelta("lost."), ModelUnavailable("The model is busy.")]
            go_on = asyncio.Event()
            await live.begin(turn(agent([gone_wrong, held(go_on)]), "first"))
            await happened(live, 8)
            return await up_to(live, "This counts.")

    told = asyncio.run(reading())
    assert [event["event"] for event in told] == ["run_started", "said", "model_asked", "text_arrived"]
    assert told[-1]["text"] == "This counts."


def test_a_run_that_nobody_carries_on_says_so(tmp_path):
    async def reading():
        async with living(tmp_path) as live:
            await live.home.journal.append("r", 0, [Opened(agent="rivers"), Said(text="Hello?")])
            return await received(live)

    told = asyncio.run(reading())
    assert [event["event"] for _, event in told] == ["run_started", "said", "reply"]
    assert told[-1][1]["stopped"] == "open"
    assert "resume it" in told[-1][1]["reason"]


@pytest.mark.parametrize("said", ["nonsense", "-", "abc-", "-3", "abc-x", "abc-²", f"abc-{'9' * 40}", "j3-1"])
def test_what_makes_no_sense_as_a_place_begins_anew(tmp_path, said):
    async def told():
        async with living(tmp_path) as live:
            await live.begin(turn(agent(["Yes."]), "first"))
            await over(live)
            return await received(live, parse_cursor(said))

    first, *others = asyncio.run(told())
    assert (first[0], first[1]["event"]) == ("j4-0", "reset")
    assert others[-1][1]["event"] == "reply"


def test_a_place_is_written_as_it_is_read():
    assert parse_cursor("") is None
    assert parse_cursor("ab-c-12") == EventCursor("ab-c", 12)
    assert str(parse_cursor("abc-12")) == "abc-12"


def test_silence_is_broken_by_a_sign_of_life(tmp_path):
    async def listening():
        async with living(tmp_path) as live:
            await live.begin(turn(agent([held(asyncio.Event())]), "first"))
            lines = stream_lines(await open_stream(live, "r", None), live.figures, beat=0.01)
            while not (chunk := await anext(lines)).startswith(b":"):
                pass
            return chunk, live.figures.readers

    assert asyncio.run(listening()) == (b": still here\n\n", 1)


def test_a_reader_that_stops_reading_costs_only_itself_and_is_told_what_it_missed(tmp_path):
    async def reading():
        async with living(tmp_path, events=50) as live:
            go_on = asyncio.Event()
            await live.begin(turn(agent([held(go_on, *["word "] * 400)]), "first"))
            slow = stream_lines(await open_stream(live, "r", None), live.figures)
            first = await anext(slow)
            go_on.set()
            await over(live)
            return first, b"".join([chunk async for chunk in slow]).decode(), live.broadcast("r")

    first, rest, broadcast = asyncio.run(reading())
    assert b"run_started" in first
    told = [json.loads(line[6:]) for line in rest.splitlines() if line.startswith("data: ")]
    assert (told[0]["event"], told[0]["count"] > 300) == ("missed", True)
    assert broadcast.last - broadcast.first == 49
    assert [event["event"] for event in told[1:]] == ["text_arrived", "reply_arrived", "reply"]
    assert len(told[1]["text"]) == 48 * len("word ")


def test_a_reader_that_comes_back_after_more_than_is_kept_begins_anew(tmp_path):
    async def reading():
        async with living(tmp_path, events=20) as live:
            await live.begin(turn(agent([calls(("look", {"at": 1}), text="A word. " * 20), "Looked."]), "first"))
            await over(live)
            broadcast = live.broadcast("r")
            places = [EventCursor(broadcast.epoch, number) for number in (1, broadcast.first - 2, broadcast.first - 1)]
            return [await received(live, place) for place in places], await received(live)

    (early, just_gone, just_kept), whole = asyncio.run(reading())
    assert early == just_gone == [("j7-0", {"event": "reset", "run_id": ""}), *whole]
    assert just_kept[0][1]["event"] not in ("reset", "missed")
    assert just_kept[-1][1] == whole[-1][1]


def test_what_waits_is_asked_again_of_whoever_comes_later(tmp_path):
    async def reading():
        async with living(tmp_path) as live:
            made = agent([calls(("change", {"at": 1}), ("change", {"at": 2}))], policy=[ask("change")])
            await live.begin(turn(made, "first"))
            await over(live)
            return await received(live)

    told = [event for _, event in asyncio.run(reading())]
    assert [event["call"]["id"] for event in told if event["event"] == "approval_needed"] == ["call_1_1", "call_1_2"]
    assert [each["call_id"] for each in told[-1]["approvals"]] == ["call_1_1", "call_1_2"]
    assert told[-1]["stopped"] == "waiting"


def test_a_journal_that_was_read_too_long_ago_is_read_again(tmp_path):
    class Late(DatabaseJournal):
        """Reads, and comes back with it only when much has happened since."""

        meanwhile = None

        async def read(self, run_id):
            entries = await super().read(run_id)
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                await meanwhile()
            return entries

    async def reading():
        async with living(tmp_path, events=4) as live:
            first, second = asyncio.Event(), asyncio.Event()
            replies = [held(first, before=["One."]), held(second, before=["Two."])]
            made = agent([lambda request: calls(("look", {"at": 1})), replies[0]])
            late = Late(live.home.database)
            live.home = replace(live.home, journal=late)

            async def meanwhile():
                first.set()
                await over(live)
                entries = len(await live.home.journal.read("r"))
                await live.begin(turn(agent([replies[1]]), "And?", entries))
                await happened(live, 16)

            await live.begin(turn(made, "first"))
            await happened(live, 10)
            late.meanwhile = meanwhile
            return await up_to(live, "Two.")

    told = asyncio.run(reading())
    assert [event.get("text") for event in told if event["event"] in ("said", "text_arrived")] == ["first", "One.", "And?", "Two."]
