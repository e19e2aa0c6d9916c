"""What a question asks for, by its words, and which actions an answer suggests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.guidance.guidance_types import classify_question, extract_actions
from treadle.assistants.guidance.stages import default_actions


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("", "setup_guidance"),
        ("What constraints are in my ProblemSpec?", "spec_refinement"),
        ("add a budget constraint of 10k, weight 80", "spec_refinement"),
        ("Compare my ProblemSpec constraints with my WorldModel resources", "spec_refinement"),
        ("What is a world model?", "clarification"),
        ("Explain world models to me", "clarification"),
        ("Who are the actors?", "world_model_guidance"),
        ("the mechanisms look wrong", "world_model_guidance"),
        ("Can I start the pipeline?", "run_recommendation"),
        ("how do the candidates look", "run_recommendation"),
        ("Why is that?", "clarification"),
        ("The settings of my address", "contextual_guidance"),  # neither `set` nor `add` is a word in it
        ("Thanks", "contextual_guidance"),
    ],
)
def test_the_kind_follows_from_whole_words(query, kind):
    assert classify_question(query, "setup") == kind


@pytest.mark.parametrize(
    ("stage", "kind"),
    [("ready_to_run", "run_recommendation"), ("running", "general_guidance"), ("completed", "general_guidance")],
)
def test_without_a_question_the_stage_says_it(stage, kind):
    assert classify_question(" ", stage) == kind


def test_actions_are_numbered_lines_else_bulleted_ones_else_the_usual():
    assert extract_actions("Do this:\n1. **Add** a goal\n2) Run `it`\n- and this", "setup") == ("Add a goal", "Run it")
    assert extract_actions("- one\n* two\n• three\n- four\n- five", "setup") == ("one", "two", "three", "four")
    assert extract_actions("Well.", "ready_to_run") == default_actions("ready_to_run")
    assert extract_actions("```\n1. no action\n```\nNothing.", "setup") == default_actions("setup")


@given(st.text())
def test_any_text_has_a_kind_and_actions(text):
    assert classify_question(text, "setup")
    assert 0 < len(extract_actions(text, "setup")) <= 4
