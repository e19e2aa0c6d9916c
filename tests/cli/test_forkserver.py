"""A command that is forked off the server, or called in this process, is the command that a new interpreter would be."""

import os
import re
import signal
import subprocess
import sys

import pytest

from cli.forkserver import Forked, forkable, launched, ran
from cli.running import asks, called, command, environment, finished, script
from treadle.cli.options import COMMANDS as ALL_COMMANDS

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
    here = called(*line[3:], env=environment(home))
    assert seen[0] == seen[1] == (here.code, without_ids(here.out), without_ids(here.err))


def test_every_command_is_the_same_in_a_process_and_called_here(home):
    for name, *_ in ALL_COMMANDS:
        for words in ([name, "--help"], [name, "--nothing"]):
            assert finished(*words, env=environment(home)) == called(*words, env=environment(home)), words


def test_a_command_that_is_called_here_leaves_this_process_as_it_was(home, capfd):
    before = {**os.environ}, os.getcwd(), [*sys.path], sys.stdin, sys.stdout, sys.stderr, signal.getsignal(signal.SIGINT)  # noqa: PTH109
    ran = called("ask", "-m", script(home, "Hello to you."), "Hello", cwd=home, env=environment(home))
    after = {**os.environ}, os.getcwd(), [*sys.path], sys.stdin, sys.stdout, sys.stderr, signal.getsignal(signal.SIGINT)  # noqa: PTH109
    assert (ran.code, ran.out) == (0, "Hello to you.\n")
    assert before == after
    assert capfd.readouterr() == ("", "")


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


PROGRAM = (
    "import os, sys; print(sys.argv[1:], os.environ['WHO'], os.getcwd(), __name__, sys.stdin.read()); sys.exit(int(sys.argv[1]))"
)


@pytest.mark.parametrize("as_file", [False, True], ids=["-c", "file"])
def test_a_program_is_what_it_would_be_in_a_new_interpreter_also_where_it_is_launched_by_others(tmp_path, as_file):
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [str(tmp_path / "program.py") if as_file else "-c", *([] if as_file else [PROGRAM]), "7", "x"]
    given = {"env": {"PATH": os.environ["PATH"], "WHO": "ann"}, "cwd": tmp_path, "text": True, "stdin": subprocess.PIPE}
    seen = []
    for line in ([sys.executable, *words], launched(*words)):
        with subprocess.Popen(line, stdout=subprocess.PIPE, **given) as process:
            seen.append((process.communicate("said", timeout=60)[0], process.returncode))
    assert seen[0] == seen[1] == (f"['7', 'x'] ann {tmp_path} __main__ said\n", 7)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_is_launched_gets_the_signals_and_ends_as_the_program_does(number):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen(launched("-c", code), stdout=subprocess.PIPE, text=True) as process:
        program = int(process.stdout.readline())
        assert program != process.pid
        os.kill(process.pid if number == signal.SIGTERM else program, number)
        assert process.wait(60) == -number
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)


def test_with_a_session_of_its_own_a_program_leads_its_group():
    code = "import os; print(os.getpgrp() == os.getsid(0) == os.getpid())"
    for alone in (True, False):
        with Forked(["-c", code], stdout=subprocess.PIPE, text=True, start_new_session=alone) as process:
            assert process.communicate(timeout=60)[0] == f"{alone}\n"


def test_warnings_are_errors_where_that_is_asked_for():
    warns = "import warnings; warnings.warn('odd'); print('on')"
    assert ran("-c", warns).stdout == "on\n"
    done = ran("-W", "error", "-c", warns)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "UserWarning: odd")
