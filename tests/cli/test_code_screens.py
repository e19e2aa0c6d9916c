"""`treadle code` on the screen of a real terminal multiplexer: the main flow, a resized and a narrow window, no colour, Ctrl-C."""

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import PATIENCE, asks, command, environment, script

pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="There is no tmux here"),
    pytest.mark.usefixtures("no_code_analysis"),
]

SHOP = "def price(count):\n    return count * 3 + 1\n"
READ = ("read_file", {"path": "shop.py"})
FIX = ("replace_text", {"path": "shop.py", "old": " + 1", "new": ""})
TASKS = ("update_tasks", {"tasks": [{"title": "Fix the price", "state": "active"}, {"title": "Run the tests"}]})


class Tmux:
    """A window of a tmux server of its own."""

    def __init__(self, home: Path, folder: Path, *args: str, columns: int = 80, rows: int = 24, **env: str) -> None:
        self._socket = str(home / "tmux")
        given = environment(home, **env)
        words = ["env", "-i", *[f"{name}={value}" for name, value in given.items()], "TERM=screen", *command(*args)]
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "s", *size, "-c", str(folder), f"exec {shlex.join(words)}")

    def _tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", "-S", self._socket, *words], check=True, capture_output=True, text=True).stdout

    def keys(self, *names: str) -> None:
        self._tmux("send-keys", "-t", "s", *names)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "s", "-l", text)
        self.keys("Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "s", "-x", str(columns), "-y", str(rows))

    def screen(self, *, raw: bool = False) -> str:
        return self._tmux("capture-pane", "-p", "-t", "s", "-S", "-200", *(("-e",) if raw else ()))

    def seen(self, *words: str, last: str = "") -> str:
        """Wait until the words are on the screen, and `last` begins its last line; the screen."""
        deadline = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            lines = [line for line in screen.splitlines() if line.strip()]
            if all(each in screen for each in words) and (not last or (lines and lines[-1].startswith(last))):
                return screen
            assert time.monotonic() < deadline, f"{words} and then {last!r} weren't seen on:\n{screen}"
            time.sleep(0.05)

    def is_over(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if subprocess.run(["tmux", "-S", self._socket, "has-session", "-t", "s"], capture_output=True, check=False).returncode:
                return True
            time.sleep(0.05)
        return False

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def folder(home: Path) -> Path:
    folder = home / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    return folder


@pytest.fixture
def windows() -> Iterator[list[Tmux]]:
    opened: list[Tmux] = []
    yield opened
    for each in opened:
        each.close()


def test_the_main_flow(home, folder, windows):
    model = script(home, asks(TASKS, READ), asks(FIX), "Fixed.")
    windows.append(window := Tmux(home, folder, "code", "-m", model))
    window.seen("need your approval", last="ask>")
    window.type("fix it")
    window.seen("[>] Fix the price", "[ ] Run the tests", "-    return count * 3 + 1", "Run it?")
    window.type("y")
    window.seen("Fixed.", last="ask>")
    window.keys("BTab")
    window.seen(last="accept-edits>")
    window.type("/undo")
    window.seen("Put back: shop.py", last="accept-edits>")
    assert (folder / "shop.py").read_text() == SHOP
    window.keys("C-c")
    assert window.is_over()


def test_turns_are_told_apart_by_blank_lines_and_by_the_style_of_what_is_typed(home, folder, windows):
    windows.append(window := Tmux(home, folder, "code", "-m", script(home, asks(READ), "It is three.", "Yes.")))
    window.seen(last="ask>")
    window.type("what is the price?")
    window.seen("It is three.", last="ask>")
    window.type("sure?")
    lines = window.seen("Yes.", last="ask>").splitlines()
    for typed in ("ask> what is the price?", "ask> sure?"):
        at = lines.index(typed)
        assert (lines[at - 1], bool(lines[at + 1].strip())) == ("", True)
    shown = coloured(window.screen(raw=True))
    assert [shown[line] for line in ("ask> sure?", "Yes.")] == ["1", ""]
    window.type("/quit")
    assert window.is_over()


def test_an_approval_is_short_and_says_why(home, folder, windows):
    edit = ("replace_text", {"path": "shop.py", "old": " + 1", "new": "", "replace_all": True})
    windows.append(window := Tmux(home, folder, "code", "-m", script(home, asks(READ), asks(edit), "Done."), "fix it"))
    lines = window.seen("Run it?").splitlines()
    at = lines.index('→ replace_text(path="shop.py", replace_all=true, …) needs approval')
    assert lines[at - 1].startswith('→ read_file(path="shop.py") ← ')
    assert lines[at + 1 : at + 8] == [
        "--- shop.py",
        "+++ shop.py",
        "@@ -1,2 +1,2 @@",
        " def price(count):",
        "-    return count * 3 + 1",
        "+    return count * 3",
        "In the mode ask, edits need your approval.",
    ]
    window.type("y")
    assert re.search(
        r"^(.* )?← [\d.]+ m?s: Changed shop.py: line 2 is new. \[5 more lines\]$", window.seen("Done.", last="ask>"), re.MULTILINE
    )
    window.type("/quit")
    assert window.is_over()


def test_a_narrow_window_that_is_resized(home, folder, windows):
    model = script(home, asks(READ), asks(FIX), "Fixed, in the one line where it had been wrong all the time.")
    windows.append(window := Tmux(home, folder, "code", "-m", model, columns=32, rows=20))
    screen = window.seen(last="ask>")
    assert max(map(len, screen.splitlines())) <= 32
    window.resize(100, 30)
    window.type("fix it")
    window.seen("Run it?")
    window.resize(40, 20)
    window.type("s")
    screen = window.seen("Fixed, in the one line", last="accept-edits>")
    assert max(map(len, screen.splitlines())) <= 40
    window.type("/quit")
    assert window.is_over()


def test_no_word_is_cut_at_the_edge_of_a_window(home, folder, windows):
    model = script(home, asks(READ), asks(FIX), asks(("git_status", {})), asks(("git_commit", {"message": "Fix"})), "Fixed.")
    windows.append(window := Tmux(home, folder, "code", "-m", model, columns=64, rows=40))
    window.seen(last="ask>")
    window.type("fix it")
    window.seen("(n WHY tells the model\nwhy), [e]dit:")
    window.type("s")
    window.seen("sandboxed commands\nrun without asking.", "c and a allow calls", "[a]lways, [p]attern,\n[n]o")
    window.type("n")
    screen = window.seen("Fixed.", last="accept-edits>")
    assert re.search(r"; run\s[0-9a-f]{16}\]", screen)
    window.type("/quit")
    assert window.is_over()


def test_without_colour(home, folder, windows):
    model = script(home, asks(READ), asks(FIX), "Fixed.")
    windows.append(window := Tmux(home, folder, "code", "--mode", "accept-edits", "-m", model, NO_COLOR="1"))
    window.seen(last="accept-edits>")
    window.type("fix it")
    window.seen("-    return count * 3 + 1", "Fixed.", last="accept-edits>")
    assert "\x1b[3" not in window.screen(raw=True)
    window.type("/quit")
    assert window.is_over()


def test_ctrl_c_at_an_approval(home, folder, windows):
    windows.append(window := Tmux(home, folder, "code", "-m", script(home, asks(READ), asks(FIX), "Fixed."), "fix it"))
    window.seen("Run it?")
    window.keys("C-c")
    window.seen(last="ask>")
    assert (folder / "shop.py").read_text() == SHOP
    window.keys("C-d")
    assert window.is_over()


def test_the_diff_of_an_approval_looks_like_that_of_diff(home, folder, windows):
    (folder / "shop.py").write_text(f"{SHOP}--n\n")
    comment = ("replace_text", {"path": "shop.py", "old": "--n", "new": "++n"})
    windows.append(window := Tmux(home, folder, "code", "-m", script(home, asks(READ), asks(comment), "Done."), "comment it"))
    window.seen("Run it?")
    shown = coloured(window.screen(raw=True))
    assert [shown[line] for line in ("--- shop.py", "+++ shop.py", "---n", "+++n")] == ["1", "1", "31", "32"]
    window.type("y")
    window.seen("Done.", last="ask>")
    window.type("/diff")
    window.seen("diff --git", last="ask>")
    shown = coloured(window.screen(raw=True))
    assert [shown[line] for line in ("--- a/shop.py", "+++ b/shop.py", "---n", "+++n")] == ["1", "1", "31", "32"]
    window.type("/quit")
    assert window.is_over()


def coloured(screen: str) -> dict[str, str]:
    """Each line with its weight and colour at its end. tmux tells only what changes."""
    styles, weight, colour = dict[str, str](), "", ""
    for line in screen.splitlines():
        for code in ";".join(re.findall(r"\x1b\[([\d;]*)m", line)).split(";"):
            weight = {"0": "", "1": code, "2": code}.get(code, weight)
            colour = {"0": "", "39": ""}.get(code, code if code.startswith("3") else colour)
        styles[re.sub(r"\x1b\[[\d;]*m", "", line).rstrip()] = weight + colour
    return styles
