"""Each row of docs/behaviour.md has a test of its name here, and each test here has its row."""

import re
from pathlib import Path

from named_tests import names_of_tests

HERE = Path(__file__).parent
ROWS = set(re.findall(r"^\| `([a-z-]+)` \|", (HERE.parents[1] / "docs" / "behaviour.md").read_text(), re.MULTILINE))


FILES = [file for file in HERE.glob("test_*.py") if file.name != Path(__file__).name]
TESTS = [name.removeprefix("test_").replace("_", "-") for file in FILES for name in names_of_tests(file)]


def belongs(test: str, row: str) -> bool:
    return test == row or test.startswith(f"{row}--")


def test_every_row_has_a_test():
    assert len(ROWS) > 35
    assert sorted(row for row in ROWS if not any(belongs(test, row) for test in TESTS)) == []


def test_every_test_has_a_row():
    assert sorted(test for test in TESTS if not any(belongs(test, row) for row in ROWS)) == []
