"""`kill -9` in the middle of a job, at any instant, as often as it takes: it goes on, and nothing is committed twice."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

import wire
from assistants.coding.stage import MENDED, checkout_of, git, needs_git, project
from cli.running import opened
from treadle.cli.exit_codes import WAITING
from wire import call

pytestmark = needs_git

STEPS = [
    [("file", {"action": "read", "path": "shop.py"}), ("file", {"action": "write", "path": "shop.py", "content": MENDED})],
    [("git", {"action": "add", "files": ["shop.py"]}), ("git", {"action": "commit", "message": "Mend the price"})],
    [("file", {"action": "write", "path": "notes.md", "content": "Prices are right.\n"})],
    [("bash", {"command": "echo once >> effects.log"})],
    [("test", {})],
    [("give_answer", {"summary": "Tell of it", "done": True})],
]


def script(received):
    """The same reply to the same conversation: what it lacks of the steps, whatever a kill has cut off.

    A write that was interrupted, or refused because nobody remembers the reading, is made once more.
    """
    messages = received.body["messages"]
    asked = [call for message in messages if message["role"] == "assistant" for call in message.get("tool_calls", ())]
    made = {call["id"]: (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in asked}
    said = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    fine = [made[one] for one in made if not _is_lost(made[one][1], said[one])]
    for step in STEPS:
        missing = [one for one in step if one not in fine]
        if missing and missing[0][1].get("action") == "write":
            missing = [("file", {"action": "read", "path": missing[0][1]["path"]}), *missing]
        if missing:
            return tuple(call(name, arguments) for name, arguments in missing)
    return tuple(call(name, arguments) for name, arguments in STEPS[-1])


def _is_lost(arguments, said):
    return arguments.get("action") == "write" and not said.startswith(("Wrote", "Created"))


def treadle(home: Path, folder: Path, *words: str) -> "subprocess.Popen[str]":
    env = {**os.environ, "TREADLE_HOME": str(home), "OPENAI_API_KEY": "x", "NO_COLOR": "1"}
    return opened(*words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def settle(home: Path, folder: Path, job: str) -> None:
    """The outcome of the commands that were running in a kill: they have left their mark or not. Of files nobody is asked."""
    listed, _ = treadle(home, folder, "settle", job, "--json").communicate(timeout=60)
    for asked in json.loads(listed):
        assert asked["name"] == "bash"
        happened = (home / "jobs" / job / "workspace" / "effects.log").exists()
        said = treadle(home, folder, "settle", job, asked["call_id"], "happened" if happened else "again")
        told = said.communicate(timeout=60)  # which also closes its pipes
        assert said.returncode == 0, told


@pytest.mark.parametrize("seed", range(int(os.environ.get("TREADLE_KILLS", "1"))))  # make faults runs more of them
def test_a_job_that_is_killed_goes_on_and_commits_nothing_twice(tmp_path: Path, seed: int) -> None:
    folder, home, chance = project(tmp_path), tmp_path / "home", random.Random(seed)
    before = checkout_of(folder)
    with wire.WireServer(script) as server:
        begin = ("build", "Mend the price", "-m", "openai:pretend", "--base-url", f"{server.url}/v1", "--push")
        process, kills = treadle(home, folder, *begin), 0
        for _ in range(4):
            time.sleep(chance.uniform(0.3, 2.5))
            if process.poll() is not None:
                break
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
            jobs = [path.parent.name for path in (home / "jobs").glob("*/job.json")]  # a folder without one is no job yet
            process = treadle(home, folder, *(("jobs", "resume", jobs[0]) if jobs else begin))
        said, _ = process.communicate(timeout=100)
        while process.returncode == WAITING:  # a person looks, and says what its outcome was
            settle(home, folder, jobs[0])
            process = treadle(home, folder, "jobs", "resume", jobs[0])
            said, _ = process.communicate(timeout=100)
    assert (process.returncode, kills > 0) == (0, True), said
    assert checkout_of(folder) == before
    branch = git(folder, "branch", "--format=%(refname:short)", "--list", "treadle/*")
    commits = git(folder, "log", "--format=%s", f"main..{branch}").splitlines()
    assert sorted(commits) == ["Mend the price", "Tell of it"], said
    assert git(folder, "show", f"{branch}:shop.py") + "\n" == MENDED
    assert git(tmp_path / "remote.git", "rev-parse", branch) == git(folder, "rev-parse", branch)
    names = git(folder, "ls-tree", "--name-only", branch).splitlines()
    assert (
        "effects.log" not in names or git(folder, "show", f"{branch}:effects.log") == "once"
    )  # where it was interrupted, the model was told that it may have happened
