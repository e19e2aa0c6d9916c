"""Patterns mean the same in every Python that we support."""

import re
from pathlib import Path

import treadle

POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[^}]*\}+)\+")
CHARACTERS = ("quote(secret, safe=", "_UNQUOTED = ", "opening == 2")  # sets of characters, and no repeats


def test_no_group_is_repeated_possessively():
    """Before 3.11.5, `re` doesn't go back to where a repeat of a group began that fails in the middle."""
    sources = sorted(Path(treadle.__file__).parent.rglob("*.py"))
    assert len(sources) > 300
    lines = [line.strip() for path in sources for line in path.read_text().splitlines() if POSSESSIVE_GROUP.search(line)]
    assert [line for line in lines if not any(mark in line for mark in CHARACTERS)] == []
