"""Where an answer is from: each lesson once, in the order of the calls."""

import msgspec

from treadle import Allow, Call, CallRecord, Result
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.sources import (
    AnswerSource,
    CitedPassage,
    FoundPassage,
    LookupResult,
    collect_sources,
    merge_sources,
    source_from_passage,
)
from treadle.passages import Passage


def lesson(number, *passages, text="Sailing"):
    return AnswerSource(f"{text} - Lesson {number}", None, text, number, tuple(CitedPassage(each, "") for each in passages))


def test_sources_of_all_searches_are_merged_without_doubles():
    assert merge_sources(
        [lesson(1, "a", "b"), lesson(0, "z"), lesson(1, "b", "c"), AnswerSource("Sailing", "https://x.org", "Sailing")]
    ) == (
        lesson(1, "a", "b", "c"),
        lesson(0, "z"),
        AnswerSource("Sailing", "https://x.org", "Sailing"),
    )


def test_a_link_isnt_lost_and_lessons_without_numbers_are_told_apart():
    with_link = AnswerSource("A - Lesson 1", "https://x.org", "a", 1)
    assert merge_sources([with_link, AnswerSource("A - Lesson 1", None, "a", 1)]) == (with_link,)
    one, two = [
        source_from_passage(Passage("t", headings=(each,), tags={"course": "a"}, link=f"https://x.org/{each}"), "A")
        for each in ("x", "y")
    ]
    assert [(each.text, each.url) for each in merge_sources([one, two])] == [
        ("A - x", "https://x.org/x"),
        ("A - y", "https://x.org/y"),
    ]


def record(data=None, name="search_course_content"):
    return CallRecord(Call("c", name, {}), Allow(), Result("c", name, "text", data=msgspec.to_builtins(data)))


def test_the_sources_of_a_run_come_from_the_data_of_its_calls_in_their_order():
    found = LookupResult(
        "found", (FoundPassage("Sailing - Lesson 2", "Keels.", lesson(2)), FoundPassage("Sailing", "More.", lesson(1)))
    )
    course = LookupResult("found", courses=(Course("sailing", "Sailing", "Sailing", "https://x.org"),))
    waits = CallRecord(Call("d", "search_course_content", {}), Allow())
    denied, foreign = record(), record({"status": 5}, "weather")
    assert collect_sources([record(found), denied, foreign, waits, record(LookupResult("nothing")), record(course)]) == (
        lesson(2),
        lesson(1),
        AnswerSource("Sailing", "https://x.org", "sailing"),
    )
