"""Runs `treadle` as a process: with pipes, or at a terminal that a test types into. `InProcess` runs it here."""

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from cli.forkserver import Forked, forkable
from treadle.cli.main import main
from treadle.models.repairs import repair_memory

TOOLBOX = str(Path(__file__).with_name("toolbox.py"))
SLOW_TOOLS = str(Path(__file__).with_name("slow_tools.py"))
PATIENCE = 60  # seconds
BLANK = re.compile(r">(?:\x08|\x1b\[\d+D)\x1b\[\d+C")  # how the line editor draws the blank of its prompt
KEPT = ("PATH", "PYTHONPATH", "SYSTEMROOT", "COVERAGE_PROCESS_START", "VIRTUAL_ENV")


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "treadle.cli.main", *args]


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the machine's own settings, and no Ollama anywhere."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    return {**kept, "HOME": str(home), "TREADLE_HOME": str(home / "data"), "OLLAMA_HOST": "http://127.0.0.1:9", **more}


def treadle(home: Path, *args: str, stdin: str = "", cwd: Path | None = None, **env: str) -> Ran:
    """Run a command to its end."""
    return finished(*args, stdin=stdin, cwd=cwd, env=environment(home, **env))


def finished(*args: str, stdin: str = "", cwd: Path | None = None, env: dict[str, str]) -> Ran:
    """A command that has run to its end in this environment."""
    pipe = subprocess.PIPE
    with opened(*args, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=cwd, env=env) as process:
        try:
            out, err = process.communicate(stdin, timeout=60)
        except BaseException:
            process.kill()
            raise
    return Ran(process.returncode, out, err)


def opened(*args: str, env: dict[str, str], **how: Any) -> "subprocess.Popen[str]":
    """A command as a process, forked off one that has everything imported where that makes no difference."""
    words = command(*args)[1:]
    return Forked(words, env=env, **how) if forkable(words, env) else subprocess.Popen([sys.executable, *words], env=env, **how)


def start(home: Path, *args: str, **env: str) -> "subprocess.Popen[str]":
    """Run a command without waiting for it."""
    pipe = subprocess.PIPE
    return opened(*args, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment(home, **env))


def script(folder: Path, *replies: Any, name: str = "script.json") -> str:
    """The name of a model with these replies."""
    path = folder / name
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"


def asks(*calls: tuple[str, Any]) -> dict[str, Any]:
    """A reply of a script that asks for tools."""
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}


class Terminal:
    """A command at a terminal."""

    def __init__(self, home: Path, *args: str, typed: str = "", cwd: Path | None = None, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        if typed:
            self.type(typed)
        settings = environment(home, **{"TERM": "xterm", **env})
        self.process = opened(*args, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, cwd=cwd)
        os.close(theirs)
        self.shown = ""
        self._at = 0  # where the words end that were waited for last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, words: str) -> str:
        """What is shown after the words waited for last, up to and with these."""
        began, deadline = self._at, time.monotonic() + PATIENCE
        while (found := self.shown.find(words, began)) < 0:
            more = self._read(deadline)
            assert more, f"{words!r} never came after: {self.shown}"
            self.shown = BLANK.sub("> ", self.shown + more)
        self._at = found + len(words)
        return self.shown[began : self._at]

    def end(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + PATIENCE
        while more := self._read(deadline):
            self.shown += more
        return self.process.wait(PATIENCE)

    def interrupted(self) -> int:
        """Press Ctrl-C until it is heard: just before the line editor listens, Python doesn't. The exit code."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
        return self.end()

    def _read(self, deadline: float) -> str:
        if not select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))[0]:
            return ""
        try:
            return os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # how Linux says that nobody is at the other end
            return ""


class InProcess:
    """Runs `treadle` in this process, which is faster: one after the other, without a terminal."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        for name in set(os.environ) - set(KEPT) - {"TMPDIR"}:
            monkeypatch.delenv(name)
        self.set(**environment(home))
        monkeypatch.chdir(home)
        repair_memory.all().clear()

    def set(self, **env: str) -> None:
        """Set variables for all commands that follow."""
        for name, value in env.items():
            self._monkeypatch.setenv(name, value)

    def __call__(self, *args: str, stdin: str = "") -> Ran:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        self._capsys.readouterr()
        try:
            code = main([*args])
        except SystemExit as end:  # what argparse does with a word that it doesn't know
            code = int(end.code or 0)
        printed = self._capsys.readouterr()
        return Ran(code, printed.out, printed.err)
