"""How far a project is."""

import pytest

from treadle.assistants.guidance.stages import State, progress_of, stage_of, told, usual_actions

BOTH = {"has_problem_spec": True, "has_world_model": True}


@pytest.mark.parametrize(
    ("state", "stage"),
    [
        (State(), "setup"),
        (State(has_problem_spec=True), "setup"),
        (State(has_world_model=True, runs=1, completed=1), "setup"),
        (State(**BOTH), "ready_to_run"),
        (State(**BOTH, runs=1), "ready_to_run"),
        (State(**BOTH, runs=2, running=1, completed=1), "running"),
        (State(**BOTH, runs=1, completed=1), "completed"),
    ],
)
def test_a_stage_follows_from_what_there_is(state, stage):
    assert stage_of(state) == stage
    assert progress_of(state).current_stage == stage
    assert usual_actions(stage)


def test_what_is_done_and_what_comes_next_are_all_steps():
    for state in (State(), State(has_problem_spec=True), State(**BOTH, runs=1, completed=1)):
        progress = progress_of(state)
        assert len({*progress.completed_steps, *progress.next_steps}) == 4
    assert progress_of(State(has_world_model=True)).next_steps[0].startswith("Describe the problem")


def test_the_state_is_told_with_the_names_that_programs_know():
    assert told(State("T", "", has_problem_spec=True, runs=2)) == {
        "stage": "setup",
        "has_problem_spec": True,
        "has_world_model": False,
        "has_runs": True,
        "run_count": 2,
        "project_title": "T",
        "project_description": None,
    }
