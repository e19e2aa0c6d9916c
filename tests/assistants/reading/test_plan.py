"""How a small model is led to the files that a question names."""

import pytest

from treadle import Call, History, Message, Result, Text
from treadle.assistants.reading.plan import ANSWER, find_file_names, parse_reference_question, plan_reading
from treadle.guard.trust import wrap_untrusted
from treadle.models import Request

LIST = "main.py\nsrc/box/server.go\nsrc/other.go"
LISTED = {"files": LIST.split("\n"), "total": 3}


def said(text):
    return Message("person", (Text(text),))


def brought(name, content, problem=None, data=None, **arguments):
    """A call and its result."""
    return Message("model", (Call("c", name, arguments),)), Message("tools", (Result("c", name, content, problem, data=data),))


def led(*history, words=()):
    going, asked, left = plan_reading(Request("", History(history))), [], list(words)
    try:
        question = next(going)
        while True:
            asked.append(question)
            question = going.send(left.pop(0))
    except StopIteration as over:
        return over.value, asked


@pytest.mark.parametrize(
    ("message", "files"),
    [
        ("What is main.py for?", ["main.py"]),
        ("Compare src/a.go with lib/b.test.ts, please.", ["src/a.go", "lib/b.test.ts"]),
        ("Is version 2.0 slower by 1.5 s?", []),
        ("a.py b.py c.py d.py a.py", ["a.py", "b.py", "c.py"]),
        ("Hello there.", []),
    ],
)
def test_files_are_found_by_how_they_are_written(message, files):
    assert find_file_names(message) == files


def test_what_is_named_is_outlined_at_once():
    move, asked = led(said("Which of a.py and b.py is older?"))
    assert move.calls == (("outline_file", {"path": "a.py"}), ("outline_file", {"path": "b.py"}))
    assert asked == []


def test_an_outline_is_put_into_words_without_the_marks_around_it():
    outline = {"path": "a.py", "outline": "1-9 def main()"}
    came = brought("outline_file", wrap_untrusted("1-9 def main()", "outline_file"), data=outline, path="a.py")
    move, (asked,) = led(said("What is a.py for?"), *came, words=[" It begins things. "])
    assert (move.text, asked.instructions) == ("It begins things.", ANSWER)
    assert asked.text == "1-9 def main()\n\nQuestion: What is a.py for?"


def test_without_words_what_was_found_is_the_answer():
    move, _ = led(said("What is a.py for?"), *brought("outline_file", "1-9 def main()", path="a.py"), words=[" "])
    assert move.text == "1-9 def main()"


def test_where_nothing_is_named_the_files_are_listed_and_the_list_is_the_ground_of_the_answer():
    move, _ = led(said("What is here?"))
    assert move.calls == (("list_source_files", {}),)
    move, (asked,) = led(said("What is here?"), *brought("list_source_files", LIST), words=["Three files."])
    assert move.text == "Three files."
    assert asked.text.startswith(LIST)


def test_a_file_that_isnt_where_it_was_said_to_be_is_looked_for_by_its_name():
    missing = (said("What is Server.go for?"), *brought("outline_file", "There is no Server.go.", "raised", path="Server.go"))
    move, _ = led(*missing)
    assert move.calls == (("list_source_files", {}),)
    listed = (*missing, *brought("list_source_files", LIST, data=LISTED))
    move, _ = led(*listed)
    assert move.calls == (("outline_file", {"path": "src/box/server.go"}),)
    failed = (*listed, *brought("outline_file", "It is binary.", "raised", path="src/box/server.go"))
    move, _ = led(*failed, words=["It can't be read."])
    assert move.text == "It can't be read."


def test_what_was_talked_about_last_is_meant_where_nothing_is_named():
    earlier = (said("What is a.py for?"), *brought("outline_file", "1 x", path="a.py"), Message("model", (Text("Things."),)))
    move, _ = led(*earlier, said("And who calls it?"))
    assert move.calls == (("outline_file", {"path": "a.py"}),)


@pytest.mark.parametrize(
    ("message", "name", "kind"),
    [
        ("Who calls price?", "price", "call"),
        ("what calls `Till.total()` in src/till.py?", "total", "call"),
        ("Show me the callers of price", "price", "call"),
        ("Where is RATE defined?", "RATE", "definition"),
        ("Where is Shelf::put called from?", "put", "call"),
        ("Who uses Shelf here?", "Shelf", "any"),
        ("All references to price.", "price", "any"),
        ("Where is price used?", "price", "any"),
    ],
)
def test_a_question_about_references_names_what_to_find(message, name, kind):
    assert parse_reference_question(message) == {"name": name, "kind": kind}
    assert led(said(message))[0].calls == (("find_references", {"name": name, "kind": kind}),)


@pytest.mark.parametrize("message", ["Who uses shop.py?", "Who calls this?", "Who uses such a thing?", "What is main.py for?"])
def test_a_question_about_something_else_does_not(message):
    assert parse_reference_question(message) is None


def test_references_are_the_answer_as_they_were_found():
    line = {"path": "till.py", "line": 6, "kind": "call", "inside": "Till.total", "text": "return price(items)"}
    found = {"name": "price", "kind": "call", "references": [line], "total": 1, "any_total": 3}
    came = brought("find_references", wrap_untrusted("…", "find_references"), data=found, kind="call")
    move, asked = led(said("Who calls price?"), *came)
    assert (move.text, asked) == ("till.py:6 call in Till.total: return price(items)", [])
    refused = brought("find_references", "It can't be read.", "refused", kind="call")
    assert led(said("Who calls price?"), *refused)[0].text == "It can't be read."
