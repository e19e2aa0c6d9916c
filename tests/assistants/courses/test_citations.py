"""Citations: numbers of passages in an answer, as data; and one course or document as the scope of a question."""

import pytest

from assistants.courses.course_setup import ASTRONOMY, SAILING, add, results, staged, write
from cli.running import asks, script, treadle
from treadle.assistants.courses.sources import AnswerSource, CitedPassage, FoundPassage, resolve_citations
from wire import call, say

KEEL = call("search_course_content", {"query": "keel"})
TIDES = call("search_course_content", {"query": "tides and the moon"})
FOUND = {
    number: FoundPassage(
        "A", "t", AnswerSource("A - Lesson 1", "https://x.org", "a", 1, (CitedPassage(f"a#{number}", "line 1"),)), number
    )
    for number in (1, 2)
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    add(tmp_path / "data", write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY))
    return tmp_path


@pytest.mark.parametrize(
    ("answer", "left", "numbers"),
    [
        ("Upright [1]. Steered [2].", "Upright [1]. Steered [2].", [1, 2]),
        ("Upright [7].", "Upright.", []),
        ("Both [1, 2, 9].", "Both [1][2].", [1, 2]),
        ("`list[2]` is code [1].\n```\na[9]\n```", "`list[2]` is code [1].\n```\na[9]\n```", [1]),
        ("[1](https://x.org) is a link.", "[1](https://x.org) is a link.", []),
    ],
)
def test_a_citation_that_doesnt_exist_is_dropped(answer, left, numbers):
    text, citations = resolve_citations(answer, FOUND)
    assert (text, [each.number for each in citations]) == (left, numbers)
    assert resolve_citations(answer, {}) == (answer, ())


def test_an_answer_comes_with_the_passages_that_it_cites(home):
    with staged(home, KEEL, TIDES, say("It keeps the boat upright [1], and tides rise [99].")) as stage:
        told = stage.query("Keel?")
        assert told["answer"] == "It keeps the boat upright [1], and tides rise."
        (cited,) = told["citations"]
        assert (cited["number"], cited["text"], cited["url"]) == (
            1,
            "Sailing for Beginners - Lesson 1",
            "https://example.org/sailing/1",
        )
        passage = stage.ask("GET", "/api/courses/passage", params={"id": cited["id"]})[1]
        assert "The keel keeps the boat upright." in passage["text"]
        first, second = results(stage.requests[2])
        assert "[1] [Sailing for Beginners - Lesson 1: Parts of a boat]" in first
        numbers = [line.split("]")[0] for line in (first + second).splitlines() if line.startswith("[") and "] [" in line]
        assert len(set(numbers)) >= 2  # those of the second search go on where the first ended
        kept = stage.ask("GET", f"/api/courses/sessions/{told['session_id']}")[1]["exchanges"][0]
        assert (kept["answer"], kept["citations"]) == (told["answer"], told["citations"])


def test_citations_are_shown_at_the_command_line(home):
    treadle(home, "courses", "add", str(home / "material"))
    model = script(home, asks(("search_course_content", {"query": "keel"})), "Upright [1].")
    ran = treadle(home, "courses", "ask", "Keel?", "-m", model)
    assert "[1] Sailing for Beginners - Lesson 1 (Lesson 1: Parts of a boat, line" in ran.err


def test_a_question_is_answered_from_one_course_or_document(home):
    with staged(home, TIDES, say("So."), TIDES, say("So.")) as stage:
        status, told = stage.ask("POST", "/api/query", {"query": "Tides?", "course": "sailing"})
        assert status == 200
        assert {each["course"] for each in told["sources"]} == {"material/sailing.txt"}
        assert "The Moon and Her Effects" not in str(stage.requests[0]["system"])
        told = stage.ask("POST", "/api/query", {"query": "Tides?", "document": "moon.txt"})[1]
        assert {each["course"] for each in told["sources"]} == {"material/moon.txt"}
        for wrong in ({"course": "chess"}, {"document": "chess.txt"}):
            assert stage.ask("POST", "/api/query", {"query": "Tides?", **wrong})[0] == 404
        context = {"session_id": stage.ask("POST", "/api/courses/sessions")[1]["session_id"], "course": "chess"}
        assert stage.ask("POST", "/api/runs", {"assistant": "courses", "message": "Tides?", "context": context})[0] == 404


def test_a_course_of_another_name_isnt_found_in_the_scope(home):
    other = call("search_course_content", {"query": "phases", "course_name": "The Moon and Her Effects"})
    with staged(home, other, say("No.")) as stage:
        stage.ask("POST", "/api/query", {"query": "Phases?", "course": "sailing"})
    assert "No course found matching 'The Moon and Her Effects'" in results(stage.requests[1])[0]


def test_the_scope_is_named_at_the_command_line(home):
    treadle(home, "courses", "add", str(home / "material"))
    tides = asks(("search_course_content", {"query": "tides"}))
    told = treadle(home, "courses", "ask", "Tides?", "-c", "sailing", "--json", "-m", script(home, tides, "So.")).json
    assert {each["course"] for each in told["sources"]} == {"material/sailing.txt"}
    told = treadle(home, "courses", "ask", "Tides?", "--document", "moon.txt", "--json", "-m", script(home, tides, "So.")).json
    assert {each["course"] for each in told["sources"]} == {"material/moon.txt"}
    assert treadle(home, "courses", "ask", "Tides?", "-c", "chess", "-m", script(home, "So.")).code != 0
