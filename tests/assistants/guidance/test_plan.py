"""How a small model is led through a project."""

import json

import pytest

from treadle import Call, History, Message, Result, Text
from treadle.assistants.guidance.plan import ANSWER_PROMPT, TALK_PROMPT, plan_guidance
from treadle.core.calls import Opaque
from treadle.core.requests import ToolSpec
from treadle.models import Request
from treadle.plans import FindingsQuestion

CHANGE = ToolSpec("change_problem_spec", "Change.", {"type": "object", "properties": {"goals": {"type": "array"}}})


def said(text):
    return Message("person", (Text(text),))


def brought(*results):
    made = Message("model", tuple(Call(str(number), name, {}) for number, (name, *_) in enumerate(results)))
    return made, Message("tools", tuple(Result(str(number), *each) for number, each in enumerate(results)))


def led(history, *words, tools=(), found="yes"):
    going, asked, left = plan_guidance(Request("", History(history), tools)), [], list(words)
    try:
        question = next(going)
        while True:
            if isinstance(question, FindingsQuestion):
                question = going.send(found)
                continue
            asked.append(question)
            question = going.send(left.pop(0))
    except StopIteration as over:
        return over.value, asked


@pytest.mark.parametrize(
    ("about", "looks"),
    [
        ("spec", ["get_problem_spec", "get_world_model"]),
        ("world", ["get_world_model", "get_problem_spec"]),
        ("both", ["get_problem_spec", "get_world_model"]),
        ("runs", ["list_runs"]),
        ("ready", ["check_run"]),
        ("state", ["get_workflow_state"]),
        ("before", ["get_chat_history"]),
    ],
)
def test_what_it_is_about_says_where_to_look(about, looks):
    move, _ = led([said("x")], json.dumps({"about": about}))
    assert [name for name, _ in move.calls] == looks


@pytest.mark.parametrize(
    ("message", "changes", "asks"),
    [
        ("Which mechanisms did we model?", False, True),
        ("How do I add a constraint?", False, True),
        ("Add a goal: drivers like their shifts", True, False),
        ("please remove the depot", True, False),
        ("Could you raise the weight of the budget?", True, False),
        ("Update on the project?", True, True),
        ("Remove the depot?", True, True),
        ("A budget of 10k, weight 80", True, True),
    ],
)
def test_a_question_changes_nothing_and_an_imperative_asks_nothing(message, changes, asks):
    _, (asked, *_) = led([said(message)], '{"about": "talk"}', "Hm.")
    possible = asked.shape["properties"]["about"]["enum"]
    assert (("change" in possible, "model" in possible), "spec" in possible) == ((changes, changes), asks)


def test_what_was_found_is_put_into_words():
    spec = {"constraints": [{"name": "Budget", "weight": 90}], "version": 2}
    came = Result("0", "get_problem_spec", json.dumps(spec), data=spec)
    history = [said("Constraints?"), Message("model", (Call("0", came.name, {}),)), Message("tools", (came,))]
    move, (asked,) = led(history, " One: Budget. ")
    assert (move.text, asked.instructions) == ("One: Budget.", ANSWER_PROMPT)
    assert asked.text == "The problem spec:\nconstraints:\n  - name: Budget; weight: 90\n\nQuestion: Constraints?"


def looked_beside(message, *results):
    """What a model is asked after both documents were looked up, the spec first."""
    state = Message("model", (Opaque("led", '"spec"'), *[Call(each.call_id, each.name, {}) for each in results]))
    return led([said(message), state, Message("tools", results)], "Fine.")


SPEC = Result("0", "get_problem_spec", "", data={"goals": ["Nine of ten buses are on time"]})
WORLD = Result("1", "get_world_model", "", data={"resources": [{"name": "Buses", "about": "64, six in repair on an average day"}]})


def test_the_document_with_most_of_the_messages_words_is_read_whatever_it_was_taken_for():
    _, (asked,) = looked_beside("How many buses can I count on each day?", SPEC, WORLD)
    assert ("64" in asked.text, "Nine of ten" in asked.text) == (True, False)
    _, (asked,) = looked_beside("What are our goals?", SPEC, WORLD)
    assert ("64" in asked.text, "Nine of ten" in asked.text) == (False, True)
    _, (asked,) = looked_beside("And otherwise?", SPEC, WORLD)
    assert ("64" in asked.text, "Nine of ten" in asked.text) == (True, True)


def test_a_document_that_is_not_there_yet_is_a_problem_only_where_it_was_asked_about():
    missing = Result("1", "get_world_model", "There is none yet.", "raised")
    move, (asked,) = looked_beside("What are our goals?", SPEC, missing)
    assert (move.text, "none yet" in asked.text) == ("Fine.", False)
    assert looked_beside("What are our goals?", Result("0", "get_problem_spec", "Gone.", "raised"), WORLD)[0].text == "Gone."


def test_why_an_answer_is_asked_for_again_is_said_with_the_question():
    going = plan_guidance(Request("", History([said("Goals?"), *brought(("list_runs", "none"))]), (), "Leave out «17»."))
    assert isinstance(next(going), FindingsQuestion)
    assert going.send("yes").text.endswith("Question: Goals?\n\nLeave out «17».")


def test_problems_and_changes_are_told_as_they_are():
    assert led([said("x"), *brought(("get_problem_spec", "Gone.", "raised"))])[0].text == "Gone."
    assert (
        led([said("x"), *brought(("change_problem_spec", "Changed; this is version 2."))])[0].text == "Changed; this is version 2."
    )


def test_a_change_is_written_in_the_shape_of_its_tool():
    move, asked = led([said("add the goal speed")], '{"about": "change"}', '{"goals": ["speed"], "mode": null}', tools=(CHANGE,))
    assert move.calls == (("change_problem_spec", {"goals": ["speed"]}),)
    assert asked[1].shape == CHANGE.parameters
    assert "couldn't tell" in led([said("x")], '{"about": "change"}', "nonsense", tools=(CHANGE,))[0].text
    assert led([said("x")], '{"about": "model"}', tools=(CHANGE,))[0].text == "Changes aren't allowed here."


def test_anything_else_is_just_talked_about():
    move, asked = led([said("Hello")], "nonsense", "Hi!")
    assert (move.text, asked[1].instructions) == ("Hi!", TALK_PROMPT)
    assert led([said("Hello")], '{"about": "talk"}', " ")[0].text == "I don't know."


def test_what_was_not_found_is_looked_for_in_spec_and_world_and_then_said():
    offered = (ToolSpec("get_problem_spec", "", {}),)
    looked = [said("how much money is there"), *brought(("get_workflow_state", "ready"))]
    move, asked = led(looked, tools=offered, found="no")
    assert ([name for name, _ in move.calls], asked) == (["get_problem_spec", "get_world_model"], [])
    both = brought(("get_problem_spec", "Money: 35,000"), ("get_world_model", "none"))
    assert led([*looked, *both], tools=offered, found="no")[0].text == (
        "I didn't find that in the problem spec or the world model or the state of the project."
    )
    assert led(looked, found="no")[0].text == "I didn't find that in the state of the project."
