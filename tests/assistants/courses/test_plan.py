"""How a small model is led: what it is asked, and what comes of what it says."""

import asyncio
import json

import pytest

from assistants.courses import course_setup
from assistants.courses.course_setup import ASTRONOMY, SAILING, add, write
from server.running import host
from treadle import Call, History, Message, Result, Text
from treadle.assistants.courses.catalogue import Catalogue
from treadle.assistants.courses.plan import build_course_plan, find_lesson_number
from treadle.models import Request, Traits
from treadle.testing import Scripted

SMALL = Traits(native_calls=False)


def about(what):
    return json.dumps({"about": what})


@pytest.fixture
def home(tmp_path):
    add(tmp_path / "data", write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY))
    return tmp_path


def ask(home, question, *replies):
    """What is answered, and what the model was asked for it."""
    model = Scripted(*replies, traits=SMALL)

    return asyncio.run(course_setup.question(host(home, model), question)), model.requests


def test_what_the_material_says_is_looked_up_and_worded(home):
    reply, asked = ask(home, "What keeps the boat upright?", about("content"), "yes", "The keel does.")
    assert (reply.message, reply.stopped) == ("The keel does.", "answered")
    assert reply.sources[0].text == "Sailing for Beginners - Lesson 1"
    assert "The keel keeps the boat upright." in asked[2].history[0].text
    assert "untrusted-" not in asked[2].history[0].text


def test_a_course_and_a_lesson_that_are_named_are_looked_in(home):
    reply, _ = ask(home, "What is in lesson 0 of the sailing course?", about("outline"), "A life jacket.")
    assert [(each.course, each.lesson) for each in reply.sources] == [("material/sailing.txt", 0)]


def test_an_outline_is_shown_as_it_is(home):
    reply, asked = ask(home, "What are the lessons of the sailing course?", about("outline"))
    assert "- Lesson 4: Tides and the moon" in reply.message
    assert "Instructor: Ada Holm" in reply.message
    assert len(asked) == 1


def test_who_teaches_a_course_is_in_its_outline_whatever_the_model_makes_of_it(home):
    reply, _ = ask(home, "Who is the instructor of Sailing for Beginners?", about("content"))
    assert "Instructor: Ada Holm" in reply.message


def test_another_course_on_the_same_topic_takes_two_looks(home):
    question = "Is there a course on the same topic as lesson 4 of Sailing for Beginners?"
    reply, asked = ask(home, question, about("alike"))
    assert "- The Moon and Her Effects - Lesson 2: How the moon makes the tides" in reply.message
    assert reply.sources[0].text == "Sailing for Beginners"
    assert len(asked) == 1


def test_where_no_other_course_has_it_that_is_said(home):
    reply, _ = ask(home, "Is there a course on the same topic as lesson 1 of Sailing for Beginners?", about("alike"))
    assert reply.message == "No, only Sailing for Beginners is about that."


def test_the_courses_are_listed_without_a_look(home):
    reply, asked = ask(home, "What can I learn?", about("courses"))
    assert "- Sailing for Beginners, 3 lessons" in reply.message
    assert (len(asked), reply.sources) == (1, ())


def test_without_courses_that_is_said(tmp_path):
    assert ask(tmp_path, "What can I learn?", about("courses"))[0].message == "There are no courses yet."


def test_small_talk_needs_no_look(home):
    reply, asked = ask(home, "Hello!", about("talk"), "Hello! What would you like to learn?")
    assert (reply.message, reply.sources) == ("Hello! What would you like to learn?", ())
    assert len(asked) == 2


def test_words_that_make_no_sense_are_looked_up(home):
    assert ask(home, "Tell me about keels", "no JSON", "Hm.")[0].message == "Hm."  # taken for talk
    assert ask(home, "Tell me about lesson 1 of Sailing for Beginners", about("talk"), "Keels.")[0].sources


@pytest.mark.parametrize(
    ("question", "kind", "answer"),
    [
        ("What about quantum chromodynamics?", "content", "The courses don't say anything about that."),
        ("What is in lesson 9 of Sailing for Beginners?", "content", "there is no such lesson. Its lessons are 0, 1 and 4."),
        ("Same topic as lesson 9 of Sailing for Beginners?", "alike", "Lesson 4: Tides and the moon"),
    ],
)
def test_what_isnt_there_is_said(home, question, kind, answer):
    message = ask(home, question, about(kind), "?")[0].message
    assert answer in message
    assert "untrusted" not in message  # what marks data for the model isn't for people


def test_what_does_not_stand_there_is_not_answered(home):
    reply, asked = ask(home, "What keeps the boat upright?", about("content"), "no")
    assert (reply.message, len(asked)) == ("The courses don't say anything about that.", 2)
    assert ask(home, "Explain what keeps the boat upright.", about("content"), "no")[0].message == reply.message
    assert ask(home, "What does lesson 1 of the sailing course say about rust?", about("content"), "no")[0].message == reply.message


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What are the lessons of Underwater Chess?", "outline"),
        ("Who teaches Underwater Chess?", "outline"),
        ("What does lesson 3 of Underwater Chess say about openings?", "content"),
        ("Same topic as lesson 2 of the course Underwater Chess?", "alike"),
    ],
)
def test_a_course_that_isnt_there_is_said_not_to_be(home, question, kind):
    reply, asked = ask(home, question, about(kind))
    assert "No course found matching 'Underwater Chess'." in reply.message
    assert (reply.sources, len(asked)) == ((), 1)


def test_a_model_that_says_nothing_shows_what_was_found(home):
    reply, _ = ask(home, "What keeps the boat upright?", about("content"), "yes", " ")
    assert "The keel keeps the boat upright." in reply.message
    assert ask(home, "Hi", about("talk"), "")[0].message == "I don't know."


def test_a_question_that_goes_on_is_asked_with_the_one_before_it(home):
    replies = [about("content"), "yes", "The keel.", about("content"), "yes", "The rudder.", about("content"), "yes", "Yes."]
    model = Scripted(*replies, traits=SMALL)

    async def main():
        asking = host(home, model)
        first = await course_setup.question(asking, "What keeps the boat of Sailing for Beginners upright?")
        second = await course_setup.question(asking, "And what steers it?", first.session_id)
        await course_setup.question(asking, "Why are there spring tides?", first.session_id)
        return second

    second = asyncio.run(main())
    assert {each.course for each in second.sources} == {"material/sailing.txt"}
    assert "And what steers it?" in model.requests[5].history[0].text
    assert "boat of Sailing for Beginners" in model.requests[5].history[0].text
    assert "boat of Sailing for Beginners" not in model.requests[8].history[0].text.partition("Question:")[2]


def test_courses_whose_names_begin_alike_are_others(tmp_path):
    texts = {
        name: f"Course Title: {title}\n\nLesson 1: Branches\nA branch is a name for a commit, in {name}."
        for name, title in {"git": "Git", "more": "Git Advanced", "beta": "Git [beta]"}.items()
    }
    add(tmp_path / "data", write(tmp_path / "material", **texts))
    reply, _ = ask(tmp_path, "Is there a course on the same topic as lesson 1 of Git?", about("alike"))
    assert reply.message.startswith("Yes:")
    assert "- Git Advanced - Lesson 1: Branches" in reply.message
    assert "- Git (beta) - Lesson 1: Branches" in reply.message


def test_a_lesson_is_named_by_its_number():
    assert [find_lesson_number(each) for each in ("lesson 4", "Week no. 12", "the 4 lessons", "lesson number 0", "lessons")] == [
        4,
        12,
        None,
        0,
        None,
    ]


def test_what_a_limit_cut_is_read_as_text():
    """The data of a large result isn't kept, and a run may be older than the data."""
    came = Result("c", "search_course_content", "[Sailing]\nThe keel.")
    said = (Message("person", (Text("Why?"),)), Message("model", (Call("c", came.name, {}),)), Message("tools", (came,)))
    going = build_course_plan(Catalogue())(Request("", History(said)))
    assert next(going).found == "[Sailing]\nThe keel."
    assert going.send("yes").text == "[Sailing]\nThe keel.\n\nQuestion: Why?"
