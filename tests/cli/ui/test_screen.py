import asyncio
import errno
import io

import pytest

from cli.running import PATIENCE
from treadle.cli.ui.screen import Screen, has_colour, terminal_columns


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Gone(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error


class Same:
    """Two streams that end in one terminal."""

    def __init__(self):
        self.out, self.err = Terminal(), Terminal()
        self.all = []
        self.out.write = self.err.write = self.all.append

    @property
    def shown(self):
        return "".join(self.all)


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)


def test_answers_go_to_stdout_and_notes_to_stderr():
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out=out, err=err)
    screen.say("Let me ")
    screen.note("a call")
    screen.say("look.")
    screen.end_line()
    assert out.getvalue() == "Let me look.\n"
    assert err.getvalue() == "a call\n"


def test_on_one_terminal_a_note_begins_on_a_line_of_its_own():
    same = Same()
    screen = Screen(out=same.out, err=same.err)
    screen.think("hm")
    screen.say("Let me look")
    screen.note("a call")
    screen.say("It is 40.\n")
    screen.note("done")
    assert same.shown == "hm\nLet me look\na call\nIt is 40.\ndone\n"


def test_quiet_leaves_out_notes_but_never_problems():
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(quiet=True, out=out, err=err)
    screen.note("a call")
    screen.tell("it failed")
    assert err.getvalue() == "it failed\n"


def test_everything_written_is_cleaned():
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out=out, err=err)
    for write in (screen.say, screen.think, screen.line, screen.note, screen.tell, screen.ask):
        write("a\x1b[31mb\x9b2Jc\u202ed")
    assert out.getvalue() + err.getvalue().strip() == "abcd\nabcd\nabcd\nabcd\nabcd\nabcd"


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    assert has_colour(Terminal())
    assert not has_colour(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colour(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour(Terminal())


def test_each_stream_is_painted_if_it_is_such_a_terminal_itself(monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    out, err = Terminal(), io.StringIO()
    screen = Screen(out=out, err=err)
    screen.line("plain")
    screen.line("a leaf", "green")
    screen.line("a rose", "bold red")
    screen.line("a riddle", "invisible")
    screen.tell("a note", "green")
    assert out.getvalue() == "plain\n\x1b[32ma leaf\x1b[0m\n\x1b[1;31ma rose\x1b[0m\na riddle\n"
    assert err.getvalue() == "a note\n"


def test_widths_stay_within_reason(monkeypatch):
    for chosen, width in (("3", 40), ("90", 90), ("99999", 200), ("nonsense", 200)):
        monkeypatch.setenv("COLUMNS", chosen)
        assert terminal_columns(io.StringIO()) == width
    assert Screen(out=io.StringIO(), err=io.StringIO()).width is None


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(errno.ENOSPC, "No space left on device")], ids=["gone", "full"])
def test_an_output_that_takes_nothing_is_reported_once_and_then_nothing_is_written(error):
    gone = []
    screen = Screen(out=Gone(error), err=io.StringIO())
    with pytest.raises(type(error)):
        screen.line("x")
    screen.on_broken = lambda: gone.append(True)
    screen.say("x")
    screen.say("y")
    assert gone == [True]
    assert screen.broken is error


def test_a_note_that_is_held_comes_before_anything_else_or_gives_way_to_another():
    async def work():
        same = Same()
        screen = Screen(out=same.out, err=same.err)
        with screen.status.showing(lambda: "busy"):
            for topic in ("one", "two", "three", "four"):
                screen.hold_note(topic, f"{topic} begins")
            assert screen.replace_held("two", "two is over")
            screen.drop_held("three")
            screen.note("about five", topic="five")
            assert same.shown == "two is over\nabout five\n"
            assert screen.topic == "five"
            screen.say("An answer")
            assert not screen.replace_held("one", "one is over")
        return same.shown

    assert asyncio.run(work()) == "two is over\nabout five\none begins\nfour begins\nAn answer"


def test_a_note_is_held_for_a_second_at_most():
    async def work():
        same, written = Same(), asyncio.Event()
        same.err.write = lambda text: written.set() if text == "one begins\n" else None
        screen = Screen(out=same.out, err=same.err)
        with screen.status.showing(lambda: "busy"):
            screen.hold_note("one", "one begins")
            await asyncio.wait_for(written.wait(), PATIENCE)

    asyncio.run(work())


def test_a_note_is_not_held_where_nothing_else_shows_what_goes_on():
    same = Same()
    Screen(out=same.out, err=same.err).hold_note("one", "one begins")
    Screen(out=same.out, err=same.err, quiet=True).hold_note("two", "two begins")
    assert same.shown == "one begins\n"
