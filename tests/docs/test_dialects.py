"""The page of dialects names every one of them."""

import re
from pathlib import Path

from treadle.dialects import dialect_names

PAGE = Path(__file__).parents[2] / "docs" / "dialects.md"


def test_every_dialect_has_a_row():
    listed = re.findall(r"^\| `([a-z0-9_]+)`", PAGE.read_text(), re.MULTILINE)
    assert sorted(listed) == dialect_names()
    assert len(set(listed)) == len(listed)
