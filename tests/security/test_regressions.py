"""docs/security-regressions.md names tests that exist, and all of `test_findings.py`."""

import re
from pathlib import Path

from named_tests import names_of_tests

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| .+ \| .+ \| `(tests/[\w/]+\.py)::(test_\w+)` \| .+ \| (?:[0-9a-f]{7}(?:, )?)+ \|$",
    (ROOT / "docs" / "security-regressions.md").read_text(),
    re.MULTILINE,
)


def test_every_finding_has_a_test_that_exists():
    assert len(ROWS) > 20
    assert [(file, test) for file, test in ROWS if test not in names_of_tests(ROOT / file)] == []


def test_every_test_of_a_finding_has_its_row():
    file = "tests/security/test_findings.py"
    assert sorted(test for name, test in ROWS if name == file) == sorted(names_of_tests(ROOT / file))
