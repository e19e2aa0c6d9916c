"""Patterns of schemas: what RE2 makes of the spellings that other engines have, and what isn't checked."""

import logging

import pytest

from treadle.tools.patterns import compile_re2


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        (r"^a\Z", "a", True),
        (r"^a\Z", "ab", False),
        (r"^\u00e9+$", "ééé", True),
        (r"\\u00e9", "\\u00e9", True),
        (r"^\p{Lu}$", "É", True),
        (r"^\d$", "٣", False),
        ("^a$", "a\n", False),
        (r"^a\/b\-c$", "a/b-c", True),
        ("^.$", "\ud800", True),
        ("\ud800", "\ud800", True),
        ("", "anything", True),
    ],
)
def test_a_pattern_matches_anywhere_in_a_text(source, text, found):
    pattern = compile_re2(source)
    assert (pattern is not None and pattern.found_in(text)) is found


@pytest.mark.parametrize("source", ["(?=a)b", "(?<!a)b", r"(a)\1", "a++", "a{1,1001}", "(", r"\p{L}{900}", r"\cA"])
def test_what_cannot_be_expressed_is_not_checked_and_said_once(source, caplog):
    with caplog.at_level(logging.WARNING, "treadle"):
        assert compile_re2(f"{source}x{source}") is None
        assert compile_re2(f"{source}x{source}") is None
    assert len(caplog.records) == 1
    assert "isn't checked" in caplog.text


@pytest.mark.parametrize("source", [None, 5, ["a"]])
def test_what_is_no_text_is_no_pattern(source):
    assert compile_re2(source) is None


def test_a_text_too_long_for_its_pattern_is_not_checked():
    pattern = compile_re2("a[ab]{900}c")
    assert pattern is not None
    assert not pattern.found_in("ab" * 100)
    assert pattern.found_in("ab" * 10_000)
