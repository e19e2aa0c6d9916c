"""Where an answer is from: each lesson once, in the order of the calls."""

from treadle.assistants.courses.sources import MOST_RUNS, Cited, Looks, Source, merged, source_of
from treadle.passages import Passage


def lesson(number, *passages, text="Sailing"):
    return Source(f"{text} - Lesson {number}", None, text, number, tuple(Cited(each, "") for each in passages))


def test_sources_of_all_searches_are_merged_without_doubles():
    assert merged([lesson(1, "a", "b"), lesson(0, "z"), lesson(1, "b", "c"), Source("Sailing", "https://x.org", "Sailing")]) == (
        lesson(1, "a", "b", "c"),
        lesson(0, "z"),
        Source("Sailing", "https://x.org", "Sailing"),
    )


def test_a_link_isnt_lost_and_lessons_without_numbers_are_told_apart():
    with_link = Source("A - Lesson 1", "https://x.org", "a", 1)
    assert merged([with_link, Source("A - Lesson 1", None, "a", 1)]) == (with_link,)
    one, two = [
        source_of(Passage("t", headings=(each,), tags={"course": "a"}, link=f"https://x.org/{each}"), "A") for each in ("x", "y")
    ]
    assert [(each.text, each.url) for each in merged([one, two])] == [("A - x", "https://x.org/x"), ("A - y", "https://x.org/y")]


def test_they_come_in_the_order_of_the_calls_and_once():
    looks = Looks()
    looks.add("run", "second", [lesson(2)])
    looks.add("run", "first", [lesson(1)])
    looks.add("other", "first", [lesson(9)])
    assert looks.take("run", ["first", "second", "denied"]) == (lesson(1), lesson(2))
    assert looks.take("run", ["first"]) == ()


def test_what_nobody_takes_is_forgotten_in_the_end():
    looks = Looks()
    for number in range(MOST_RUNS + 1):
        looks.add(str(number), "call", [lesson(number)])
    assert looks.take("0", ["call"]) == ()
    assert looks.take("1", ["call"]) == (lesson(1),)
