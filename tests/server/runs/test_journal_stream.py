"""Readers of a journal that stop reading: what they cost, and that they miss nothing when they read on."""

import asyncio
import gc

from server.runs.test_sse import distinct, happened, held, living, look, over, received, turn
from treadle import Agent, allow
from treadle.loop.limits import Limits
from treadle.models.scripted import Scripted, ScriptedReply, calls
from treadle.server.runs.journal_stream import CHUNK_BYTES, JournalEvents
from treadle.server.runs.sse import open_stream, stream_lines

BIG = 40_000  # characters of one reply


def accounts():
    gc.collect()
    return len([each for each in gc.get_objects() if isinstance(each, JournalEvents)])


def talkative(rounds=20):
    """Replies of which a journal has many bytes."""
    looks = distinct([calls(("look", {"at": 0}), text=f"{number} " + "x" * BIG) for number in range(rounds)])
    return [*looks, ScriptedReply("That is all.")]


def agent(replies):
    """Whose words come in one piece: there are many."""
    return Agent(Scripted(*replies), tools=[look], name="rivers", policy=[allow("*")], limits=Limits(rounds=99))


async def a_while(rounds=5):
    for _ in range(rounds):
        await asyncio.sleep(0)


def test_a_journal_is_sent_in_pieces_that_are_bounded(tmp_path):
    async def reading():
        async with living(tmp_path) as live:
            await live.begin(turn(agent(talkative()), "first"))
            await over(live)
            return [
                len(piece) async for piece in stream_lines(await open_stream(live, "r", None), live.figures)
            ], live.figures.events_sent

    pieces, sent = asyncio.run(reading())
    assert sum(pieces) > 20 * BIG
    assert max(pieces) < CHUNK_BYTES + BIG + 1_000
    assert len(pieces) >= 10
    assert sent > 60


def test_readers_that_are_told_the_same_share_it_and_those_that_stop_hold_nothing(tmp_path):
    async def reading():
        async with living(tmp_path) as live:
            await live.begin(turn(agent(talkative()), "first"))
            await over(live)
            whole = await received(live)
            readers = [stream_lines(await open_stream(live, "r", None, held=0.0), live.figures) for _ in range(30)]
            shared = accounts()
            firsts = [await anext(reader) for reader in readers]
            await a_while()
            stopped = accounts()
            rests = [b"".join([piece async for piece in reader]) for reader in readers[:3]]
            for reader in readers[3:]:
                await reader.aclose()
            return whole, shared, stopped, accounts(), [first + rest for first, rest in zip(firsts, rests, strict=False)]

    whole, shared, stopped, after, sent = asyncio.run(reading())
    assert (shared, stopped, after) == (1, 0, 0)
    assert sent[0] == sent[1] == sent[2]
    assert [name for name, _ in whole] == [line[4:] for line in sent[0].decode().splitlines() if line.startswith("id: ")]


def test_a_reader_that_stopped_hears_the_same_also_when_the_run_has_gone_on_since(tmp_path):
    async def reading():
        async with living(tmp_path) as live:
            go_on = asyncio.Event()
            made = agent([*talkative(4), held(go_on, " Now.", before=["Two."])])
            await live.begin(turn(made, "first"))
            await over(live)
            whole = await received(live)
            slow = stream_lines(await open_stream(live, "r", None, held=0.0), live.figures)
            first = await anext(slow)
            before = live.broadcast("r").last
            await live.begin(turn(made, "second", len(await live.home.journal.read("r"))))
            await happened(live, before + 3)
            await a_while()
            rest = b"".join([piece async for piece in slow])
            go_on.set()
            await over(live)
            return whole, (first + rest).decode()

    whole, sent = asyncio.run(reading())
    assert [name for name, _ in whole] == [line[4:] for line in sent.splitlines() if line.startswith("id: ")]
    assert sent.count('"event":"reply"') == 1
    assert '"text":"second"' not in sent


def test_readers_that_read_on_hold_what_they_read(tmp_path):
    async def reading():
        async with living(tmp_path) as live:
            await live.begin(turn(agent(talkative(5)), "first"))
            await over(live)
            reader = stream_lines(await open_stream(live, "r", None, held=60.0), live.figures)
            await anext(reader)
            await a_while()
            while_it_reads = accounts()
            await reader.aclose()
            return while_it_reads

    assert asyncio.run(reading()) == 1
