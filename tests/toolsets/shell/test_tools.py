"""The tool that runs shell lines, as a run calls it."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from treadle import Agent, RunContext, allow
from treadle.core.calls import Call
from treadle.core.errors import ToolProblem
from treadle.models.scripted import calls
from treadle.sandbox.values import Bounds
from treadle.testing import Scripted
from treadle.toolsets.shell import ProgressLines, shell_tools

MIB = 1 << 20


class Room:
    """A workspace and a run that runs commands in it."""

    def __init__(self, folder, **options):
        self.toolset = shell_tools(folder, **options)
        self.name = self.toolset.tools()[0].name
        self.progress = []

    def run(self, command, **arguments):
        context = RunContext(progress=self.progress.append)
        return str(asyncio.run(self.toolset.call(Call("1", self.name, {"command": command, **arguments}), context)))


@pytest.fixture
def room(workspace):
    return Room(workspace)


def test_there_is_one_tool_that_is_never_run_twice(tmp_path):
    (made,) = shell_tools(tmp_path).tools()
    assert (made.name, made.effect, made.retry, made.sequential) == ("bash", "write", "once", True)
    assert made.spec.description.endswith("There is no network.")
    assert set(made.parameters["properties"]) == {"command", "timeout"}
    (made,) = shell_tools(tmp_path, flat=True, network=True).tools()
    assert made.name == "run_command"
    assert "no network" not in made.spec.description


def test_code_and_output_are_told(room):
    first, *rest = room.run("echo one; echo two >&2; exit 3").splitlines()
    assert first.startswith("Exit code 3, after ")
    assert rest == ["one", "two"]


def test_a_command_without_output_says_so(room):
    assert room.run("true").endswith("s.\n[no output]")


def test_a_line_is_one_for_bash(room):
    if not Path("/bin/bash").exists():
        pytest.skip("there is no bash here")
    assert room.run("set -o pipefail; a=(x y); [[ ${a[1]} == y ]] && cat <(echo yes)").endswith("\nyes")


def test_nothing_stays_between_calls_but_files(room, workspace):
    room.run("mkdir sub; cd sub; X=1; echo a > f")
    assert room.run("pwd; echo x$X; cat sub/f").splitlines()[1:] == [str(workspace), "x", "a"]


def test_a_lot_of_output_keeps_its_ends_and_says_how_much_is_missing(room):
    told = room.run("seq 100000; echo last")
    assert len(told) < 8_600
    assert "\n1\n2\n3\n" in told
    assert "… 580,900 characters left out …" in told
    assert told.splitlines()[-2] == "last"
    assert told.endswith("as with grep, head or tail, to see what you need.]")


def test_a_command_that_takes_too_long_is_ended_and_that_is_said(room):
    told = room.run("echo begun; sleep 600", timeout=0.5)
    assert told.startswith("Ended after 0.5 s, because its time was over")
    assert "longer timeout, at most 120." in told
    assert told.endswith("\nbegun")


def test_no_timeout_is_longer_than_the_bounds(workspace):
    told = Room(workspace, bounds=Bounds(seconds=0.5)).run("sleep 600", timeout=1000)
    assert told.startswith("Ended after 0.5 s")
    assert "longer timeout" not in told


def test_too_much_memory_is_said(workspace):
    hog = "python3 -c 'import time; x = bytearray(b\"a\") * 150_000_000; time.sleep(600)' &"
    told = Room(workspace, bounds=Bounds(seconds=30, memory=256 * MIB)).run(f"{hog} {hog} {hog} wait")
    assert "0.2 GiB of memory. Work on less" in told or "Killed" in told or "MemoryError" in told


def test_a_command_that_is_not_there_is_explained(room):
    first = room.run("no-such-command --now").splitlines()[0]
    assert first.startswith("Exit code 127")
    assert "There is no such command here." in first


def test_a_missing_network_is_explained(room):
    told = room.run("echo 'curl: (6) Could not resolve host: example.org'; exit 6")
    assert told.endswith("[There is no network here, and that can't be changed by a command.]")


@pytest.mark.parametrize("line", ["sleep 600 & echo on", "nohup sleep 600 >/dev/null 2>&1 &", "(sleep 600 &)"])
def test_what_was_started_in_the_background_ends_and_that_is_said(line, room):
    told = room.run(line)
    assert told.startswith("Exit code 0")
    assert "Nothing goes on in the background" in told


@pytest.mark.parametrize(
    "line", ["true && echo on", "ls x 2>&1", "ls &>all", "echo 'a & b' \"c & d\"", "ls x |& cat", "echo a \\& b"]
)
def test_other_uses_of_the_sign_are_no_background(line, room):
    assert "background" not in room.run(line)


def test_lines_are_told_while_they_come(room):
    room.run("echo one; printf two; echo; printf three")
    assert "\n".join(room.progress) == "one\ntwo"


def test_of_many_lines_at_once_only_the_last_are_told():
    told = []
    lines = ProgressLines(told.append)
    lines.feed("\n".join(str(number) for number in range(1000)))
    lines.feed("x\n")
    assert told[0].split("\n") == [str(number) for number in range(979, 999)]
    assert told[1:] == ["999x"]
    lines.feed("y" * 100_000)
    lines.feed("\n")
    assert told[2] == "y" * 2000


def test_a_refused_command_is_a_problem_and_nothing_runs(room, workspace):
    with pytest.raises(ToolProblem, match=r"The command sudo makes no sense here\. There is no root user"):
        room.run("touch ran; sudo ls")
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(("arguments", "said"), [({"command": "  "}, "is empty"), ({"command": "ls", "timeout": 0}, "above 0")])
def test_a_call_that_means_nothing_is_a_problem(arguments, said, room):
    with pytest.raises(ToolProblem, match=said):
        room.run(**arguments)


def test_a_line_no_system_takes_is_a_problem(room):
    with pytest.raises(ToolProblem, match="was not run: The command can't be started"):
        room.run("echo a\0b")


def test_without_a_sandbox_nothing_runs_unless_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_BWRAP", str(tmp_path / "none"))
    folder = tmp_path / "work"
    folder.mkdir()
    with pytest.raises(ToolProblem, match=r"was not run: TREADLE_BWRAP is .* tell the person"):
        Room(folder).run("touch ran")
    assert not (folder / "ran").exists()
    Room(folder, unsafe=True).run("touch ran")
    assert (folder / "ran").exists()


def test_programs_of_the_workspace_are_found_first(room, workspace):
    for name in (".venv/bin", "node_modules/.bin"):
        (workspace / name).mkdir(parents=True)
    (workspace / ".venv/bin/pytest").write_text("#!/bin/sh\necho ours\n")
    (workspace / ".venv/bin/pytest").chmod(0o755)
    assert room.run("pytest").endswith("\nours")


def test_what_is_hidden_is_not_seen(workspace):
    (workspace / ".env").write_text("KEY=1")
    assert "KEY" not in Room(workspace, hide=(".env",)).run("cat .env")


def test_nothing_outside_is_touched(room, tmp_path):
    room.run(f"echo x > {tmp_path}/escaped; cd ..; echo x > escaped")
    assert not (tmp_path / "escaped").exists()


def test_an_agent_runs_a_command(workspace):
    (workspace / "a.txt").write_text("b\na\n")
    steps = [calls(("bash", {"command": "sort a.txt"})), "Done."]
    result = Agent(Scripted(*steps), toolsets=[shell_tools(workspace)], policy=[allow("*")]).run_sync("Go.")
    assert result.calls[0].result.content.endswith("\na\nb")


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_a_commit_by_the_shell_fails_and_names_the_git_tool(room, workspace):
    subprocess.run(["git", "init", "-q", str(workspace)], check=True, capture_output=True)
    told = room.run("echo a > a; git add a && git commit -qm x")
    assert told.startswith("Exit code 128")
    assert told.endswith(
        "[What git keeps in .git is read-only to commands. Stage, commit and change branches with the git tool; "
        "ask the person for what it doesn't do.]"
    )
    assert room.run("git init -q sub && git -C sub config core.pager evil").endswith(
        "[Git could run programs by the settings of sub/.git, so it was renamed. Stage, commit and change branches with the git "
        "tool; "
        "ask the person for what it doesn't do.]"
    )
