"""How far a model is while it is loaded."""

import io
from types import SimpleNamespace

from cli.running import Terminal, script, treadle
from treadle.cli.ui.progress_bar import attach_loading_bar, draw_bar
from treadle.cli.ui.screen import Screen


class Tty(io.StringIO):
    """Takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(err, name="llamacpp:qwen2.5-coder-1.5b", shares=(0.42, 1.0)):
    model = SimpleNamespace(name=name, on_load=None)
    attach_loading_bar(model, Screen(err=err), err)
    for share in shares:
        model.on_load(share)
    return [line.removesuffix("\x1b[K") for line in err.getvalue().split("\r")[1:]]


def test_loading_is_drawn_and_taken_away_when_it_is_over(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert drawn(Tty()) == ["Loading qwen2.5-coder-1.5b [##########..............] 42 %", ""]


def test_a_model_by_its_path_is_called_by_its_file(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert drawn(Tty(), "llamacpp:/some/where/tiny.gguf", [0.0])[0].startswith("Loading tiny.gguf [")


def test_without_a_terminal_nothing_is_drawn():
    assert drawn(io.StringIO()) == []


def test_a_bar_is_empty_at_first_and_full_at_the_end():
    assert draw_bar(0, 0) == draw_bar(0, 7) == "[........................]"
    assert draw_bar(7, 7) == "[########################]"


PACKAGE = """\
from treadle.models.scripted import Scripted

class Slow(Scripted):
    on_load = None

    async def reply(self, request):
        if self.on_load is not None:
            for share in (0.25, 1.0):
                self.on_load(share)
        async for delta in super().reply(request):
            yield delta

def from_name(name):
    return Slow("hello", name=f"slow:{name}")
"""


def package(home):
    """A package with a model that has to be loaded."""
    folder = home / "slow-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[treadle.models]\nslow = slow:from_name\n")
    (home / "slow.py").write_text(PACKAGE)
    return {"PYTHONPATH": str(home)}


def test_at_a_terminal_it_is_shown_before_the_answer(home):
    with Terminal(home, "ask", "x", "-m", "slow:m", COLUMNS="80", **package(home)) as terminal:
        assert terminal.end() == 0
    assert "\rLoading m [######..................] 25 %\x1b[K\r\x1b[Khello" in terminal.shown


def test_anywhere_else_it_is_not(home):
    env = package(home)
    assert "Loading" not in treadle(home, "ask", "x", "-m", "slow:m", **env).err
    for words in (["--quiet"], ["--json"], ["--events"]):
        with Terminal(home, "ask", "x", "-m", "slow:m", *words, **env) as terminal:
            assert terminal.end() == 0
        assert "Loading" not in terminal.shown


def test_a_model_that_is_not_loaded_shows_nothing(home):
    with Terminal(home, "ask", "x", "-m", script(home, "hello")) as terminal:
        assert terminal.end() == 0
    assert "Loading" not in terminal.shown
