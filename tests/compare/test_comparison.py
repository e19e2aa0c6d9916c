"""The comparison with pydantic-ai: its figures are those of the programs in the repository, and of the last run."""

import re
from pathlib import Path

import pytest
from bench.compare.__main__ import OURS, RESULTS, THEIRS, TITLES
from bench.compare.lines import count_lines, imported_packages

ROOT = Path(__file__).parents[2]
TABLE = [line for line in RESULTS.read_text().splitlines() if line.startswith("|")]


def test_every_example_has_a_counterpart():
    programs = sorted(TITLES)
    examples = {path.stem for path in OURS.folder.glob("*.py")}
    assert sorted(examples - {"code_mode"}) == programs  # pydantic-ai-slim has no such mode
    assert sorted(path.stem for path in THEIRS.folder.glob("*.py") if path.stem != "scripted") == programs


def test_the_page_has_the_table_of_the_last_run():
    page = (ROOT / "docs" / "comparison.md").read_text()
    assert [line for line in TABLE if line not in page.splitlines()] == []


def test_the_page_names_the_version_that_was_compared():
    (version,) = re.findall(r"^pydantic-ai-slim==(.+)$", (ROOT / "bench/compare/requirements.txt").read_text(), re.MULTILINE)
    assert f"pydantic-ai-slim {version}" in RESULTS.read_text()
    assert f"pydantic-ai {version}" in (ROOT / "docs" / "comparison.md").read_text()


@pytest.mark.parametrize(("program", "title"), TITLES.items())
def test_no_example_is_longer_than_its_counterpart(program, title):
    ours, theirs = count_lines(OURS.source(program)), count_lines(THEIRS.source(program))
    assert ours <= theirs
    (row,) = [[cell.strip() for cell in line.split("|")] for line in TABLE if line.startswith(f"| {title} |")]
    assert (row[2], row[3], row[4], row[7]) == (str(ours), "0", str(theirs), "yes")
    assert (row[6], OURS.packages(program)) == (", ".join(THEIRS.packages(program)) or "-", [])


SCRIPTED = '''"""A docstring."""

import os
from library import (
    Agent,
    Run,
)
from scripted import calls, scripted


def reply(request):
    return calls(request)


model = os.environ.get("MODEL") or scripted(
    reply,
)  # a comment
agent = Agent(model)


# a comment
def main(run: Run):
    """A docstring

    of three lines.
    """
    return """text
    of two lines"""
'''


def test_only_code_counts_and_a_wrapped_import_is_one_line():
    counted = ["from library import (", "agent = Agent(model)", "def main(run: Run):", '    return """text', '    of two lines"""']
    assert count_lines(SCRIPTED) == len(counted)


def test_what_the_program_uses_besides_its_model_counts():
    assert count_lines(SCRIPTED + "\nprint(os.sep)\n") == 5 + 2
    assert count_lines(SCRIPTED + "\nprint(reply)\n") == 5 + 4  # the function, and the import that it needs


def test_packages_are_those_outside_of_the_standard_library():
    assert imported_packages("import os.path, mcp.server\nfrom dbos import DBOS\nfrom . import own") == {"mcp", "dbos"}
