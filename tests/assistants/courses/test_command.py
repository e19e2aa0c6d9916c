"""`treadle courses …`, as it is typed."""

import pytest

from assistants.courses.course_setup import ASTRONOMY, MCP, SAILING, write
from cli.running import asks, script
from cli.running import treadle_here as treadle


@pytest.fixture
def home(tmp_path):
    return tmp_path


@pytest.fixture
def material(home):
    folder = write(home / "material", sailing=SAILING, moon=ASTRONOMY)
    assert treadle(home, "courses", "add", str(folder)).out == "Files: 2 added. There are 2 courses now.\n"
    return folder


def test_before_anything_was_added_it_is_said_how(home):
    ran = treadle(home, "courses", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "treadle courses add FOLDER" in ran.err
    assert "treadle courses demo" in treadle(home, "courses", "search", "keel").err


def test_courses_are_listed_and_one_is_shown(home, material):
    assert treadle(home, "courses", "list").out.splitlines() == [
        "Sailing for Beginners       3 lessons  Ada Holm",
        "The Moon and Her Effects    2 lessons  Ben Adeyemi",
    ]
    assert "Lesson 0: Before you cast off" in treadle(home, "courses", "list", "sailing").out
    assert treadle(home, "courses", "list", "--json").json[0]["key"] == "material/sailing.txt"
    ran = treadle(home, "courses", "list", "chess")
    assert (ran.code, "There is no course 'chess'. There are: Sailing for Beginners" in ran.err) == (2, True)


def test_passages_are_found_without_a_model(home, material):
    ran = treadle(home, "courses", "search", "what", "is", "the", "keel", "for")
    assert "Sailing for Beginners, Lesson 1: Parts of a boat, line" in ran.out
    assert "The keel keeps the boat upright." in ran.out
    (only,) = treadle(home, "courses", "search", "jacket", "-c", "sailing", "-l", "0", "--json").json
    assert only["tags"] == {"course": "material/sailing.txt", "document": "material/sailing.txt", "lesson": 0}
    assert treadle(home, "courses", "search", "x", "-c", "chess").code == 2
    assert "No relevant content found." in treadle(home, "courses", "search", "quantum chromodynamics").err


def test_a_question_is_answered_with_its_sources(home, material):
    model = script(home, asks(("search_course_content", {"query": "keel"})), "It keeps the boat upright.")
    ran = treadle(home, "courses", "ask", "What is the keel for?", "-m", model)
    assert (ran.code, ran.out) == (0, "It keeps the boat upright.\n")
    assert "Source: Sailing for Beginners - Lesson 1 (" in ran.err
    assert "https://example.org/sailing/1" in ran.err
    told = treadle(home, "courses", "ask", "-", "--json", "-m", script(home, "Yes."), stdin="Is it?\n").json
    assert (told["message"], told["stopped"], told["sources"]) == ("Yes.", "answered", [])
    assert treadle(home, "courses", "ask", "-", "-m", script(home, "Yes."), stdin=" ").code == 2


def test_two_searches_are_a_regular_answer(home):
    treadle(home, "courses", "add", str(write(home / "material", mcp=MCP)))
    model = script(
        home,
        asks(("search_course_content", {"query": "servers", "course_name": "MCP"})),
        asks(("search_course_content", {"course_name": "MCP", "lesson_number": 3})),
        "Servers in MCP handle... Lesson 3 covers...",
    )
    ran = treadle(home, "courses", "ask", "What does the MCP course say about servers? Also tell me about lesson 3.", "-m", model)
    assert (ran.code, ran.out) == (0, "Servers in MCP handle... Lesson 3 covers...\n")
    assert "Source: MCP: Build Rich-Context AI Apps - Lesson 3 (" in ran.err
    assert "Stopped at" not in ran.err


def test_a_lesson_is_read_without_a_model(home, material):
    ran = treadle(home, "courses", "search", "-c", "sailing", "-l", "1")
    assert "The keel keeps the boat upright. The rudder steers it" in ran.out
    assert treadle(home, "courses", "search", "-c", "sailing").code == 2


def test_a_conversation_remembers_the_last_exchanges_and_is_kept(home, material):
    model = script(home, "One.", "Two.", "Three.", "Four.")
    ran = treadle(home, "courses", "chat", "-m", model, stdin="First?\nSecond?\nThird?\n/new\nFourth?\n/exit\n")
    assert ran.out == "One.\nTwo.\nThree.\nFour.\n"
    session = ran.err.split("Conversation ")[1].split(".")[0]
    assert "A new conversation: session_" in ran.err
    runs = treadle(home, "runs", "--json").json
    assert (len(runs), {run["agent"] for run in runs}) == (4, {"courses"})  # each question is a run of its own
    shown = treadle(home, "show", next(run["run_id"] for run in runs if run["title"] == "Third?"), "--json").json
    assert [part["text"] for each in shown["entries"][0]["history"] for part in each["parts"]] == [
        "First?",
        "One.",
        "Second?",
        "Two.",
    ]
    again = treadle(home, "courses", "ask", "And?", "--session", session, "--json", "-m", script(home, "So.")).json
    assert again["session_id"] == session


def test_a_folder_can_be_one_course_and_be_taken_off_again(home):
    folder = write(home / "talks", a="About flamingos.", b="About pelicans.")
    assert treadle(home, "courses", "add", str(folder), "--title", "Birds").out.endswith("There is 1 course now.\n")
    assert treadle(home, "courses", "remove", str(folder)).out == "Files: 2 removed. There are 0 courses now.\n"
    ran = treadle(home, "courses", "remove", str(folder))
    assert (ran.code, "wasn't added. There is: nothing." in ran.err) == (2, True)
    assert treadle(home, "courses", "add", str(home), str(folder), "--title", "X").code == 2
    assert treadle(home, "courses", "add", str(home / "nowhere")).code == 2


def test_all_or_nothing_is_added_and_removed(home, material):
    other = write(home / "other", birds="Course Title: Birds\n\nAbout wombats.")
    assert treadle(home, "courses", "add", str(other), str(home / "nowhere")).code == 2
    assert treadle(home, "courses", "remove", str(material), str(other)).code == 2
    assert len(treadle(home, "courses", "list", "--json").json) == 2
    assert f"From {material}" in treadle(home, "courses", "list").err


def test_what_brings_no_course_is_named_and_not_kept(home, material):
    (home / "empty").mkdir()
    ran = treadle(home, "courses", "add", str(home / "empty"))
    assert (ran.code, "There is no course in" in ran.err) == (1, True)
    assert "empty" not in treadle(home, "courses", "list").err


def test_a_session_is_gone_on_with_by_its_id(home, material):
    first = treadle(home, "courses", "ask", "Hello", "-m", script(home, "Hi."))
    session = first.err.split("--session ")[1].split()[0]
    again = treadle(home, "courses", "ask", "Again", "--session", session, "--json", "-m", script(home, "Yes.")).json
    assert again["session_id"] == session
    wrong = treadle(home, "courses", "ask", "Again", "--session", "session_typo", "-m", script(home, "Yes."))
    assert (wrong.code, "There is no conversation session_typo of yours" in wrong.err) == (2, True)


def test_files_that_cant_be_read_are_named(home, material):
    (material / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    ran = treadle(home, "courses", "add")
    assert (ran.code, ran.out) == (0, "Files: 2 unchanged. There are 2 courses now.\n")
    assert "material/broken.pdf was left out:" in ran.err
    alone = treadle(home / "another", "courses", "add", str(material / "broken.pdf"))
    assert (alone.code, alone.out) == (1, "Files: none. There are 0 courses now.\n")


def test_the_sample_courses_can_be_added(home):
    ran = treadle(home, "courses", "demo")
    assert "There are 8 courses now." in ran.out
    assert "Lesson 4: Finding by Meaning, with Vectors" in treadle(home, "courses", "list", "chatbots").out
    assert treadle(home, "courses", "demo", "--remove").out.endswith("There are 0 courses now.\n")


def test_the_assistant_answers_in_faces_that_know_nothing_of_courses(home, material):
    model = script(home, asks(("search_course_content", {"query": "keel"})), "Upright.")
    ran = treadle(home, "ask", "-a", "courses", "Keel?", "-m", model)
    assert (ran.code, ran.out) == (0, "Upright.\n")
    assert "search_course_content" in ran.err
    model = script(home, *[asks(("search_course_content", {"query": "keel"})), "Upright."] * 2)
    twice = treadle(home, "chat", "-a", "courses", "-m", model, stdin="Keel?\nOnce more?\n")
    assert twice.out == "Upright.\nUpright.\n"
    assert "raised" not in twice.err
