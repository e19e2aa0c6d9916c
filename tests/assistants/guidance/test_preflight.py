"""Whether a run could begin, and with which numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.guidance.preflight import run_preflight
from treadle.assistants.guidance.stages import ProjectState

READY = ProjectState(has_problem_spec=True, has_world_model=True)
JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.lists(st.text(max_size=3), max_size=2)


def codes(found):
    return [each.code for each in found]


def test_a_project_that_has_everything_is_ready_with_the_usual_numbers():
    found = run_preflight(READY)
    assert found.ready
    assert found.normalized_config == {
        "mode": "full_search",
        "num_candidates": 5,
        "num_scenarios": 8,
        "budget_tokens": None,
        "budget_usd": None,
        "max_runtime_s": None,
        "seed_candidate_ids": [],
    }
    assert (found.blockers, found.warnings, found.notes) == ((), (), ())


def test_what_is_missing_is_named():
    found = run_preflight(ProjectState(), "nonsense")
    assert not found.ready
    assert codes(found.blockers) == ["validation_error", "missing_problem_spec", "missing_world_model"]
    assert found.prerequisites == {"problem_spec": False, "world_model": False}


def test_some_modes_need_candidates():
    assert codes(run_preflight(READY, "eval_only").blockers) == ["insufficient_candidates"]
    assert run_preflight(ProjectState(has_problem_spec=True, has_world_model=True, candidates=2), "eval_only").ready
    assert codes(run_preflight(READY, "seeded").blockers) == ["insufficient_candidates"]
    assert run_preflight(READY, "seeded", {"seed_candidate_ids": ["a"]}).normalized_config["seed_candidate_ids"] == ["a"]


def test_numbers_are_kept_within_reason_and_it_is_said():
    found = run_preflight(READY, parameters={"num_candidates": "70", "num_scenarios": 0, "budget_usd": 2.5, "budget_tokens": 1e4})
    assert (found.normalized_config["num_candidates"], found.normalized_config["num_scenarios"]) == (50, 1)
    assert (found.normalized_config["budget_usd"], found.normalized_config["budget_tokens"]) == (2.5, 10_000)
    assert len(found.notes) == 2
    assert codes(found.warnings) == ["large_candidate_count"]


@pytest.mark.parametrize(
    "given_",
    [{"num_candidates": 2.5}, {"num_scenarios": "many"}, {"budget_usd": 0}, {"max_runtime_s": True}, {"num_candidates": "inf"}],
)
def test_numbers_that_are_none_are_blockers(given_):
    assert codes(run_preflight(READY, parameters=given_).blockers) == ["validation_error"]


def test_what_means_nothing_is_a_warning():
    assert codes(run_preflight(READY, parameters={"speed": 9}).warnings) == ["unknown_parameter"]


@given(
    st.dictionaries(
        st.sampled_from(["num_candidates", "num_scenarios", "budget_usd", "budget_tokens", "seed_candidate_ids", "x"]), JSON
    )
)
def test_whatever_is_given_the_numbers_fit(parameters):
    config = run_preflight(READY, parameters=parameters).normalized_config
    assert 1 <= config["num_candidates"] <= 50
    assert 1 <= config["num_scenarios"] <= 50
    assert config["budget_usd"] is None or config["budget_usd"] > 0
