"""Records docs/coding.svg and docs/code-session.svg, jobs and a session of the coding assistant as animated pictures:
`.venv/bin/python scripts/record.py`, or with the name of one of them.

The model is a stand-in: a server on loopback whose replies are written in advance, here. All else is real: a shell at a terminal,
the commands typed into it, git, the tests, the sandbox, and the times, of which only waits are shortened.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, NamedTuple

from terminal_picture import drawn
from terminal_window import Window

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # where the stand-in and the project with a bug are

from assistants.coding.stage import project  # noqa: E402 - the line above finds it
from wire import Reply, WireServer, call, gate, pause, reply, say  # noqa: E402 - the same
from wire.script import Used  # noqa: E402 - the same

PROMPT = "$"
READING, LOOKING = 1.5, 3.0  # seconds before a command, and for what has to be read


def asks(read: int, wrote: int, *calls: tuple[str, Mapping[str, Any]], first: Sequence[Any] = (pause(0.8),)) -> Reply:
    """A reply of the stand-in that calls tools, with the tokens that it says it took."""
    return reply(*first, *[call(name, arguments) for name, arguments in calls], used=Used(read, wrote))


def answers(read: int, wrote: int, text: str) -> Reply:
    """A reply of the stand-in in words, which come one after the other."""
    return reply(pause(0.8), *[part for word in text.split(" ") for part in (say(f"{word} "), pause(0.03))], used=Used(read, wrote))


COMMANDS = ('treadle debug "prices are off by one"', "treadle diff", "treadle jobs", "treadle undo --all")
REPAIR = (
    asks(2_140, 46, ("search", {"action": "grep", "pattern": "def price"}), ("file", {"action": "read", "path": "shop.py"})),
    asks(2_390, 38, ("file", {"action": "replace", "path": "shop.py", "old": "3 + 1", "new": "3"})),
    asks(2_470, 12, ("test", {})),
    asks(2_560, 44, ("give_answer", {"summary": "Mend the price. It added 1 to every total, whatever the count.", "done": True})),
)


def work_in_jobs(window: Window) -> None:
    """What is typed into a shell."""
    for command in COMMANDS:
        window.until(PROMPT)
        window.wait(READING)
        window.enter(command)
    window.until(PROMPT)


STEERED = Event()  # when the person has said something during the turn
TEST = "\n\ndef test_a_large_order():\n    assert price(1_000) == 3_000\n"
ANSWER = "The price added 1 to every total, whatever the count. That is gone, a large order has a test, and all 3 tests pass."
NAMED = "PRICE = 3\n\n\ndef price(count):\n    return count * PRICE"
SESSION = (
    asks(
        2_410,
        58,
        ("grep", {"pattern": "price"}),
        ("read_file", {"path": "test_shop.py"}),
        ("read_file", {"path": "shop.py"}),
        first=(pause(0.8), say("I'll see what the tests expect of it.")),
    ),
    asks(2_730, 34, ("replace_text", {"path": "shop.py", "old": "3 + 1", "new": "3"})),
    asks(2_840, 11, ("run_tests", {}), first=(gate(STEERED), pause(0.8))),
    asks(2_910, 52, ("insert_lines", {"path": "test_shop.py", "line_number": 10, "content": TEST})),
    asks(3_050, 11, ("run_tests", {})),
    answers(3_120, 38, ANSWER),
    asks(3_260, 63, ("replace_text", {"path": "shop.py", "old": "def price(count):\n    return count * 3", "new": NAMED})),
    asks(3_390, 11, ("run_tests", {})),
    answers(3_450, 15, "The 3 is called `PRICE` now, and the tests still pass."),
)


def work_in_a_session(window: Window) -> None:
    """What is typed into a session."""
    window.until(PROMPT)
    window.wait(READING)
    window.enter("treadle code")
    window.until("ask>")
    window.wait(READING)
    window.write("The price in @sho")
    window.press("Tab", "Tab")
    window.enter(" is one too high. Correct it")
    window.until("[e]dit:")
    window.wait(LOOKING)
    window.hold()
    window.enter("y")
    window.until("gpt-4o-mini")
    window.enter("Add a test of a large order, too")
    STEERED.set()
    window.until("[e]dit:")
    window.wait(LOOKING)
    window.enter("y")
    window.until("ask>")
    window.wait(LOOKING)
    window.press("BTab", "Shift-Tab")
    window.wait(READING)
    window.enter("Give the 3 a name")
    for command in ("/diff", "/undo", "/cost", "/quit"):
        window.until("accept-edits>")
        window.wait(READING if command == "/diff" else LOOKING)
        window.enter(command)
    window.until(PROMPT)
    window.wait(LOOKING)


class Picture(NamedTuple):
    """A recording: what is typed, what the stand-in replies, and the terminal's size."""

    title: str
    work: Callable[[Window], None]
    replies: Sequence[Reply]
    columns: int
    rows: int


PICTURES = {
    "coding": Picture("A session in a terminal: " + ", ".join(COMMANDS), work_in_jobs, REPAIR, 100, 50),
    "code-session": Picture("A session of treadle code in a terminal", work_in_a_session, SESSION, 96, 30),
}


def record(name: str, picture: Picture) -> None:
    """Record one of them anew."""
    with TemporaryDirectory() as place, WireServer(picture.replies) as server:
        home = Path(place)
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "PS1": f"\n\x1b[1;32m{PROMPT}\x1b[0m ",
            "TREADLE_MODEL": "openai:gpt-4o-mini",  # a name whose price is known
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        with Window(project(home), home, environment, picture.columns, picture.rows) as window:
            picture.work(window)
        film = window.film()
    (ROOT / "docs" / f"{name}.svg").write_text(drawn(film, title=picture.title, place="~/shop", columns=picture.columns))


def main(*names: str) -> None:
    """Record them anew, or those that are named."""
    for name in names or PICTURES:
        record(name, PICTURES[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
