import pytest

from dialects.parsing import TOOLS, hear
from treadle.core.requests import ToolSpec
from treadle.dialects import get_dialect
from treadle.dialects.dialect import format_tool_listing

NAMES = ("auto", "bash", "hermes", "json", "xml")


def test_a_tool_is_told_of_in_a_line_with_its_arguments() -> None:
    properties = {
        "item": {"type": "string", "description": "Article\n  number."},
        "count": {"type": "integer", "default": 1},
        "size": {"enum": ["s", "m"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array"},
        "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "where": {"$ref": "#/$defs/Place"},
        "how": {"type": ["string", "integer"]},
        "what": {},
    }
    spec = ToolSpec(
        "order",
        "Orders an item.\n\nReally.",
        {"type": "object", "properties": properties, "required": ["item"], "$defs": {"Place": {"type": "object"}}},
    )
    assert format_tool_listing([spec, ToolSpec("now", "", {})]) == (
        '- order(item: string, count?: integer = 1, size?: "s" or "m", tags?: list of string, rows?: list of any, '
        "when?: string or null, where?: object, how?: string or integer, what?: any): Orders an item. Really.\n"
        "    item: Article number.\n"
        "- now()"
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_explanation_names_every_tool_and_is_short(name: str) -> None:
    told = get_dialect(name).explain(TOOLS)
    assert all(f"- {tool.name}(" in told for tool in TOOLS)
    assert len(told) - len(format_tool_listing(TOOLS)) < 600


@pytest.mark.parametrize("name", NAMES)
def test_without_tools_there_is_nothing_to_explain(name: str) -> None:
    assert get_dialect(name).explain(()) == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_form_that_is_taught_is_the_form_that_is_heard(name: str) -> None:
    lesson = get_dialect(name).explain(TOOLS).replace("TOOL", "ls").replace("ARGUMENT", "path").replace("VALUE", ".")
    sample = "\n".join(line for line in lesson.splitlines() if line.startswith(("<", "{", "```", "ls ")))
    assert hear(get_dialect(name), sample).names == ["ls"]
