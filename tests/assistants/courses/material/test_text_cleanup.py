"""Titles, links and texts that can be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.courses.material.course_types import (
    MAX_LINK_CHARS,
    MAX_TITLE_CHARS,
    clean_title,
    extract_web_link,
    normalize_material_text,
)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("https://e.org/a?b=c#d", "https://e.org/a?b=c#d"),
        (" <http://e.org> ", "http://e.org"),
        ("[watch](https://e.org/a_(b))", "https://e.org/a_(b)"),
        ('[watch](<https://e.org> "title")', "https://e.org"),
        ("**https://e.org/**", "https://e.org/"),
        ("HTTPS://E.ORG", "HTTPS://E.ORG"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//e.org", ""),
        ("e.org", ""),
        ("https://", ""),
        ("https://e.org/a b", ""),
        ("https://e.org/\x07", ""),
        ("https://e.org/\u202e", ""),
        ("https://[e.org", ""),
        ("see the portal", ""),
        ("", ""),
        ("https://e.org/" + "x" * MAX_LINK_CHARS, ""),
        ("[x](javascript:alert(1))", ""),
    ],
)
def test_a_link_leads_to_the_web_or_there_is_none(text, link):
    assert extract_web_link(text) == link


def test_a_title_is_one_line_that_isnt_too_long():
    assert clean_title(" A \n\t<b>B</b>\x00 \u202eC\u200b ") == "A <b>B</b> C"
    assert clean_title("word " * 100) == ("word " * 40).strip()
    assert len(clean_title("x" * 1_000)) == MAX_TITLE_CHARS


@given(text=st.text())
def test_a_text_made_plain_stays_as_it_is_from_then_on(text):
    shown = normalize_material_text(text)
    assert normalize_material_text(shown) == shown
    shown.encode()
    assert all(char.isprintable() or char in "\n\t" or ord(char) > 0x9F for char in shown)
