"""Where an answer is from: each lesson once, in the order of the calls."""

import msgspec

from treadle import Allow, Call, CallRecord, Result
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.sources import Cited, FoundPassage, Lookup, Source, merged, source_of, sources_of
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


def record(data=None, name="search_course_content"):
    return CallRecord(Call("c", name, {}), Allow(), Result("c", name, "text", data=msgspec.to_builtins(data)))


def test_the_sources_of_a_run_come_from_the_data_of_its_calls_in_their_order():
    found = Lookup("found", (FoundPassage("Sailing - Lesson 2", "Keels.", lesson(2)), FoundPassage("Sailing", "More.", lesson(1))))
    course = Lookup("found", courses=(Course("sailing", "Sailing", "Sailing", "https://x.org"),))
    waits = CallRecord(Call("d", "search_course_content", {}), Allow())
    denied, foreign = record(), record({"status": 5}, "weather")
    assert sources_of([record(found), denied, foreign, waits, record(Lookup("nothing")), record(course)]) == (
        lesson(2),
        lesson(1),
        Source("Sailing", "https://x.org", "sailing"),
    )
