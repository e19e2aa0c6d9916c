"""Runs `treadle` for tests: `treadle` and `start` as a process with pipes, `Terminal` as one at a terminal that a test types into,
`treadle_here` in this process where that makes no difference. `InProcess` changes the environment of the test.
"""

import asyncio
import io
import json
import logging
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from cli.forkserver import Forked, forkable
from treadle.cli.main import main
from treadle.models.repairs import RepairMemory, repair_memory

TOOLBOX = str(Path(__file__).with_name("toolbox.py"))
SLOW_TOOLS = str(Path(__file__).with_name("slow_tools.py"))
PATIENCE = 60  # seconds
BLANK = re.compile(r">(?:\x08|\x1b\[\d+D)\x1b\[\d+C")  # how the line editor draws the blank of its prompt
PIPE_SIZE = 65536  # bytes that a pipe holds
PROCESS_COMMANDS = frozenset(("acp", "mcp", "serve", "worker"))  # they read their standard input as a pipe, or run until a signal
RUN_BY_PYTEST = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID")
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
    """Run a command to its end, as a process."""
    return finished(*args, stdin=stdin, cwd=cwd, env=environment(home, **env))


def treadle_here(home: Path, *args: str, stdin: str = "", cwd: Path | None = None, **env: str) -> Ran:
    """Run a command to its end in this process, for less than half of the CPU time, unless the process is part of what it does."""
    settings = environment(home, **env)
    run = called if _is_callable(args, settings, stdin) else finished
    return run(*args, stdin=stdin, cwd=cwd, env=settings)


def _is_callable(args: tuple[str, ...], env: dict[str, str], stdin: str) -> bool:
    """Whether a command can be called here: not where it works until a signal or detaches, nor beside a loop or a thread."""
    if threading.current_thread() is not threading.main_thread() or asyncio._get_running_loop():
        return False
    own = env.get("PYTHONPATH") == os.environ.get("PYTHONPATH") and forkable(command(*args)[1:], env)
    return own and len(stdin) < PIPE_SIZE // 4 and PROCESS_COMMANDS.isdisjoint(args[:1]) and "--detach" not in args


def called(*args: str, stdin: str = "", cwd: Path | None = None, env: dict[str, str]) -> Ran:
    """A command that `main` has run to its end in this process, with the environment and the files that a process would have."""
    out, err = os.memfd_create("stdout"), os.memfd_create("stderr")
    given, typed = os.pipe()
    os.write(typed, stdin.encode())
    os.close(typed)
    with os.fdopen(given), os.fdopen(out, "r+") as shown, os.fdopen(err, "r+") as reported:
        with _process_state(env, cwd or Path.cwd(), (given, out, err)):
            code = _exit_code(args)
        for file in (shown, reported):
            file.seek(0)
        return Ran(code, shown.read(), reported.read())


def _exit_code(args: tuple[str, ...]) -> int:
    try:
        code: Any = main([*args])
    except SystemExit as end:
        code = end.code
    except Exception:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    return code or 0


@contextmanager
def _process_state(env: dict[str, str], cwd: Path, files: tuple[int, int, int]) -> Iterator[None]:
    """Have this process be one with this environment, folder and standard files; restore all that a command may change."""
    before, folder, kept = {**os.environ}, Path.cwd(), [os.dup(number) for number in range(3)]
    streams, path, arguments = (sys.stdin, sys.stdout, sys.stderr), [*sys.path], sys.argv
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    loggers = [logging.root, *(each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger))]
    logged = [(each, [*each.handlers], each.level, each.propagate) for each in loggers]
    os.environ.clear()
    os.environ.update({name: value for name, value in before.items() if name in RUN_BY_PYTEST} | env)
    os.chdir(cwd)
    repairs = {**vars(repair_memory)}
    vars(repair_memory).update(vars(RepairMemory()))
    for number, file in enumerate(files):
        os.dup2(file, number)
    own = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(2), "w", buffering=1)
    sys.stdin, sys.stdout, sys.stderr = own
    try:
        with warnings.catch_warnings():
            yield
    finally:
        for stream in own:
            with suppress(OSError, ValueError):
                stream.close()
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)
        for each in {*logging.root.manager.loggerDict.values()} - {*loggers}:
            if isinstance(each, logging.Logger):
                each.handlers.clear()
        for each, had, level, propagate in logged:
            each.handlers[:], each.propagate = had, propagate
            each.setLevel(level)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.path[:], sys.argv = path, arguments
        vars(repair_memory).update(repairs)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)


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
