"""Ctrl-C and SIGTERM in commands that take long: what the screen says, and that the way on that it names works."""

import signal
import time
from pathlib import Path

import pytest

from cli.running import PATIENCE, SLOW_TOOLS, TOOLBOX, Terminal, asks, script, start, treadle

ANSWERS = "All is well."


def wait_for(marker: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not marker.exists():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def interrupted(home: Path, tool: str, *words: str, number: int = signal.SIGINT) -> tuple[int, str]:
    """The exit code and stderr of `treadle ask` that is stopped while it uses a tool."""
    marker = home / "marker"
    model = script(home, asks((tool, {"marker": str(marker)})))
    process = start(home, "ask", "Go.", "-m", model, "--tools", SLOW_TOOLS, "--run-id", "cut", "--allow", "*", *words)
    wait_for(marker)
    process.send_signal(number)
    said = process.communicate(timeout=PATIENCE)[1]
    return process.returncode, said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_says_how_to_go_on_and_goes_on(home, number, code):
    ended, said = interrupted(home, "look", number=number)
    assert ended == code
    assert "treadle: interrupted; the run is kept. To go on: treadle resume cut\n" in said
    assert "may have taken effect" not in said
    resumed = treadle(home, "resume", "cut", "-m", script(home, ANSWERS, name="then.json"))
    assert (resumed.code, resumed.out) == (0, f"{ANSWERS}\n")
    assert "← look(" in resumed.err


def test_a_writing_call_that_was_cut_off_is_named_and_a_person_is_asked(home):
    said = interrupted(home, "change")[1]
    assert f'change(marker="{home / "marker"}'[:40] in said
    assert ") was running, and may have taken effect.\n" in said
    resumed = treadle(home, "resume", "cut", "-m", script(home, ANSWERS, name="then.json"))
    assert resumed.code == 3
    assert "treadle settle cut call_1_1 not-happened" in resumed.err


def test_something_else_can_be_said_after_an_interruption(home):
    interrupted(home, "look")
    said = treadle(home, "ask", "Never mind.", "--run-id", "cut", "-m", script(home, ANSWERS, name="then.json"))
    assert (said.code, said.out) == (0, f"{ANSWERS}\n")
    shown = treadle(home, "show", "cut").out
    assert "Cancelled while it was running." in shown


def test_a_run_that_is_not_kept_is_interrupted_without_a_way_on(home):
    marker = home / "marker"
    model = script(home, asks(("change", {"marker": str(marker)})))
    process = start(home, "ask", "Go.", "-m", model, "--tools", SLOW_TOOLS, "--no-journal", "--allow", "*")
    wait_for(marker)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[1]
    assert ") was running, and may have taken effect.\ntreadle: interrupted; the run isn't kept.\n" in said


def test_a_cancelled_run_is_not_called_interrupted(home):
    treadle(home, "ask", "Go.", "-m", script(home, asks(("order", {"item": "A"}))), "--tools", TOOLBOX, "--run-id", "over")
    treadle(home, "runs", "cancel", "over")
    resumed = treadle(home, "resume", "over")
    assert resumed.code == 130
    assert 'treadle: this run was cancelled. To say something else in it: treadle ask --run-id over "…"\n' in resumed.err


def test_in_a_conversation_the_reply_ends_and_another_process_can_go_on(home):
    marker = home / "marker"
    model = script(home, asks(("look", {"marker": str(marker)})))
    with Terminal(home, "chat", "-m", model, "--tools", SLOW_TOOLS, "--run-id", "cut", NO_COLOR="1") as terminal:
        terminal.until("> ")
        terminal.type("Go.\n")
        wait_for(marker)
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("treadle: interrupted; your next message goes on from here.")
        terminal.until("> ")
        assert "treadle resume" not in terminal.shown
        assert terminal.interrupted() == 0
    assert "To go on: treadle resume cut\r\n" in terminal.shown
    assert treadle(home, "resume", "cut", "-m", script(home, ANSWERS, name="then.json")).out == f"{ANSWERS}\n"
