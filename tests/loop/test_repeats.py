"""Noticing a model that goes round in circles."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.loop.repeats import MEMORY, Trail, count_repetition, extend_trail, find_streak, fingerprint


def walk(*steps: tuple[str, str]) -> Trail:
    trail = Trail()
    for call, content in steps:
        trail = extend_trail(trail, fingerprint(call, b"{}"), content)
    return trail


def times(trail: Trail, call: str) -> int:
    return count_repetition(trail, fingerprint(call, b"{}"))


def test_a_fresh_call_is_the_first():
    assert times(Trail(), "a") == 1
    assert times(walk(("a", "1")), "b") == 1


def test_the_same_call_with_the_same_result_is_counted():
    assert times(walk(("a", "1")), "a") == 2
    assert times(walk(("a", "1"), ("a", "1")), "a") == 3
    assert times(walk(*[("a", "1")] * 4), "a") == 5


def test_a_cycle_is_counted():
    trail = walk(("a", "1"), ("b", "2"), ("a", "1"), ("b", "2"))
    assert times(trail, "a") == 3
    assert times(trail, "b") == 3


def test_a_result_that_changed_is_no_repeat():
    trail = walk(("poll", "10 %"), ("poll", "20 %"), ("poll", "30 %"), ("poll", "40 %"))
    assert times(trail, "poll") == 2


def test_something_new_in_between_starts_the_count_again():
    trail = walk(("test", "1 failed"), ("edit", "a"), ("test", "1 failed"), ("edit", "b"), ("test", "1 failed"), ("edit", "c"))
    assert times(trail, "test") == 2


def test_other_arguments_are_another_call():
    assert fingerprint("a", b'{"x":1}') != fingerprint("a", b'{"x":2}')


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("12"))))
def test_the_trail_stays_short_and_counts_never_shrink_below_one(steps):
    trail = walk(*steps)
    assert len(trail.steps) == len(trail.calls) <= MEMORY
    assert len(trail.stale) <= MEMORY
    assert all(times(trail, call) >= 1 for call in "abc")


def futile(*outcomes: tuple[str, bool]) -> int:
    trail = Trail()
    for number, (content, failed) in enumerate(outcomes):
        trail = extend_trail(trail, number, content, "search", failed=failed)
    streak = find_streak(trail.streaks, "search")
    return 0 if streak is None else streak.count


def test_the_same_error_with_changing_arguments_is_a_streak():
    assert futile(("refused", True), ("refused", True), ("refused", True)) == 3
    assert futile(("refused", True), ("gone", True)) == 1
    assert futile(("refused", True), ("refused", False)) == 0


def test_the_same_empty_result_with_changing_arguments_is_a_streak():
    assert futile(("[]", False), ("[]", False)) == 2
    assert futile(("No matches for that.", False), ("No matches for that.", False)) == 2
    assert futile(("", False), ("3 lines", False), ("", False)) == 1


def test_a_result_that_says_something_is_none_however_often_it_comes():
    assert futile(*[("ok", False)] * 9) == 0
    assert futile(("Notable: it is open.", False), ("Notable: it is open.", False)) == 0


def test_each_tool_has_its_own_streak():
    trail = extend_trail(extend_trail(Trail(), 1, "[]", "search"), 2, "[]", "find")
    assert [(streak.tool, streak.count) for streak in trail.streaks] == [("search", 1), ("find", 1)]
