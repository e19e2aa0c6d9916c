"""Completion: what is offered, and that real shells offer it."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import pytest

from cli.running import PATIENCE, command, environment, script, treadle
from treadle.cli.completion import find_candidates
from treadle.cli.options import COMMANDS
from treadle.cli.overview import GROUPS


def offered(*words):
    return [word for word, _ in find_candidates(words)]


def test_every_command_is_offered_with_what_it_does():
    listed = [name for _, rows in GROUPS for names, _ in rows for name in names.split(", ")]
    assert offered("") == [*listed, "--help", "--version"]
    assert offered("re") == ["read", "review", "retry", "resume", "restore", "retention"]
    assert dict(find_candidates(["rea"])) == {"read": "explain a source file or folder"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ask", "--mo"], ["--model"]),
        (["ask", "Why?", "--run"], ["--run-id"]),
        (["models", "pu"], ["pull"]),
        (["models", "pull", "--q"], ["--quiet"]),
        (["runs", "--status", "wa"], ["waiting"]),
        (["runs", "--status", "=", "wa"], ["waiting"]),
        (["settle", "r", "c", "not"], ["not-happened"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["ask", "-a", "cod"], ["coding"]),
        (["read", "--no-m"], ["--no-model"]),
        (["courses", "li"], ["list"]),
        (["help", "mode"], ["models"]),
        (["help", "exit"], ["exit-codes"]),
        (["help", "models", "pr"], ["probe"]),
        (["ask", "--attach", ""], []),
        (["ask", "what"], []),
        (["nonsense", ""], []),
        (["version", "x", ""], []),
    ],
)
def test_what_fits_is_offered(words, found):
    assert offered(*words) == found


def test_every_option_of_a_command_is_offered():
    for name in [name for name, *_ in COMMANDS if name != "help"]:
        assert "--help" in offered(name, "--"), name


def test_ids_are_offered_with_their_titles(home):
    assert treadle(home, "completion", "bash", "--", "show", "").out == ""
    assert treadle(home, "ask", "How many?", "--run-id", "abc", "-m", script(home, "40.")).code == 0
    for words in (["show", ""], ["resume", "-q", ""], ["runs", "delete", "x", ""], ["submit", "--resume", ""]):
        assert treadle(home, "completion", "bash", "--", *words).out == "abc\tHow many?\nlast\tthe newest one\n"
    assert treadle(home, "completion", "bash", "--", "jobs", "show", "").out == ""


def test_completion_of_our_own_commands_loads_no_assistant(home):
    run = [sys.executable, "-X", "importtime", *command("completion", "bash", "--", "runs", "--sta")[1:]]
    done = subprocess.run(run, capture_output=True, text=True, env=environment(home))
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.stdout.startswith("--status\t")
    assert loaded.isdisjoint({"asyncio", "msgspec", "sqlite3", "treadle.plugins.assistants"})


@pytest.fixture
def path(home):
    """A PATH with `treadle` on it."""
    program = home / "bin" / "treadle"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m treadle.cli.main "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


def need(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"There is no {shell} here")


STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(treadle completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u; source <(treadle completion zsh)"),
}


class Shell:
    """An interactive shell at a terminal."""

    def __init__(self, words, env):
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
        os.close(theirs)
        self.shown = ""

    def type(self, text):
        os.write(self._ours, text.encode())

    def until(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.shown)):
            ready = select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))[0]
            assert ready, f"{pattern!r} never came: {self.shown!r}"
            self.shown += os.read(self._ours, 65536).decode(errors="replace")
        self.shown = self.shown[found.end() :]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.mark.parametrize("name", STARTS)
def test_an_interactive_shell_completes_at_tab(home, path, name):
    need(name)
    words, load = STARTS[name]
    shell = Shell(words, environment(home, PATH=path, TERM="dumb" if name == "bash" else "xterm", PS1="", ZDOTDIR=str(home)))
    try:
        shell.type(f"{load}; echo loa''ded\n")
        shell.until("loaded")
        shell.type("treadle mod\t")
        shell.until("models")
        shell.type("pu\t")
        shell.until("pull")
        shell.type("--q\t")
        shell.until("--quiet")
    finally:
        shell.close()


def test_fish_completes_commands_options_and_files(home, path):
    need("fish")
    (home / "notes.txt").write_text("")
    asks = ("treadle rea", "treadle runs --sta", "treadle runs --status w", "treadle ask --attach not")
    lines = "; ".join(f"complete -C '{each}'; echo ---" for each in asks)
    env = environment(home, PATH=path)
    ran = subprocess.run(
        ["fish", "--no-config", "-c", f"treadle completion fish | source; {lines}"],
        env=env,
        cwd=home,
        capture_output=True,
        text=True,
    )
    first, second, third, fourth, _ = [part.strip() for part in ran.stdout.split("---\n")]
    assert first == "read\texplain a source file or folder"
    assert second.startswith("--status\t")
    assert third == "waiting"
    assert fourth == "notes.txt"
