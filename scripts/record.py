"""Records docs/coding.svg, a session with the coding assistant as an animated picture: `.venv/bin/python scripts/record.py`.

The model is a stand-in: a server on loopback whose replies are written in advance, here. All else is real: a shell at a
pseudo-terminal, the commands typed into it, git, the tests, the sandbox, and the times, of which only idle ones are shortened.
"""

import os
import pty
import re
import select
import sys
import termios
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "coding.svg"
sys.path.insert(0, str(ROOT / "tests"))  # where the stand-in and the project with a bug are

from assistants.coding.stage import project  # noqa: E402 - the line above finds it
from wire import Reply, WireServer, call, pause, reply  # noqa: E402 - the same
from wire.script import Used  # noqa: E402 - the same

COMMANDS = ('treadle debug "prices are off by one"', "treadle diff", "treadle jobs", "treadle undo --all")
PROMPT = "$ "
COLUMNS, ROWS = 100, 50
KEY, READING = 0.04, 1.5  # seconds between two keys, and before the first of a command
LONGEST, PATIENCE = 1.5, 120  # seconds: what is left of an idle time, and when it is too long


def asks(read: int, wrote: int, **calls: dict[str, Any]) -> Reply:
    """A reply of the stand-in that calls tools, with the tokens that it says it took."""
    return reply(pause(0.8), *[call(name, arguments) for name, arguments in calls.items()], used=Used(read, wrote))


REPLIES = (
    asks(2_140, 46, search={"action": "grep", "pattern": "def price"}, file={"action": "read", "path": "shop.py"}),
    asks(2_390, 38, file={"action": "replace", "path": "shop.py", "old": "3 + 1", "new": "3"}),
    asks(2_470, 12, test={}),
    asks(2_560, 44, give_answer={"summary": "Mend the price. It added 1 to every total, whatever the count.", "done": True}),
)

PIECES = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|[^\x00-\x1f]")
STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "34": "blue", "35": "magenta", "36": "cyan"}


class Cell(NamedTuple):
    """A character on the screen: in which colours, and when it came."""

    text: str
    style: str
    at: float


class Screen:
    """What a terminal shows, of the few sequences that are printed here; others are left out. `home` is shown as `~`."""

    def __init__(self, terminal: int, home: Path) -> None:
        self.rows: list[list[Cell]] = [[]]
        self.clock = 0.0
        self._terminal, self._home = terminal, str(home)
        self._column, self._style = 0, ""

    def until(self, words: str) -> None:
        """Show what comes, until the last row is these words. A long time in which nothing comes is taken for a shorter one."""
        while "".join([cell.text for cell in self.rows[-1]]) != words:
            began = monotonic()
            if not select.select([self._terminal], [], [], PATIENCE)[0]:
                raise TimeoutError(f"{words!r} never came")
            self.clock += min(monotonic() - began, LONGEST)
            for piece in PIECES.finditer(os.read(self._terminal, 65536).decode().replace(self._home, "~")):
                self._obey(piece.group(), piece.group(2), (piece.group(1) or "").split(";"))

    def wait(self, seconds: float) -> None:
        """Let time pass, as a person does who reads or types."""
        sleep(seconds)
        self.clock += seconds

    def _obey(self, piece: str, order: str | None, codes: list[str]) -> None:
        if piece == "\n":
            self.rows.append([])
        elif piece == "\r":
            self._column = 0
        elif order == "K":
            del self.rows[-1][self._column :]
        elif order == "m":
            for code in codes:
                self._style = f"{self._style} {STYLES[code]}".strip() if code in STYLES else ""
        elif order is None:
            self._put(piece)

    def _put(self, character: str) -> None:
        if self._column == COLUMNS:
            self.rows.append([])
            self._column = 0
        self.rows[-1][self._column : self._column + 1] = [Cell(character, self._style, round(self.clock, 2))]
        self._column += 1


def recorded(folder: Path, home: Path, url: str) -> Screen:
    """The screen after all commands were typed into a shell in the folder."""
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "PS1": f"\n\x1b[1;32m{PROMPT.strip()}\x1b[0m ",
        "TREADLE_MODEL": "openai:gpt-4o-mini",  # a name whose price is known
        "OPENAI_BASE_URL": f"{url}/v1",
    }
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (ROWS, COLUMNS))
    begin = ["sh", "-c", 'exec sh -i <"$0" >"$0" 2>&1', os.ttyname(theirs)]  # opened by a session's leader, it is its terminal
    screen = Screen(ours, home)
    with Popen(begin, cwd=folder, env=environment, start_new_session=True) as shell:  # noqa: S603 - nothing of it is anyone's input
        try:
            for command in COMMANDS:
                screen.until(PROMPT)
                screen.wait(READING)
                for index, key in enumerate(command, 1):
                    os.write(ours, key.encode())
                    screen.until(PROMPT + command[:index])
                    screen.wait(KEY)
                os.write(ours, b"\n")
            screen.until(PROMPT)
        finally:
            shell.kill()
    return screen


WIDE, HIGH, MARGIN, TOP = 7.8, 19, 22, 62  # pixels: a character, a row, what is around them, where the first row stands
PAGE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>{title}</title>
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d8dee9; white-space: pre }}
tspan, .cursor {{ animation: come 1ms step-end backwards }}
@keyframes come {{ from {{ visibility: hidden }} }}
@media (prefers-reduced-motion: reduce) {{ tspan, .cursor {{ animation: none }} }}
.bold {{ font-weight: bold }} .dim {{ fill: #8b95a7 }} .red {{ fill: #ff7b72 }} .green {{ fill: #7ee787 }}
.yellow {{ fill: #e3b341 }} .blue {{ fill: #79c0ff }} .magenta {{ fill: #d2a8ff }} .cyan {{ fill: #76d9e6 }}
</style>
<rect x=".5" y=".5" width="{inner}" height="{tall}" rx="9" fill="#12161e" stroke="#394150"/>
<g fill="#394150"><circle cx="23" cy="20" r="5.5"/><circle cx="42" cy="20" r="5.5"/><circle cx="61" cy="20" r="5.5"/></g>
<text x="{middle}" y="24.5" text-anchor="middle" class="dim">~/shop</text>
<g xml:space="preserve">
{rows}
</g>
</svg>
"""


def drawn(screen: Screen) -> str:
    """The picture: each row a line of text, and each piece of it there from the time that it came."""
    rows = screen.rows[next(index for index, row in enumerate(screen.rows) if row) :]
    width, height = round(COLUMNS * WIDE + 2 * MARGIN), TOP + len(rows) * HIGH
    lines = [f'<text x="{MARGIN}" y="{TOP + index * HIGH}">{"".join(_spans(row))}</text>' for index, row in enumerate(rows) if row]
    cursor = f'x="{MARGIN + len(rows[-1]) * WIDE:.1f}" y="{TOP + (len(rows) - 1) * HIGH - 12}" width="8" height="16"'
    lines.append(f'<rect class="cursor" {cursor} fill="#8b95a7" style="animation-delay:{screen.clock:.2f}s"/>')
    title = "A session in a terminal: " + ", ".join(COMMANDS)
    return PAGE.format(
        width=width, height=height, inner=width - 1, tall=height - 1, middle=width // 2, title=escape(title), rows="\n".join(lines)
    )


def _spans(row: list[Cell]) -> Iterator[str]:
    for (style, at), cells in groupby(row, lambda cell: (cell.style, cell.at)):
        words = escape("".join([cell.text for cell in cells]), quote=False)
        colours = f'class="{style}" ' if style else ""
        yield f'<tspan {colours}style="animation-delay:{at:g}s">{words}</tspan>'


def main() -> None:
    """Record it anew."""
    with TemporaryDirectory() as place, WireServer(REPLIES) as server:
        home = Path(place)
        PICTURE.write_text(drawn(recorded(project(home), home, server.url)))


if __name__ == "__main__":
    main()
