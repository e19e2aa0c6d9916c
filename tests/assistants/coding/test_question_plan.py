"""A small model is guided through questions about a project; what it is asked to change is its own work."""

import asyncio

import pytest
from msgspec.structs import replace

from assistants.coding.stage import needs_git
from server.running import host
from treadle.assistants.coding.question_plan import ANSWER, WHICH_FILE, WHY, find_search_terms, is_question, rank_source_files
from treadle.core.requests import Traits
from treadle.plugins.assistants import assistant_agent, get_assistant
from treadle.server.demo.letterbox import write_letterbox
from treadle.testing import Scripted
from treadle.workspace import GrepResult

SMALL = Traits(native_calls=False)
RETRY = "Where is the retry logic, and is it tested?"


@pytest.fixture
def letterbox(tmp_path):
    write_letterbox(tmp_path / "letterbox")
    return tmp_path / "letterbox"


def answer(folder, tmp_path, *messages, words, mode=None, dialect=""):
    """Return the last result of a conversation, and what the model was asked."""
    model = Scripted(*words, traits=SMALL)
    about = {} if mode is None else {"mode": mode}
    lent = replace(host(tmp_path, model), folder=folder, about=about, dialect=dialect)

    async def ask():
        result = None
        for message in messages:
            agent = assistant_agent(get_assistant("coding"), lent, model)
            result = await agent.run(message, history=() if result is None else result.history)
        return result

    result = asyncio.run(ask())
    return result, [(each.instructions, each.history[-1].text) for each in model.requests]


def actions(result):
    return [(call.name, *[call.arguments[key] for key in ("action", "path") if key in call.arguments]) for call in result.calls]


def test_where_something_is_the_model_says_by_the_outlines_and_answers_from_the_file_and_its_tests(letterbox, tmp_path):
    result, asked = answer(letterbox, tmp_path, RETRY, words=['{"file": "delivery.py"}', "In delivery.py; a test checks it."])
    assert (result.stopped, result.output) == ("answered", "In delivery.py; a test checks it.")
    assert actions(result) == [
        ("search", "find_files"),
        ("search", "grep"),
        *[("navigate", "get_file_outline", path) for path in ("delivery.py", "letters.py", "main.py", "server.go")],
        ("file", "read", "delivery.py"),
        ("search", "grep"),
        ("file", "read", "test_delivery.py"),
    ]
    (which, outlines), (answering, read) = asked
    assert (which, answering) == (WHICH_FILE, ANSWER)
    assert "14-23 def deliver(letter, send, sleep=time.sleep)" in outlines
    assert "for pause in [0, *pauses()]" in read
    assert "def test_a_broken_connection_is_tried_again" in read
    assert "deliver_all" not in read
    assert read.endswith(f"Question: {RETRY}")


def test_a_file_that_the_question_names_is_read_at_once_and_tests_only_if_it_is_about_them(letterbox, tmp_path):
    result, ((_, read),) = answer(letterbox, tmp_path, "What does letters.py do?", words=["It reads letters."])
    assert actions(result) == [("search", "find_files"), ("search", "grep"), ("file", "read", "letters.py"), ("search", "grep")]
    assert "class Letter" in read
    assert "test" not in read


def test_where_no_test_mentions_a_file_the_model_reads_that(letterbox, tmp_path):
    _, asked = answer(letterbox, tmp_path, "Is server.go tested?", words=["No."])
    assert "There are no tests of server.go." in asked[-1][1]


def test_a_question_about_it_is_about_the_file_of_the_question_before(letterbox, tmp_path):
    words = ['{"file": "delivery.py"}', "In delivery.py.", "By test_delivery.py."]
    result, asked = answer(letterbox, tmp_path, "Where is the retry logic?", "And is it tested?", words=words)
    assert result.output == "By test_delivery.py."
    assert "test_delivery.py, with the tests of delivery.py:" in asked[-1][1]


def test_of_a_long_file_the_lines_about_the_question_are_read(letterbox, tmp_path):
    lines = [f"LAMP_{number} = {number}\n" for number in range(600)]
    lines[400] = "def brightness_of_a_lamp(): pass\n"
    (letterbox / "lamps.py").write_text("".join(lines))
    _, asked = answer(letterbox, tmp_path, "Where in lamps.py is the brightness?", words=["In line 401."])
    read = asked[-1][1]
    assert "401|def brightness_of_a_lamp(): pass" in read
    assert len(read) < 6_000


def test_an_answer_that_names_no_file_is_taken_for_the_likeliest(letterbox, tmp_path):
    result, _ = answer(letterbox, tmp_path, "Where is read_letter defined?", words=["?", "In letters.py."])
    assert ("file", "read", "letters.py") in actions(result)


@needs_git
def test_which_tests_fail_code_says_and_why_the_model_does(letterbox, tmp_path):
    result, ((why, read),) = answer(letterbox, tmp_path, "Which tests fail, and why?", words=["Line 11 makes three pauses."])
    assert actions(result) == [
        ("test",),
        ("file", "read", "test_delivery.py"),
        ("search", "find_files"),
        ("file", "read", "delivery.py"),
    ]
    headline, failure, _, said = result.output.split("\n")
    assert headline == "1 of 2 tests failed:"
    assert failure.startswith(
        "- `test_delivery.py::DeliveryTest::test_between_three_tries_there_are_two_pauses` (test_delivery.py:"
    )
    assert said == "Line 11 makes three pauses."
    assert why == WHY
    assert "return [first * 2**number for number in range(tries)]" in read


@needs_git
def test_if_no_test_fails_no_model_is_asked(letterbox, tmp_path):
    source = letterbox / "delivery.py"
    source.write_text(source.read_text().replace("range(tries)", "range(tries - 1)"))
    result, asked = answer(letterbox, tmp_path, "Do all tests pass?", words=[])
    assert "2 passed" in result.output
    assert asked == []


def test_without_source_code_no_model_is_asked(tmp_path):
    (tmp_path / "empty").mkdir()
    result, asked = answer(tmp_path / "empty", tmp_path, RETRY, words=[])
    assert (result.output, asked) == ("There are no source files here.", [])


def test_in_a_session_the_tools_are_those_of_the_session(letterbox, tmp_path):
    result, _ = answer(letterbox, tmp_path, "What does letters.py do?", words=["It reads letters."], mode="ask")
    assert [call.name for call in result.calls] == ["find_files", "grep", "read_file", "grep"]


@pytest.mark.parametrize(
    "message", ["Add a test for read_letter.", "Hello.", "Can you fix the delivery?", "Please explain and fix it."]
)
def test_anything_else_the_model_does_with_the_tools(letterbox, tmp_path, message):
    result, ((instructions, text),) = answer(letterbox, tmp_path, message, words=["All right."])
    assert result.output == "All right."
    assert "through your tools" in instructions
    assert message in text


def test_a_model_whose_dialect_is_named_chooses_its_tools_itself(letterbox, tmp_path):
    result, ((instructions, _),) = answer(letterbox, tmp_path, RETRY, words=["Somewhere."], dialect="hermes")
    assert result.output == "Somewhere."
    assert "through your tools" in instructions


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        (RETRY, True),
        ("How do I add a retry?", True),
        ("Which tests fail, and why?", True),
        ("explain deliver", True),
        ("Is there a cache? If not, add one.", False),
        ("Rename deliver to send.", False),
        ("Could you run the tests?", False),
        ("What fails? Please fix it.", False),
        ("Thanks!", False),
    ],
)
def test_what_counts_as_a_question(message, asks):
    assert is_question(message) == asks


@pytest.mark.parametrize(
    ("message", "terms"),
    [
        (RETRY, ["retr"]),
        ("Where are retries handled?", ["retr"]),
        ("How are letters delivered?", ["letter", "deliver"]),
        ("What is it?", []),
    ],
)
def test_what_is_searched_for(message, terms):
    assert find_search_terms(message) == terms


def test_files_with_most_of_the_terms_come_first_and_tests_and_documents_are_left_out():
    hits = GrepResult(())
    paths = ["b.py", "pkg/retry.py", "README.md", "tests/test_retry.py", "a.go"]
    assert rank_source_files(paths, hits, ["retr"]) == ["pkg/retry.py", "a.go", "b.py"]
