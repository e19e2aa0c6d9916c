"""docs/seeds.md: every requirement of the five systems has a test that exists, or a departure that is written down."""

import re
from pathlib import Path

import pytest

from named_tests import names_of_tests

DOCS = Path(__file__).parents[2] / "docs"
ASSISTANTS = {"Reading": "R", "Platform": "P", "Coding": "C", "Guidance": "G", "Courses": "U"}
SECTIONS = dict(zip(ASSISTANTS, re.split(r"^## .+$", (DOCS / "seeds.md").read_text(), flags=re.MULTILINE)[1:], strict=True))


def rows(assistant: str) -> list[tuple[str, str, str]]:
    lines = [line for line in SECTIONS[assistant].splitlines() if line.startswith("|")][2:]
    cells = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]
    assert [row for row in cells if len(row) != 3] == []
    return [(row[0], row[1], row[2]) for row in cells]


def missing(evidence: str) -> list[str]:
    """Return what a row names and the repository doesn't have; a row that names nothing is its own fault."""
    tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", evidence)
    departures = re.findall(r"departure: \[[^]]+\]\(([\w-]+\.md)#([\w-]+)\)", evidence)
    if not tests and not departures:
        return [evidence or "nothing"]
    faults = [f"{file}::{test}" for file, test in tests if not has_test(DOCS.parent / file, test)]
    return faults + [f"{page}#{anchor}" for page, anchor in departures if anchor not in anchors(DOCS / page)]


def has_test(file: Path, test: str) -> bool:
    return file.exists() and test in names_of_tests(file)


def anchors(page: Path) -> list[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE) if page.exists() else []
    return [re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_every_requirement_has_a_test_or_a_departure(assistant: str):
    assert [(number, missing(evidence)) for number, _, evidence in rows(assistant) if missing(evidence)] == []


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_requirements_are_numbered_without_gaps(assistant: str):
    assert [number for number, _, _ in rows(assistant)] == [
        f"{ASSISTANTS[assistant]}{n}" for n in range(1, len(rows(assistant)) + 1)
    ]


def test_a_row_without_evidence_is_a_fault():
    assert missing("") == ["nothing"]
    assert missing("`tests/docs/test_seeds.py::test_that_is_not_there`") == ["tests/docs/test_seeds.py::test_that_is_not_there"]
    assert missing("departure: [platform](platform.md#no-such-heading)") == ["platform.md#no-such-heading"]
