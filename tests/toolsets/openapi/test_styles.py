"""Values in paths, queries, headers and cookies, as the table of styles in OpenAPI has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import ToolProblem
from treadle.toolsets.openapi.parameters import format_header_value, format_path_value, format_query_value, to_parameter_text

LIST = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}

PATHS = [
    ("simple", False, "blue", "blue"),
    ("simple", False, LIST, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"),
    ("simple", True, LIST, "blue,black,brown"),
    ("simple", True, OBJECT, "R=100,G=200,B=150"),
    ("label", False, "blue", ".blue"),
    ("label", False, LIST, ".blue,black,brown"),
    ("label", True, LIST, ".blue.black.brown"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"),
    ("label", True, OBJECT, ".R=100.G=200.B=150"),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, LIST, ";color=blue,black,brown"),
    ("matrix", True, LIST, ";color=blue;color=black;color=brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
    ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
    ("simple", False, "a/b?c#d%", "a%2Fb%3Fc%23d%25"),
    ("simple", False, True, "true"),
    ("simple", False, 1.5, "1.5"),
    ("simple", False, ["a,b"], "a%2Cb"),
]
QUERIES = [
    ("form", True, "blue", "color=blue"),
    ("form", True, "", "color="),
    ("form", True, LIST, "color=blue&color=black&color=brown"),
    ("form", False, LIST, "color=blue,black,brown"),
    ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("spaceDelimited", False, LIST, "color=blue%20black%20brown"),
    ("spaceDelimited", True, LIST, "color=blue&color=black&color=brown"),
    ("pipeDelimited", False, LIST, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("deepObject", True, OBJECT, "color[R]=100&color[G]=200&color[B]=150"),
    ("deepObject", True, {"a": {"b": [1, {"c": 2}]}}, "color[a][b][0]=1&color[a][b][1][c]=2"),
    ("deepObject", True, "blue", "color=blue"),
    ("form", True, [], ""),
    ("form", False, [], ""),
    ("form", True, "a&b=c+d e", "color=a%26b%3Dc%2Bd%20e"),
    ("form", True, [{"a": 1}], "color=%7B%22a%22%3A1%7D"),
]


@pytest.mark.parametrize(("style", "explode", "value", "written"), PATHS)
def test_in_a_path(style, explode, value, written):
    assert format_path_value("color", value, style, explode=explode) == written


@pytest.mark.parametrize("value", ["", ".", "..", None])
def test_a_part_of_a_path_is_never_one_that_leads_elsewhere(value):
    with pytest.raises(ToolProblem, match="color"):
        format_path_value("color", value, "simple", explode=False)


@pytest.mark.parametrize(("style", "explode", "value", "written"), QUERIES)
def test_in_a_query(style, explode, value, written):
    pairs = format_query_value("color", value, style, explode=explode)
    assert "&".join([f"{name}={inner}" for name, inner in pairs]) == written


def test_reserved_letters_may_be_kept_but_for_those_that_end_a_value():
    assert format_query_value("a", "b/c?d:e&f#g", "form", explode=True, reserved=True) == [("a", "b/c?d:e%26f%23g")]


def test_what_is_empty_inside_can_not_be_written():
    with pytest.raises(ToolProblem, match=r"color\.a"):
        format_query_value("color", {"a": []}, "deepObject", explode=True)


@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (False, " blue ", "blue"),
        (False, LIST, "blue,black,brown"),
        (False, OBJECT, "R,100,G,200,B,150"),
        (True, OBJECT, "R=100,G=200,B=150"),
        (False, ["a,b", "c%"], "a%2Cb,c%25"),
    ],
)
def test_in_a_header(explode, value, written):
    assert format_header_value(value, explode=explode) == written


def test_values_as_text():
    assert [to_parameter_text(value) for value in (None, True, 1, 1.5, "a", [1], {"a": 1})] == [
        "",
        "true",
        "1",
        "1.5",
        "a",
        "[1]",
        '{"a":1}',
    ]


@given(st.text(min_size=1))
def test_no_text_leaves_its_place(text):
    if text not in (".", ".."):
        assert not set(format_path_value("p", text, "simple", explode=False)) & set("/?#&=;,")
    ((_, written),) = format_query_value("p", text, "form", explode=True)
    assert not set(written) & set("&=#+ ")
