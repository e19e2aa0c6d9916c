"""Titles, links and texts that can be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.courses.material.tidy import LONGEST_LINK, LONGEST_TITLE, link_of, plain, title_of


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
        ("https://e.org/" + "x" * LONGEST_LINK, ""),
        ("[x](javascript:alert(1))", ""),
    ],
)
def test_a_link_leads_to_the_web_or_there_is_none(text, link):
    assert link_of(text) == link


def test_a_title_is_one_line_that_isnt_too_long():
    assert title_of(" A \n\t<b>B</b>\x00 \u202eC\u200b ") == "A <b>B</b> C"
    assert title_of("word " * 100) == ("word " * 40).strip()
    assert len(title_of("x" * 1_000)) == LONGEST_TITLE


@given(text=st.text())
def test_a_text_made_plain_stays_as_it_is_from_then_on(text):
    shown = plain(text)
    assert plain(shown) == shown
    shown.encode()
    assert all(char.isprintable() or char in "\n\t" or ord(char) > 0x9F for char in shown)
