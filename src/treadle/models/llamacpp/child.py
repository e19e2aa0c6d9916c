"""Owns the child that runs a GGUF: starts it when it is first needed, tells how far loading is, ends it with this process.

One child serves all models of a process that have the same settings. It is no part of an event loop, since a program may have
several of those, one after the other.
"""

import json
import os
import secrets
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from treadle.core.errors import ModelUnavailable, SettingsError
from treadle.guard.names import named
from treadle.models.llamacpp.header import check_header

Progress = Callable[[float], None]

_EVERY = 0.1  # seconds between two looks at how far loading is
_LINES = 40  # lines of the child's log that are kept, for when it fails
_PAGE = 4096


class Settings(Struct, frozen=True):
    """How a GGUF is run. `slots` is how many prompts are kept in memory at once; `threads` 0 leaves it to the child."""

    path: str
    context: int
    threads: int
    slots: int
    kept: str


class Running(Struct, frozen=True):
    """A child that serves."""

    address: str
    key: str
    process: "subprocess.Popen[str]"


_running: dict[Settings, Running] = {}
_starting = threading.Lock()


def running(settings: Settings, on_progress: Progress | None = None) -> Running:
    """The child with these settings, started if need be. Blocks until the model is loaded: call it in a thread."""
    with _starting:
        known = _running.get(settings)
        if known is not None and known.process.poll() is None:
            return known
        if known is not None:
            _end(known.process)
        _running[settings] = started = _start(settings, on_progress)
        return started


def close_children() -> None:
    """End all children of this process; they end with it in any case."""
    with _starting:
        while _running:
            _end(_running.popitem()[1].process)


def _end(process: "subprocess.Popen[str]") -> None:
    """Let go of a child, which ends when its stdin closes, and wait until it has."""
    with suppress(BrokenPipeError):
        _open(process.stdin).close()
    process.wait()


def _start(settings: Settings, on_progress: Progress | None) -> Running:
    _check_installed()
    check_header(settings.path)
    Path(settings.kept).mkdir(parents=True, exist_ok=True)
    key = secrets.token_hex(16)
    # threads that wait leave the core to others; keys are of no use to a model, and a file from elsewhere is read there
    environment = {"OMP_WAIT_POLICY": "passive", **{name: value for name, value in os.environ.items() if not named(name).kind}}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "treadle.models.llamacpp.serve"],  # nothing in this folder is imported
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    )
    log: deque[str] = deque(maxlen=_LINES)
    drain = threading.Thread(target=_drain, args=(_open(process.stderr), log), daemon=True)
    drain.start()
    fields = {"path": settings.path, "context": settings.context, "threads": settings.threads, "slots": settings.slots}
    _tell(_open(process.stdin), json.dumps({**fields, "kept": settings.kept, "key": key}))
    loaded = threading.Event()
    threading.Thread(target=_watch, args=(process, settings.path, loaded, on_progress), daemon=True).start()
    with _open(process.stdout) as stdout:
        line = stdout.readline()
    loaded.set()
    if not line:
        _end(process)
        drain.join()
        raise _failure(settings.path, process.returncode, log)
    return Running(json.loads(line)["address"], key, process)


def _drain(stderr: IO[str], log: "deque[str]") -> None:
    """Read what the child complains about, so that it never waits for a reader."""
    with stderr:
        log.extend(stderr)


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # all three are pipes
    return pipe


def _tell(stdin: IO[str], line: str) -> None:
    with suppress(BrokenPipeError):  # it is gone already, and its log says why
        stdin.write(line + "\n")
        stdin.flush()


def is_installed() -> bool:
    """Whether the engine that runs models is there."""
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


def _check_installed() -> None:
    if not is_installed():
        raise SettingsError("To run a model in this process, install its engine: pip install 'treadle[local]'.")


def _watch(process: "subprocess.Popen[str]", path: str, loaded: threading.Event, on_progress: Progress | None) -> None:
    """Tell how much of the file is in the child's memory, which is how far loading is."""
    if on_progress is None:
        return
    size = Path(path).stat().st_size
    while not loaded.wait(_EVERY) and process.poll() is None:
        on_progress(min(_resident(process.pid) / size, 0.99))
    on_progress(1.0)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):  # no such file on this system, or no such process any more
        return 0


def _failure(path: str, code: int, log: Sequence[str]) -> Exception:
    said = " ".join(log)
    if "ModuleNotFoundError" in said or "ImportError" in said:
        return SettingsError("The engine for local models can't be loaded: pip install --force-reinstall 'treadle[local]'.")
    if code < 0:
        return ModelUnavailable(f"Loading {path} was ended by signal {-code}; is there enough memory?")
    why = next((line.strip() for line in reversed(log) if "error" in line.lower()), "it is no model that llama.cpp knows")
    return SettingsError(f"{path} can't be loaded: {why.rpartition(': ')[2].rstrip('.')}. Is it a whole GGUF file?")
