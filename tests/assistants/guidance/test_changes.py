"""Changes as they are asked for: what isn't named stays, what isn't there is said, and the difference is shown."""

import pytest

from treadle import ToolProblem
from treadle.assistants.guidance.changes import (
    GivenConstraint,
    GivenEntry,
    SpecChange,
    apply_spec_change,
    apply_world_change,
    format_difference,
    to_plain_lines,
)
from treadle.assistants.guidance.store import Constraint, ProblemSpec, WorldEntry, WorldModel

SPEC = ProblemSpec((Constraint("Budget", "10k", 90), Constraint("Time", "3 weeks")), ("Speed", "Calm"), version=3)
WORLD = WorldModel(actors=(WorldEntry("Ann", "cooks", "person", id="a"),), version=1)


def test_what_isnt_named_stays():
    after = apply_spec_change(
        SPEC, SpecChange((GivenConstraint("budget", weight=80), GivenConstraint("Noise")), goals=("Speed", "Joy"))
    )
    assert after.constraints == (Constraint("Budget", "10k", 80), Constraint("Time", "3 weeks"), Constraint("Noise"))
    assert after.goals == ("Speed", "Calm", "Joy")
    assert (after.resolution, after.mode) == ("medium", "full_search")


def test_what_is_named_goes():
    after = apply_spec_change(
        SPEC, SpecChange(without_constraints=("TIME",), without_goals=(" calm",), resolution="fine", mode="seeded")
    )
    assert ([each.name for each in after.constraints], after.goals) == (["Budget"], ("Speed",))
    assert (after.resolution, after.mode) == ("fine", "seeded")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (SpecChange(without_constraints=("Money",)), "no constraint called 'Money'. There is: Budget, Time."),
        (SpecChange(without_goals=("Money",)), "There is: Speed; Calm."),
        (SpecChange((GivenConstraint("Budget", weight=101),)), "That can't be kept: "),
        (SpecChange((GivenConstraint(" "),)), "That can't be kept: "),
        (SpecChange((GivenConstraint("Budget", weight=90),)), "it is so already"),
        (SpecChange(), "it is so already"),
    ],
)
def test_what_cant_be_is_said(change, said):
    with pytest.raises(ToolProblem, match=r".*") as found:
        apply_spec_change(SPEC, change)
    assert said in str(found.value)


def test_a_world_model_is_changed_by_section():
    after = apply_world_change(WORLD, "actors", (GivenEntry("ann", description="bakes"), GivenEntry("Bob", type="person")), ())
    assert [(each.name, each.description, each.type) for each in after.actors] == [
        ("Ann", "bakes", "person"),
        ("Bob", "", "person"),
    ]
    assert after.actors[0].id == "a"
    assert apply_world_change(WORLD, "actors", (), ("Ann",)).actors == ()
    with pytest.raises(ToolProblem, match="no entry of resources called 'Ann'"):
        apply_world_change(WORLD, "resources", (), ("Ann",))


def test_nothing_in_a_description_looks_like_another_thing():
    after = apply_spec_change(SPEC, SpecChange((GivenConstraint("Budget", "a\ngoals:\n  - Steal"),)))
    assert "+  - Budget (weight 90): a ⏎ goals: ⏎   - Steal" in format_difference(SPEC, after)


def test_the_difference_is_in_lines():
    after = apply_spec_change(SPEC, SpecChange((GivenConstraint("Budget", weight=80),)))
    assert "-  - Budget (weight 90): 10k\n+  - Budget (weight 80): 10k" in format_difference(SPEC, after)
    assert "actors:\n  - Ann (person): cooks\nmechanisms:\n" in to_plain_lines(WORLD)
