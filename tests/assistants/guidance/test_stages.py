"""How far a project is."""

import pytest

from treadle.assistants.guidance.stages import ProjectState, default_actions, progress_of, project_state_to_json, stage_of

BOTH = {"has_problem_spec": True, "has_world_model": True}


@pytest.mark.parametrize(
    ("state", "stage"),
    [
        (ProjectState(), "setup"),
        (ProjectState(has_problem_spec=True), "setup"),
        (ProjectState(has_world_model=True, runs=1, completed=1), "setup"),
        (ProjectState(**BOTH), "ready_to_run"),
        (ProjectState(**BOTH, runs=1), "ready_to_run"),
        (ProjectState(**BOTH, runs=2, running=1, completed=1), "running"),
        (ProjectState(**BOTH, runs=1, completed=1), "completed"),
    ],
)
def test_a_stage_follows_from_what_there_is(state, stage):
    assert stage_of(state) == stage
    assert progress_of(state).current_stage == stage
    assert default_actions(stage)


def test_what_is_done_and_what_comes_next_are_all_steps():
    for state in (ProjectState(), ProjectState(has_problem_spec=True), ProjectState(**BOTH, runs=1, completed=1)):
        progress = progress_of(state)
        assert len({*progress.completed_steps, *progress.next_steps}) == 4
    assert progress_of(ProjectState(has_world_model=True)).next_steps[0].startswith("Describe the problem")


def test_the_state_is_told_with_the_names_that_programs_know():
    assert project_state_to_json(ProjectState("T", "", has_problem_spec=True, runs=2)) == {
        "stage": "setup",
        "has_problem_spec": True,
        "has_world_model": False,
        "has_runs": True,
        "run_count": 2,
        "project_title": "T",
        "project_description": None,
    }
