"""A command that is forked off the server is the command that a new interpreter would be."""

import re
import signal
import subprocess

import pytest

from cli.forkserver import Forked, forkable
from cli.running import asks, command, environment, script

COMMANDS = [
    ["--version"],
    ["ask", "-m", "{model}", "Hello"],
    ["ask", "-m", "{model}", "--json", "Hello"],
    ["ask", "-m", "nothing:at-all", "Hello"],
    ["runs", "show", "nothing"],
    ["nothing"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_prints_and_ends_as_one_in_a_new_interpreter(home, words):
    model = script(home, "Hello to you.")
    line = command(*[word.format(model=model) for word in words])
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    seen = []
    for start in (
        lambda: Forked(line[1:], env=environment(home), **given),
        lambda: subprocess.Popen(line, env=environment(home), **given),
    ):
        with start() as process:
            out, err = process.communicate(timeout=60)
        seen.append((process.returncode, without_ids(out), without_ids(err)))
    assert seen[0] == seen[1]


def without_ids(text):
    return re.sub(r"[0-9a-f]{16}|[\d.]+ s\b", "…", text)


def test_a_signal_ends_it_and_is_its_exit_status(home):
    model = script(home, asks(("nothing", {})))
    line = command("chat", "-m", model)[1:]
    with Forked(
        line, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.poll() is None
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


def test_what_is_for_the_interpreter_itself_takes_a_new_one(home):
    line = command("--version")[1:]
    assert forkable(line, environment(home))
    assert not forkable(line, environment(home, PYTHONWARNINGS="error"))
    assert not forkable(line, environment(home, LANG="de_DE.UTF-8"))
    assert not forkable(["-c", "pass"], environment(home))
