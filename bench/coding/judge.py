"""Whether a source solves a task: all of its checks in a process of their own, with little memory and little time.

The limits are against accidents. They are no sandbox: what a model has written runs with the rights of whoever asks.
"""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from bench.coding.tasks import MODULE, TESTS, Task

SECONDS = 10
MEMORY = 1 << 30  # bytes

Came = Literal["passes", "fails", "hangs"]  # the last also for more memory than there is: mostly a loop without end

LIMITED = f"""\
import random, resource
for what, most in (("AS", {MEMORY}), ("CPU", {SECONDS}), ("FSIZE", {1 << 24}), ("CORE", 0)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + what), (most, most))
random.seed(0)
"""
BY_PYTEST = f"""\
import pytest
assert pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir=.", "-c", "/dev/null", "{TESTS}"]) == 0
"""


def solved(task: Task, source: str) -> bool:
    """Whether all checks of the task pass with this source as its module."""
    return by_hidden(task, source) == "passes"


def by_hidden(task: Task, source: str) -> Came:
    """What comes of all checks."""
    return _ran({MODULE: source}, task.hidden)


def by_shown(task: Task, source: str) -> Came:
    """What comes of the tests that a workspace has, as its owner would run them."""
    return _ran({MODULE: source, TESTS: task.tests}, BY_PYTEST)


def _ran(files: dict[str, str], code: str) -> Came:
    """The code beside these files. It has passed where its end was reached: a module may also leave its process early."""
    reached = secrets.token_hex(8)
    command = [sys.executable, "-B", "-E", "-s", "-c", f"{LIMITED}{code}\nprint({reached!r})"]
    with tempfile.TemporaryDirectory(prefix="treadle-judge-") as folder, tempfile.TemporaryFile() as output:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8", "surrogatepass")  # a model writes what it likes
        env = {"PATH": os.defpath, "HOME": folder, "LC_ALL": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        ended = _ended(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        output.seek(0)
        said = output.read()
    if not ended or b"MemoryError" in said:
        return "hangs"
    return "passes" if reached.encode() in said else "fails"


def _ended(command: list[str], **how: Any) -> bool:
    """Whether it came to an end by itself. Nothing that it started is left behind."""
    child = subprocess.Popen(command, start_new_session=True, **how)
    try:
        return child.wait(SECONDS) not in (-signal.SIGXCPU, -signal.SIGKILL)
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
