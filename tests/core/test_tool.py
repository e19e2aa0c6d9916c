"""A tool's own words."""

from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool


def test_anything_unknown_is_taken_for_a_write_that_may_happen_only_once():
    tool = Tool(ToolSpec("t", "d", {"type": "object"}))
    assert (tool.effect, tool.retry, tool.name, tool.parameters) == ("write", "once", "t", {"type": "object"})
