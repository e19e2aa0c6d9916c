"""The status line: drawn in place, erased before anything else is written, and left nowhere."""

import asyncio
import io
import sys
from contextlib import contextmanager

import pyte
import pytest

from treadle.cli.ui.screen import Screen
from treadle.cli.ui.status_line import DELAY, LONG_WAIT, StatusLine


class Tty(io.StringIO):
    """Takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


class Drawn:
    """A status line on a screen of so many columns, and the time."""

    def __init__(self, columns=48, **how):
        self.now = 0.0
        self.tty = Tty()
        self.columns = columns
        self.line = StatusLine(self.tty, lambda text: text[: columns - 1], clock=lambda: self.now, **how)

    def shown(self):
        return shown(self.tty, self.columns)


def shown(tty, columns=48):
    """The lines that a terminal shows."""
    screen = pyte.Screen(columns, 10)
    pyte.Stream(screen).feed(tty.getvalue().replace("\n", "\r\n"))
    return [line.rstrip() for line in screen.display if line.strip()]


@pytest.fixture(autouse=True)
def _terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")


@contextmanager
def waiting(drawn, describe):
    """A wait that has lasted long enough to be shown."""
    with drawn.line.showing(describe):
        drawn.now += DELAY
        yield


def in_loop(work):
    async def run():
        return work()

    return asyncio.run(run())


def test_a_wait_is_shown_anew_as_it_changes_and_then_erased():
    drawn, said = Drawn(), ["one"]

    def work():
        with drawn.line.showing(lambda: said[0]):
            drawn.line.refresh()
            assert drawn.shown() == []  # it may be over at once
            drawn.now += DELAY
            drawn.line.refresh()
            assert drawn.shown() == ["one"]
            said[0] = "a longer one"
            drawn.line.refresh()
            assert drawn.shown() == ["a longer one"]
            said[0] = "two"
            drawn.line.refresh()
            assert drawn.shown() == ["two"]
        assert drawn.shown() == []

    in_loop(work)


def test_other_text_takes_its_place_and_it_comes_back_below():
    drawn = Drawn()

    def work():
        with waiting(drawn, lambda: "Working"):
            drawn.line.refresh()
            drawn.line.write(drawn.tty, "A note.\n", is_terminal=True)
            drawn.line.refresh()
            assert drawn.shown() == ["A note.", "Working"]
            drawn.line.write(drawn.tty, "An answer that", is_terminal=True)
            drawn.line.refresh()
            assert drawn.shown() == ["A note.", "An answer that"]  # the rest of the line is the answer's
            drawn.line.write(drawn.tty, " goes on\n", is_terminal=True)
            drawn.line.refresh()
            assert drawn.shown() == ["A note.", "An answer that goes on", "Working"]
        assert drawn.shown() == ["A note.", "An answer that goes on"]

    in_loop(work)


def test_what_a_tool_prints_does_not_run_into_it(monkeypatch):
    drawn = Drawn()
    monkeypatch.setattr(sys, "stdout", drawn.tty)
    monkeypatch.setattr(sys, "stderr", drawn.tty)

    def work():
        with waiting(drawn, lambda: "Working"):
            drawn.line.refresh()
            print("printed")
            print("and", "warned", file=sys.stderr)
            drawn.line.refresh()
            assert drawn.shown() == ["printed", "and warned", "Working"]
        assert (sys.stdout, sys.stderr) == (drawn.tty, drawn.tty)

    in_loop(work)


def test_while_somebody_types_nothing_is_drawn_and_they_have_the_terminal_itself(monkeypatch):
    drawn = Drawn()
    monkeypatch.setattr(sys, "stdout", drawn.tty)
    monkeypatch.setattr(sys, "stderr", drawn.tty)

    def work():
        with waiting(drawn, lambda: "outer"):
            drawn.line.refresh()
            with drawn.line.hidden():
                assert (sys.stdout, sys.stderr) == (drawn.tty, drawn.tty)
                drawn.line.write(drawn.tty, "Run it? ", is_terminal=True)
                drawn.line.refresh()
                assert drawn.shown() == ["Run it?"]
                with waiting(drawn, lambda: "inner"):
                    drawn.tty.write("y\n")
            drawn.now += DELAY
            drawn.line.refresh()
            assert drawn.shown() == ["Run it? y", "outer"]

    in_loop(work)


def test_it_is_drawn_by_itself_while_the_event_loop_runs():
    tty = Tty()
    line = StatusLine(tty, str)

    async def wait():
        described = asyncio.Event()

        def describe():
            described.set()
            return "Working"

        with line.showing(describe):
            await described.wait()
            await asyncio.sleep(0)
            return tty.getvalue()

    assert asyncio.run(wait()) == "\rWorking\x1b[K"
    assert shown(tty) == []


def test_a_terminal_that_cannot_erase_a_line_gets_one_for_each_long_wait(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    drawn = Drawn()

    def work():
        for _ in range(2):
            with drawn.line.showing(lambda: f"{drawn.now:.0f} s  Working"):
                for _ in range(20):
                    drawn.now += 0.5
                    drawn.line.refresh()
        with drawn.line.showing(lambda: "over soon"):
            drawn.now += LONG_WAIT / 2
            drawn.line.refresh()

    in_loop(work)
    assert drawn.tty.getvalue() == "3 s  Working\n13 s  Working\n"


def test_a_line_of_its_own_does_not_interrupt_another(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", Tty())
    drawn = Drawn()

    def work():
        with drawn.line.showing(lambda: "Working"):
            print("It says", end="")
            drawn.now += 2 * LONG_WAIT
            drawn.line.refresh()

    in_loop(work)
    assert drawn.tty.getvalue() == ""


@pytest.mark.parametrize(
    ("term", "file", "quiet"), [("dumb", Tty(), True), ("xterm", io.StringIO(), False), ("xterm", Tty(), True)]
)
def test_where_there_is_no_terminal_or_it_is_not_wanted_nothing_is_drawn(monkeypatch, term, file, quiet):
    monkeypatch.setenv("TERM", term)
    screen = Screen(quiet=quiet, out=io.StringIO(), err=file)

    def work():
        with screen.status.showing(lambda: "Working"):
            before = sys.stdout
            screen.status.draw("Working", at_once=True)
            screen.status.refresh()
            assert sys.stdout is before
        assert file.getvalue() == ""

    in_loop(work)


@pytest.mark.parametrize("columns", [48, 80])
def test_a_long_status_does_not_wrap(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    tty = Tty()
    Screen(out=io.StringIO(), err=tty).status.draw("12 s  Running search(" + "x" * 200, at_once=True)
    (line,) = shown(tty, columns)
    assert len(f"{line}^C") == columns - 1  # what the terminal writes for Ctrl-C doesn't wrap either
    assert line.endswith("…")


@pytest.mark.parametrize(("no_color", "drawn"), [("1", "\rWorking\x1b[K"), ("", "\r\x1b[2mWorking\x1b[0m\x1b[K")])
def test_it_has_a_colour_only_where_colours_are_wanted(monkeypatch, no_color, drawn):
    monkeypatch.setenv("NO_COLOR", no_color)
    tty = Tty()
    Screen(out=io.StringIO(), err=tty).status.draw("Working")
    assert tty.getvalue() == drawn
