"""Front matter: texts by name, and nothing that can grow."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.front_matter import FrontMatter, format_front_matter, parse_front_matter


@pytest.mark.parametrize(
    ("text", "values", "body"),
    [
        (
            "---\nname: pdf\ndescription: Reads PDFs: all of them\n---\n\nThe body.\n",
            {"name": "pdf", "description": "Reads PDFs: all of them"},
            "The body.",
        ),
        ("---\r\nname: 'it''s'\r\n---\r\nbody", {"name": "it's"}, "body"),
        ('---\nname: "a \\"b\\" \\\\"\n---\n', {"name": 'a "b" \\'}, ""),
        ("---\ndescription: >-\n  first\n  second\nname: x\n---\n", {"description": "first second", "name": "x"}, ""),
        ("---\ndescription: first\n  second\n---\n", {"description": "first second"}, ""),
        ("---\nmetadata:\n  author: eve\ntools: [a, b]\nlist:\n  - a\nempty:\n# comment\n- odd\n  more\n---\n", {"empty": ""}, ""),
        ("no front matter\n---\n", {}, "no front matter\n---\n"),
        ("---\nname: never closed\n", {}, "---\nname: never closed\n"),
        ("", {}, ""),
    ],
)
def test_texts_are_read_by_name(text, values, body):
    assert parse_front_matter(text) == FrontMatter(values, body)


def test_a_bomb_stays_text_and_takes_no_time():
    bomb = "---\na: &a lol\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\nname: x\n---\n"
    assert parse_front_matter(bomb).values == {"a": "&a lol", "b": "&b [*a,*a,*a,*a]", "name": "x"}
    begin = time.perf_counter()
    for huge in (
        "---\n" + "a:\n" * 1_000_000,
        "---\n" + "  x\n" * 1_000_000 + "---\n",
        "---\nname: " + "x" * 5_000_000 + "\n---\n",
    ):
        assert parse_front_matter(huge).values == {}
    assert time.perf_counter() - begin < 20


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(max_size=60), max_size=4), st.text(max_size=100))
def test_what_is_written_is_read_back(values, body):
    read = parse_front_matter(format_front_matter(values, body))
    assert read.values == {name: " ".join(text.split()) for name, text in values.items() if text}
    assert read.body == body.replace("\r\n", "\n").strip()
