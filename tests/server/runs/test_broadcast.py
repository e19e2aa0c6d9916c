import asyncio

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.events import CallArrived, TextArrived, ThinkingArrived
from treadle.server.runs.broadcast import BATCH_BYTES, Broadcast, JournalMark, merge_text_items
from treadle.server.runs.events import RunReply

REPLY = RunReply(run_id="r", message="done", stopped="answered")


def filled(count, **how):
    broadcast = Broadcast(**how)
    broadcast.begin(0)
    for number in range(1, count + 1):
        broadcast.publish(CallArrived(run_id="r", call_id=str(number), name="look"))
    return broadcast


def numbers(items):
    return [item.number for item in items]


def read(item):
    return msgspec.json.decode(item.data)


def test_events_are_numbered_from_one_and_read_after_a_number():
    broadcast = filled(5)
    assert (broadcast.first, broadcast.last) == (1, 5)
    missed, items = broadcast.since(3)
    assert (missed, numbers(items)) == (0, [4, 5])
    assert read(items[0]) == {"event": "call_arrived", "run_id": "r", "call_id": "4", "name": "look"}
    assert broadcast.since(5) == (0, [])


def test_no_two_have_the_same_epoch():
    assert len({Broadcast().epoch for _ in range(100)}) == 100


@given(count=st.integers(0, 300), most=st.integers(1, 40), at=st.integers(0, 300))
def test_whoever_is_too_slow_is_told_how_much_is_gone(count, most, at):
    broadcast, at = filled(count, most=most), min(at, count)
    missed, items = broadcast.since(at)
    assert numbers(items) == [*range(at + missed + 1, count + 1)]
    assert missed == max(0, count - most - at)


def test_there_is_a_bound_to_their_bytes_and_the_newest_is_kept_whatever_its_size():
    broadcast = filled(100, most_bytes=1000)
    assert broadcast.size <= 1000
    assert broadcast.first > 80
    broadcast.publish(TextArrived(run_id="r", text="x" * 5000))
    assert (broadcast.first, broadcast.last) == (101, 101)
    assert broadcast.size > 5000


def test_a_reader_gets_no_more_at_once_than_is_good_for_it():
    broadcast = Broadcast()
    broadcast.begin(0)
    for _ in range(10):
        broadcast.publish(TextArrived(run_id="r", text="x" * (BATCH_BYTES // 4)))
    assert numbers(broadcast.since(0)[1]) == [1, 2, 3, 4]
    assert numbers(broadcast.since(4)[1]) == [5, 6, 7, 8]


def test_pieces_of_text_that_follow_one_another_are_read_as_one():
    broadcast = Broadcast()
    for event in (
        TextArrived(run_id="r", text="a"),
        TextArrived(run_id="r", text="b"),
        ThinkingArrived(run_id="r", text="c"),
        ThinkingArrived(run_id="r.x", text="d"),
        CallArrived(run_id="r", call_id="1", name="look"),
        CallArrived(run_id="r", call_id="2", name="look"),
        TextArrived(run_id="r", text="e"),
    ):
        broadcast.publish(event)
    read_as = [(item.number, read(item).get("text", read(item).get("call_id"))) for item in merge_text_items(broadcast.since(0)[1])]
    assert read_as == [(2, "ab"), (3, "c"), (4, "d"), (5, "1"), (6, "2"), (7, "e")]


def test_a_reply_is_the_last_word_only_until_another_turn_begins():
    broadcast = filled(1)
    broadcast.end(REPLY)
    assert broadcast.is_over
    assert read(broadcast.since(1)[1][0])["event"] == "reply"
    size = broadcast.size
    broadcast.begin(7)
    assert not broadcast.is_over
    broadcast.publish(CallArrived(run_id="r", call_id="2", name="look"))
    told = read(broadcast.since(1)[1][0])
    assert (told["event"], told["message"], "approvals" in told) == ("run_ended", "done", False)
    assert broadcast.size != size
    broadcast.end(None)
    broadcast.begin(9)
    assert numbers(broadcast.since(0)[1]) == [1, 2, 3]


def test_readers_of_the_journal_go_on_at_the_earliest_place_from_which_nothing_is_gone():
    broadcast = filled(3, most=10)
    broadcast.mark(4)
    assert broadcast.meeting(4) == JournalMark(0, 0)
    for _ in range(8):
        broadcast.publish(TextArrived(run_id="r", text="x"))
    assert broadcast.meeting(4) == JournalMark(4, 3)
    for _ in range(20):
        broadcast.publish(TextArrived(run_id="r", text="x"))
    assert broadcast.meeting(4) == JournalMark(4, 3)  # the last place there is; what is gone is told
    broadcast.mark(9)
    assert broadcast.meeting(4) is None  # what was read of the journal is too old
    assert broadcast.meeting(9) == JournalMark(9, 31)


def test_whoever_waits_is_woken_by_news_and_by_the_end():
    async def waiting():
        broadcast = Broadcast()
        broadcast.begin(0)
        first = asyncio.create_task(broadcast.news(0))
        second = asyncio.create_task(broadcast.news(1))
        await asyncio.sleep(0)
        broadcast.publish(TextArrived(run_id="r", text="x"))
        assert await first
        assert not second.done()
        broadcast.end(None)
        assert not await second
        assert not await broadcast.news(1)

    asyncio.run(waiting())


def test_when_the_server_stops_nobody_is_told_any_more():
    async def waiting():
        broadcast = filled(2)
        reader = asyncio.create_task(broadcast.news(2))
        await asyncio.sleep(0)
        broadcast.hush()
        assert not await reader
        assert not await broadcast.news(0)

    asyncio.run(waiting())


def test_what_was_a_while_ago_is_let_go_but_for_how_it_ended():
    broadcast = filled(50)
    broadcast.end(REPLY)
    broadcast.let_go()
    missed, items = broadcast.since(10)
    assert (missed, numbers(items), read(items[0])["event"]) == (40, [51], "reply")
    assert broadcast.size == len(items[0].data)


def test_a_turn_that_came_to_nothing_leaves_the_last_word_as_it_was():
    broadcast = filled(1)
    broadcast.end(REPLY)
    broadcast.begin(3)
    broadcast.end(None)
    assert [read(item)["event"] for item in broadcast.since(0)[1]] == ["call_arrived", "reply"]
    broadcast.begin(3)
    broadcast.publish(CallArrived(run_id="r", call_id="2", name="look"))
    assert [read(item)["event"] for item in broadcast.since(0)[1]] == ["call_arrived", "run_ended", "call_arrived"]
    assert broadcast.size == sum(len(item.data) for item in broadcast.since(0)[1])
