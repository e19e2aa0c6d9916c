import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.parsing import cut_anyhow
from treadle.dialects.scanner import (
    MAX_HELD,
    HeldTooLong,
    Markers,
    Reading,
    Tape,
    is_next,
    peek,
    peek_ahead,
    run_reader,
    take_if_next,
    take_run,
    take_space,
    take_until,
    take_until_within,
)

MARKS = ("<tool_call>", "<tool_calls>", "<t>", "```", "`", "}", "tool[", "to=")
pieces = st.lists(st.sampled_from([*MARKS, "<tool", "_call>", "<", "a", " ", "\n", "`", "t", "to", "[", "="]), max_size=30)


def read_in_pieces(reading: Reading[object], tape: Tape, arriving: list[str]) -> object:
    try:
        next(reading)
        for piece in arriving:
            tape.more(piece)
            next(reading)
        tape.ended = True
        next(reading)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the reader never came to an end")


def split_at_marks(tape: Tape, markers: Markers) -> Reading[list[tuple[str, str]]]:
    found: list[tuple[str, str]] = []
    while True:
        text, mark = yield from take_until(tape, markers)
        tape.take(len(mark))
        found.append((text, mark))
        if not mark:
            return found


def by_pattern(text: str) -> list[tuple[str, str]]:
    parts = re.split("(" + "|".join(re.escape(mark) for mark in sorted(MARKS, key=len, reverse=True)) + ")", text)
    return list(zip(parts[::2], [*parts[1::2], ""], strict=True))


@settings(deadline=None)
@given(pieces, st.integers(0, 1000))
def test_markers_are_found_wherever_the_text_is_cut(parts: list[str], seed: int) -> None:
    text = "".join(parts)
    expected = by_pattern(text)
    tape = Tape()
    assert read_in_pieces(split_at_marks(tape, Markers(MARKS)), tape, cut_anyhow(text, seed)) == expected
    assert run_reader(split_at_marks(Tape(text, ended=True), Markers(MARKS))) == expected


def test_only_what_may_begin_a_marker_is_held_back() -> None:
    markers = Markers(("<tool_call>",))
    assert markers.find(Tape("words and <tool_")) == (10, "")
    assert markers.find(Tape("words and <tool_", ended=True)) == (16, "")
    assert markers.find(Tape("words and <tail")) == (15, "")
    assert Markers(()).find(Tape("anything <at> all")) == (17, "")


def test_words_go_through_where_a_marker_begins_with_a_letter() -> None:
    search = Markers(("functools[", "to=", "{")).search
    assert search("a function of two tools, from t to f.") is None
    for text in ("so functools[", "so fun", "so t", "to=", "a {"):
        assert search(text) is not None


def test_a_marker_may_have_to_come_within_so_many_characters() -> None:
    markers = Markers(("|>",))
    for text, found in [("abc|>", ("abc", "|>")), ("abcd|>", ("abc", "")), ("abc", ("abc", "")), ("abcdefgh", ("abc", ""))]:
        for seed in range(5):
            tape = Tape()
            tape.begin_hold()
            assert read_in_pieces(_beyond(tape, markers), tape, cut_anyhow(text, seed)) == found
        assert run_reader(take_until_within(Tape(text, ended=True), markers, 3)) == found


def _beyond(tape: Tape, markers: Markers) -> Reading[tuple[str, str]]:
    found = yield from take_until_within(tape, markers, 3)
    while not tape.ended:
        yield
    return found


def test_a_longer_marker_is_waited_for() -> None:
    markers = Markers(("`", "```"))
    assert markers.find(Tape("a``")) == (1, "")
    assert markers.find(Tape("a``", ended=True)) == (1, "`")
    assert markers.find(Tape("a```")) == (1, "```")


def test_moves_wait_for_the_text_they_need() -> None:
    def moves(tape: Tape) -> Reading[list[object]]:
        return [
            (yield from take_space(tape)),
            (yield from peek(tape)),
            (yield from is_next(tape, "abx")),
            (yield from take_if_next(tape, "abc")),
            (yield from take_if_next(tape, "abc")),
            (yield from take_run(tape, re.compile("[0-9]+"))),
            (yield from peek_ahead(tape, 3)),
            (yield from peek_ahead(tape, 100)),
        ]

    tape = Tape()
    heard = read_in_pieces(moves(tape), tape, [" ", "\n", "a", "bc", "1", "2", "3x", "y", "z", "!"])
    assert heard == [" \n", "a", False, True, False, "123", "xyz", "xyz!"]
    assert run_reader(peek(Tape(ended=True))) == ""


def test_a_tape_keeps_what_was_taken_since_it_was_told_to() -> None:
    tape = Tape("abcdefgh")
    tape.take(1)
    assert (tape.place(), tape.held_since(), tape.release()) == (0, "", "")
    tape.begin_hold()
    tape.take(2)
    place = tape.place()
    tape.take(1)
    tape.take(2)
    assert (tape.held_since(place), tape.held_since(place, place + 1)) == ("def", "d")
    assert tape.release() == "bcdef"
    assert tape.held_since() == ""


def test_a_tape_holds_so_much_and_no_more() -> None:
    tape = Tape("a" * (MAX_HELD + 1))
    tape.begin_hold()
    tape.take(MAX_HELD)
    with pytest.raises(HeldTooLong):
        tape.take(1)
    assert len(tape.release()) == MAX_HELD + 1


def test_a_reader_that_waits_for_a_tape_that_ended_is_a_bug() -> None:
    with pytest.raises(RuntimeError):
        run_reader(peek(Tape()))
