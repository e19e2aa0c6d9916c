"""A newcomer's path: everything that the tutorial says to write and to run, from its text alone, in the given order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([\w.]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with its output."""
    pieces = re.split(r"^\$ (.+)\n", block, flags=re.MULTILINE)
    assert pieces[0] == ""
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def matches(printed: str, shown: str) -> bool:
    """Return whether output is as the tutorial shows it; `…` stands for anything, on a line of its own also for several lines."""
    pattern = re.escape(shown.strip("\n")).replace("…", ".*?")
    return re.fullmatch(pattern, printed.strip("\n"), re.DOTALL) is not None


@pytest.fixture
def environment(tmp_path):
    found = {name: value for name, value in os.environ.items() if not name.startswith(("TREADLE_", "PYTEST_"))}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{found['PATH']}"
    return {**found, "PATH": programs, "HOME": str(tmp_path), "PWD": str(tmp_path), "COLUMNS": "200"}


def test_a_newcomer_gets_through_the_tutorial(tmp_path, environment):
    ran = 0
    for language, title, text in BLOCK.findall(TUTORIAL.read_text()):
        if title:
            (tmp_path / title).write_text(text)
        for command, shown in commands(text) if language == "console" else ():
            if command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                environment[name] = value.replace("$PWD", str(tmp_path))
                continue
            how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 120}
            done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, **how)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            assert matches(done.stdout, shown), f"{command} printed\n{done.stdout}{done.stderr}\ninstead of\n{shown}"
            ran += 1
    assert ran > 15


def test_every_block_of_the_tutorial_is_a_file_or_a_command():
    kinds = {(language, bool(title)) for language, title, _ in BLOCK.findall(TUTORIAL.read_text())}
    assert kinds == {("python", True), ("console", False), ("sh", False)}
    assert len(BLOCK.findall(TUTORIAL.read_text())) * 2 == TUTORIAL.read_text().count("```")


def test_output_is_compared_with_what_is_shown():
    assert matches("RUN  WHEN\nmonday  06:31  waiting\n", "RUN …\nmonday … waiting\n")
    assert not matches("waiting\n", "answered\n")
    assert not matches("waiting\nmore\n", "waiting\n")
