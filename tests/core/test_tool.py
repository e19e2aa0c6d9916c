"""A tool's own words."""

import pytest

from treadle.core.media import Document
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool, ToolResult, strongest


def test_anything_unknown_is_taken_for_a_write_that_may_happen_only_once():
    tool = Tool(ToolSpec("t", "d", {"type": "object"}))
    assert (tool.effect, tool.retry, tool.name, tool.parameters) == ("write", "once", "t", {"type": "object"})


KEEP = Tool(
    ToolSpec("keep", "d", {"type": "object"}),
    effect="destroy",
    retry="checkable",
    sequential=True,
    effects={"look": "read", "peek": "read", "put": "write", "drop": "destroy"},
)


@pytest.mark.parametrize(
    ("arguments", "effect"),
    [
        ({"action": "look"}, "read"),
        ({"action": "put"}, "write"),
        ({"action": "drop"}, "destroy"),
        ({"action": "Look"}, "destroy"),
        ({"action": ["look"]}, "destroy"),
        ({"action": None}, "destroy"),
        ({}, "destroy"),
    ],
)
def test_a_call_has_the_effect_of_its_action_and_an_unknown_action_the_strongest(arguments, effect):
    assert KEEP.effect_of(arguments) == effect
    assert KEEP.for_call(arguments).effect == effect


def test_an_action_that_reads_may_be_repeated_and_run_beside_others():
    assert [(tool.retry, tool.sequential) for tool in (KEEP.for_call({"action": "look"}), KEEP.for_call({"action": "put"}))] == [
        ("read", False),
        ("checkable", True),
    ]


def test_a_tool_for_one_call_has_one_effect_whatever_it_is_asked_for_then():
    assert KEEP.for_call({"action": "put"}).effect_of({"action": "look"}) == "write"


def test_a_tool_without_actions_is_the_same_for_every_call():
    tool = Tool(ToolSpec("t", "d", {"type": "object"}))
    assert tool.for_call({"action": "look"}) is tool
    assert tool.variants() == (tool,)
    assert [variant.effect for variant in KEEP.variants()] == ["read", "write", "destroy"]


def test_the_strongest_effect_is_the_one_that_can_be_undone_least():
    assert [strongest(effects) for effects in (["read"], ["write", "read"], ["read", "destroy", "write"])] == [
        "read",
        "write",
        "destroy",
    ]


def test_a_result_for_the_model_is_its_text_with_labels_for_images():
    assert str(ToolResult("3 towns", [1])) == "3 towns"
    assert str(ToolResult(["See:", Document(b"# A", name="a.md")])) == "See:\n[document a.md]"


def test_a_copy_may_be_described_otherwise():
    tool = Tool(ToolSpec("look", "Look.", {"type": "object"}))
    assert tool.copy_with(description="Look here.").spec == ToolSpec("look", "Look here.", {"type": "object"})
    assert tool.copy_with(parameters={}).spec == ToolSpec("look", "Look.", {})
