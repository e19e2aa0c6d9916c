"""The pager, at a terminal with a program in its place that says what it was given."""

import pytest

from cli.running import script, treadle
from cli.screens import ScreenTerminal

LONG = "\n".join(f"line {number}" for number in range(60))


@pytest.fixture
def pager(home):
    path = home / "pager"
    path.write_text(f"#!/bin/sh\nsed 's/^/paged: /' | tee -a {home}/paged\n")
    path.chmod(0o755)
    return str(path)


def shown(home, *args, **env):
    """Run a command to its end at a terminal of 24 lines; what it wrote, and what the pager was given."""
    with ScreenTerminal(home, *args, **env) as terminal:
        assert terminal.end() == 0
    paged = home / "paged"
    return terminal.shown.replace("\r\n", "\n"), paged.read_text() if paged.exists() else ""


def test_output_that_is_longer_than_the_terminal_is_paged(home, pager):
    treadle(home, "ask", "x", "-m", script(home, LONG), "--run-id", "r")
    screen, paged = shown(home, "show", "r", PAGER=pager)
    assert "paged: run r\n" in screen
    assert "line 59" in paged


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["--no-pager"], {}),
        ([], {"PAGER": ""}),
        ([], {"PAGER": "cat"}),
        ([], {"PAGER": "no-such-pager"}),
        ([], {"PAGER": "'unfinished"}),
        ([], {"TERM": "dumb"}),
    ],
)
def test_it_is_printed_directly_where_no_pager_is_wanted_or_there(home, pager, words, env):
    treadle(home, "ask", "x", "-m", script(home, LONG), "--run-id", "r")
    screen, paged = shown(home, "show", "r", *words, **{"PAGER": pager, **env})
    assert "line 59" in screen
    assert paged == ""


def test_short_output_is_printed_directly(home, pager):
    treadle(home, "ask", "hello", "-m", script(home, "short"), "--run-id", "r")
    for command in (["runs"], ["audit"], ["show", "r"]):
        screen, paged = shown(home, *command, PAGER=pager)
        assert paged == ""
        assert screen


def test_a_pipe_is_never_paged(home, pager):
    treadle(home, "ask", "x", "-m", script(home, LONG), "--run-id", "r")
    ran = treadle(home, "show", "r", PAGER=pager)
    assert "paged:" not in ran.out
    assert not (home / "paged").exists()


def test_a_reading_is_paged_and_its_notes_stay_below(home, pager):
    (home / "main.py").write_text("\n\n".join(f"def name_{number}():\n    return {number}" for number in range(40)))
    screen, paged = shown(home, "read", str(home / "main.py"), "--no-model", "--source", PAGER=pager)
    assert "return 39" in paged
    assert not screen.rstrip().splitlines()[-1].startswith("paged:")


def test_a_pager_that_is_left_early_is_no_error(home):
    treadle(home, "ask", "x", "-m", script(home, "\n".join(["a long line " * 20] * 5000)), "--run-id", "r")
    screen, _ = shown(home, "show", "r", PAGER="head -n 3")
    assert len(screen.splitlines()) == 3


@pytest.mark.parametrize("columns", [80, 48])
def test_runs_keep_their_titles_on_a_narrow_terminal(home, columns):
    treadle(home, "ask", "Which notes mention the dentist?", "-m", script(home, "none"), "--run-id", "5f0c2a9be1d37f64")
    with ScreenTerminal(home, "runs", columns=columns) as terminal:
        lines = terminal.seen("Which notes m")
        assert terminal.end() == 0
    assert lines[0].startswith("RUN               WHEN")
    assert lines[0].rstrip().endswith("TITLE")
    assert all(len(line) <= columns for line in lines)
