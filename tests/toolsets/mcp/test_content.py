"""What a call brought, as text."""

import pytest
from mcp.types import CallToolResult, TextContent

from treadle.toolsets.mcp.content import format_progress, result_to_text, shorten_middle


def result(*texts, data=None):
    return CallToolResult(content=[TextContent(text=text) for text in texts], structured_content=data)


@pytest.mark.parametrize(
    ("texts", "data", "shown"),
    [
        (["a", "b"], None, "a\n\nb"),
        ([], None, ""),
        ([], {"n": 1}, '{"n":1}'),
        (['{"n": 1}'], {"n": 1}, '{"n": 1}'),
        (["one"], {"n": 1}, 'one\n\n{"n":1}'),
        (["5"], {"result": 5}, "5"),
        (["five"], {"result": "five"}, "five"),
        (["[1, 2]"], {"result": [1, 2]}, "[1, 2]"),
        (["5"], {"result": 5, "more": 6}, '5\n\n{"result":5,"more":6}'),
        (["[1]"], [1], "[1]"),
    ],
)
def test_data_is_shown_unless_the_text_says_it_already(texts, data, shown):
    assert result_to_text(result(*texts, data=data)) == shown


def test_what_is_too_long_keeps_head_and_tail():
    assert shorten_middle("abc", 3) == "abc"
    assert shorten_middle("a" * 5 + "b" * 5, 6) == "aaaa\n[… 4 of 10 characters left out]\nbb"


@pytest.mark.parametrize(
    ("news", "shown"),
    [
        ((1, 4, "half\nway"), "1 of 4: half way"),
        ((1, 4, None), "1 of 4"),
        ((2.5, None, "reading"), "reading"),
        ((3, None, None), "3"),
        ((1, 0, "x" * 1000), "x" * 300),
    ],
)
def test_progress_is_a_line(news, shown):
    assert format_progress(*news) == shown
