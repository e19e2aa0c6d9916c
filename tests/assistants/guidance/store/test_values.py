"""Values: what can't be kept can't be made, and the sentence says why."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import TreadleError
from treadle.assistants.guidance.store import (
    Candidate,
    ChatMessage,
    ChatSession,
    Constraint,
    InvalidValue,
    ProblemSpec,
    Project,
    ProjectIssue,
    Provenance,
    Run,
    WorldEntry,
    WorldModel,
)
from treadle.assistants.guidance.store.validation import MAX_ITEMS, validate_value, value_from_json


@given(st.integers() | st.floats() | st.booleans() | st.text(max_size=3))
def test_a_weight_is_a_whole_number_from_0_to_100(weight):
    if type(weight) is int and 0 <= weight <= 100:
        assert Constraint("Budget", weight=weight).weight == weight
    else:
        with pytest.raises(InvalidValue, match=r"weight of 'Budget'.*from 0 to 100"):
            Constraint("Budget", weight=weight)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ProblemSpec(resolution="tiny"), "The resolution is 'tiny'; it can be coarse, medium or fine."),
        (lambda: ProblemSpec(mode="random"), "The mode is 'random'; it can be full_search, eval_only or seeded."),
        (lambda: ProblemSpec(goals=("g\0",)), "The text of a goal holds characters that aren't text"),
        (lambda: ProblemSpec(goals=(7,)), "The text of a goal has to be text, not int."),
        (lambda: ProblemSpec(goals=("g",) * (MAX_ITEMS + 1)), "There are 501 goals; there may be 500."),
        (lambda: ProblemSpec((Constraint("Cost"), Constraint(" cost "))), "Two constraints are called ' cost '"),
        (lambda: Constraint("  "), "The name of a constraint is empty"),
        (lambda: Constraint("x" * 201), "The name of a constraint has 201 characters; it may have 200."),
        (lambda: WorldEntry("\ud800"), "The name of an entry holds characters that aren't text"),
        (lambda: WorldEntry("River", id=""), "The id of 'River' is empty"),
        (
            lambda: WorldModel((WorldEntry("A", id="1"),), (WorldEntry("B", id="1"),)),
            "Two entries of the world model have the id '1'",
        ),
        (lambda: Project(""), "The title of a project is empty"),
        (lambda: Project("T", "x" * 100_001), "The description of a project has 100,001 characters; it may have 100,000."),
        (lambda: ChatSession("p", mode="party"), "The mode of a chat session is 'party'; it can be setup or analysis."),
        (lambda: ChatMessage("s", "assistant", "hi"), "The role of a message is 'assistant'; it can be user, agent or system."),
        (lambda: Run("p", status="lost"), "The status of a run is 'lost'"),
        (lambda: Run("p", ui_trigger_id="\0"), "The reference of a run holds characters"),
        (lambda: Candidate("r", "arch", origin="agent"), "The origin of a candidate is 'agent'; it can be user or system."),
        (lambda: Candidate("r", "arch", status="best"), "The status of a candidate is 'best'"),
        (lambda: ProjectIssue("p", "taste", "minor", "ugly"), "The type of an issue is 'taste'"),
        (lambda: ProjectIssue("p", "model", "huge", "ugly"), "The severity of an issue is 'huge'"),
        (lambda: ProjectIssue("p", "model", "minor", "ugly", "gone"), "The status of an issue is 'gone'"),
        (lambda: Provenance("refined", actor="assistant"), "The actor of a provenance entry is 'assistant'"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_a_sentence(make, sentence):
    with pytest.raises(InvalidValue) as refused:
        make()
    assert str(refused.value).startswith(sentence)
    assert isinstance(refused.value, TreadleError)


def test_reading_says_the_same_sentence_as_making():
    with pytest.raises(
        InvalidValue, match=r"^The weight of 'Budget' is 180; it is a whole number from 0 to 100, which is a must\.$"
    ):
        value_from_json({"constraints": [{"name": "Budget", "weight": 180}]}, ProblemSpec)


def test_reading_something_else_says_where_it_is_wrong():
    with pytest.raises(InvalidValue, match=r"^This is no problem spec: .*`\$\.goals`\.$"):
        value_from_json({"goals": "one"}, ProblemSpec)


@pytest.mark.parametrize(
    "value",
    [
        ChatMessage("s", "user", "hi", {"what": object()}),
        ChatMessage("s", "user", "hi", {"what": "\ud800"}),
        ChatMessage("s", "user", "hi", ["no", "mapping"]),
        ProblemSpec(version=-1),
        Run("p", scenario_count=2**31),
        Provenance("refined", timestamp=datetime(2026, 1, 1)),
    ],
)
def test_whatever_a_constructor_lets_pass_is_refused_before_it_is_written(value):
    with pytest.raises(InvalidValue):
        validate_value(value)


def test_metadata_without_end_is_refused():
    endless = {}
    endless["again"] = endless
    with pytest.raises(InvalidValue, match="can't be written as JSON"):
        validate_value(ChatMessage("s", "user", "hi", endless))


def test_how_long_a_run_took_is_known_once_it_has_ended():
    run = value_from_json({"project_id": "p", "started_at": "2026-01-01T10:00:00Z", "completed_at": "2026-01-01T10:01:30Z"}, Run)
    assert run.duration_seconds == 90
    assert Run("p").duration_seconds is None
