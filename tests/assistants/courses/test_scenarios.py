"""The original's seven scenarios and six edge cases, each by its name, over real HTTP: its contract before us, a model's behind."""

import sqlite3

import pytest

from assistants.courses.course_setup import ASTRONOMY, MCP, SAILING, add, offers_tools, results, staged, write
from wire import call, reply, say

OUTLINE = call("get_course_outline", {"course_name": "Sailing"})
TIDES = call("search_course_content", {"query": "tides and the moon"})
KEEL = call("search_course_content", {"query": "keel", "course_name": "Sailing", "lesson_number": 1})


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    add(tmp_path / "data", write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY))
    return tmp_path


# the seven scenarios


def test_single_tool_call_round(home):
    with staged(home, KEEL, say("It keeps the boat upright.")) as stage:
        told = stage.query("What is the keel for?")
    assert told["answer"] == "It keeps the boat upright."
    assert [each["text"] for each in told["sources"]] == ["Sailing for Beginners - Lesson 1"]
    assert told["sources"][0]["url"] == "https://example.org/sailing/1"
    assert "The keel keeps the boat upright." in results(stage.requests[1])[0]
    assert len(stage.requests) == 2


def test_two_sequential_tool_calls(home):
    question = "Search for a course that discusses the same topic as lesson 4 of Sailing for Beginners"
    title = []

    def second(request):
        title.append(next(line for line in results(request.body)[0].splitlines() if line.startswith("Lesson 4: ")))
        return call("search_course_content", {"query": title[0].removeprefix("Lesson 4: ")})

    replies = [OUTLINE, second, say("The Moon and Her Effects, lesson 2.")]

    with staged(home) as stage:
        stage._model.script = lambda request: _said(replies[len(stage.requests) - 1], request)
        told = stage.query(question)
    assert title == ["Lesson 4: Tides and the moon"]
    assert "[The Moon and Her Effects - Lesson 2: How the moon makes the tides]" in results(stage.requests[2])[1]
    assert [offers_tools(each) for each in stage.requests] == [True, True, False]  # exactly two rounds, and the answer
    texts = [each["text"] for each in told["sources"]]
    assert texts[0] == "Sailing for Beginners"
    assert "The Moon and Her Effects - Lesson 2" in texts


def _said(scripted, request):
    return scripted(request) if callable(scripted) else scripted


def test_two_searches_in_one_conversation_word_for_word(home):
    """The dialogue of the original's plan: a search, then a lesson by its number alone, then the answer without tools."""
    add(home / "data", home / "material", write(home / "more", mcp=MCP))
    first = reply(say("Let me search..."), call("search_course_content", {"query": "servers", "course_name": "MCP"}))
    second = reply(say("Now let me get lesson 3..."), call("search_course_content", {"course_name": "MCP", "lesson_number": 3}))
    with staged(home, first, second, say("Servers in MCP handle... Lesson 3 covers...")) as stage:
        told = stage.query("What does the MCP course say about servers? Also tell me about lesson 3.")
    assert told["answer"] == "Servers in MCP handle... Lesson 3 covers..."
    assert told["stopped"] == "answered"
    assert [offers_tools(each) for each in stage.requests] == [True, True, False]
    assert [len(each["messages"]) for each in stage.requests] == [1, 3, 5]
    servers, lesson = results(stage.requests[2])
    assert "Servers in MCP are programs" in servers
    assert "[MCP: Build Rich-Context AI Apps - Lesson 3: Chatbot Example]\nLesson 3 covers a chatbot" in lesson
    texts = [each["text"] for each in told["sources"]]
    assert texts[0] == "MCP: Build Rich-Context AI Apps - Lesson 4"
    assert "MCP: Build Rich-Context AI Apps - Lesson 3" in texts


def test_a_long_lesson_says_what_was_left_out(home):
    long = "\n\n".join([f"Paragraph {number} says something about knots. {'More of it. ' * 40}" for number in range(60)])
    add(home / "data", write(home / "more", knots=f"Course Title: Knots\n\nLesson 1: All of them\n{long}"))
    with staged(home, call("search_course_content", {"course_name": "Knots", "lesson_number": 1}), say("Knots.")) as stage:
        stage.query("Tell me about lesson 1 of Knots.")
    (told,) = results(stage.requests[1])
    assert told.index("Paragraph 0 ") < told.index("Paragraph 1 ") < told.index("Paragraph 2 ")
    assert "more passages of this lesson were left out; search in it with a query." in told


def test_a_search_for_nothing_is_told_what_it_may_be_for(home):
    empty = call("search_course_content", {"course_name": "Sailing"})
    with staged(home, empty, KEEL, say("Upright.")) as stage:
        assert stage.query("What is the keel for?")["answer"] == "Upright."
    assert "name the lesson to read by `course_name` and `lesson_number`" in results(stage.requests[1])[0]
    assert offers_tools(stage.requests[1])


def test_max_rounds_enforcement(home):
    greedy = reply(say("Once more."), TIDES)
    with staged(home, KEEL, TIDES, greedy, say("That is all.")) as stage:
        told = stage.query("Tell me everything")
    assert [offers_tools(each) for each in stage.requests[:3]] == [True, True, False]
    assert told["answer"] == "Once more."  # a call in the last reply counts for nothing
    assert told["stopped"] == "limit"
    assert len(results(stage.requests[-1])) == 2


def test_no_tool_use_in_first_response(home):
    with staged(home, say("Four.")) as stage:
        told = stage.query("What is two and two?")
    assert (told["answer"], told["sources"], len(stage.requests)) == ("Four.", [], 1)


def test_tool_error_handling(home):
    with staged(home, KEEL, say("I can't look that up just now.")) as stage:
        with sqlite3.connect(home / "data" / "courses.db") as broken:
            broken.execute("DROP TABLE passages")
        broken.close()
        told = stage.query("What is the keel for?")
    assert told["answer"] == "I can't look that up just now."
    assert [offers_tools(each) for each in stage.requests] == [True, False]  # the searching is over, the answer isn't
    assert len(results(stage.requests[1])) == 1


def test_message_history_preservation(home):
    with staged(home, say("One."), KEEL, say("Two."), say("Three."), say("Four.")) as stage:
        session = stage.query("First?")["session_id"]
        for question in ("Second?", "Third?", "Fourth?"):
            assert stage.query(question, session)["session_id"] == session
    said = [_words(message) for message in stage.requests[4]["messages"]]
    assert said[:4] == ["Second?", "Two.", "Third?", "Three."]  # the last two exchanges, without what was looked at for them
    assert said[4].startswith("Fourth?")
    assert len(said) == 5


def _words(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def test_tools_parameter_inclusion(home):
    with staged(home, KEEL, TIDES, say("So.")) as stage:
        stage.query("And?")
    first, second, last = stage.requests
    names = {"search_course_content", "get_course_outline"}
    assert {each["name"] for each in first["tools"]} == {each["name"] for each in second["tools"]} == names
    assert not offers_tools(last)
    told = [str(each["system"]) + str(each["messages"][-1]) for each in stage.requests]
    assert "You may look things up now" in told[0]
    assert "You may look things up again" in told[1]
    assert "Tools are no longer available" in told[2]
    assert (first["temperature"], first["max_tokens"]) == (0, 800)


# the six edge cases


def test_tool_execution_error(home):
    wrong = call("search_course_content", {"query": ["not", "text"], "lesson_number": "three"})
    with staged(home, wrong, KEEL, say("Upright.")) as stage:
        told = stage.query("What is the keel for?")
    assert told["answer"] == "Upright."
    assert len(results(stage.requests[1])) == 1  # a slip of the model's own is told to it, and it may look again
    assert offers_tools(stage.requests[1])


def test_model_doesnt_use_tools(home):
    with staged(home, say("Hello! Ask me about the courses.")) as stage:
        assert stage.query("Hi")["answer"] == "Hello! Ask me about the courses."
    assert len(stage.requests) == 1


def test_mixed_content_blocks(home):
    mixed = reply(say("Let me look. "), KEEL, call("get_course_outline", {"course_name": "Moon"}))
    with staged(home, mixed, say("Both.")) as stage:
        told = stage.query("What does the sailing course say about keels? Also the moon course's lessons.")
    blocks = next(message["content"] for message in stage.requests[1]["messages"] if message["role"] == "assistant")
    assert [each["type"] for each in blocks] == ["text", "tool_use", "tool_use"]
    assert blocks[0]["text"].strip() == "Let me look."
    assert len(results(stage.requests[1])) == 2  # every call is answered
    assert told["answer"] == "Both."
    assert [each["text"] for each in told["sources"]] == ["Sailing for Beginners - Lesson 1", "The Moon and Her Effects"]


def test_empty_tool_results(home):
    nothing = call("search_course_content", {"query": "quantum chromodynamics", "course_name": "Sailing"})
    no_lesson = call("search_course_content", {"query": "keel", "course_name": "Sailing", "lesson_number": 9})
    with staged(home, reply(nothing, no_lesson), say("The course doesn't say.")) as stage:
        told = stage.query("Quarks?")
    first, second = results(stage.requests[1])
    assert "No relevant content found in course 'Sailing for Beginners'." in first
    assert "in lesson 9: there is no such lesson. Its lessons are 0, 1 and 4." in second
    assert (told["answer"], told["sources"]) == ("The course doesn't say.", [])


def test_no_tool_manager_provided(tmp_path, monkeypatch):
    """Here that is: nothing was added that could be looked at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with staged(tmp_path, TIDES, say("There is no material yet.")) as stage:
        told = stage.query("What about tides?")
        assert stage.ask("GET", "/api/courses")[1] == {"total_courses": 0, "course_titles": [], "courses": []}
    assert "There are no courses yet" in str(stage.requests[0]["system"])
    assert told["answer"] == "There is no material yet."


def test_message_history_too_large(home):
    long = "word " * 3_000
    with staged(home, *[say(f"{number} {long}") for number in range(8)]) as stage:
        session = None
        for number in range(8):
            session = stage.query(f"Question {number} {long}", session)["session_id"]
    assert len(stage.requests[7]["messages"]) == 5
    assert len(stage.requests[7]["messages"]) == len(stage.requests[2]["messages"])
