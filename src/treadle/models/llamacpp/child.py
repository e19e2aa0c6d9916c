"""The child process that runs a GGUF: started on first use, reports loading progress, ends with this process.

One child serves all models of a process that have the same settings. It isn't bound to an event loop, since a program may
have several of those, one after the other.
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
from treadle.guard.secret_names import classify_name
from treadle.models.llamacpp.gguf_header import check_gguf_header
from treadle.models.llamacpp.slot_queue import SlotQueue

LoadProgress = Callable[[float], None]

_PROGRESS_INTERVAL = 0.1  # seconds between two looks at how far loading is
_MAX_LOG_LINES = 40  # lines of the child's log that are kept, for when it fails
_PAGE = 4096


class LlamaSettings(Struct, frozen=True):
    """How a GGUF is run. `slots` is how many prompts are kept in memory at once; `threads` 0 lets the child decide."""

    path: str
    context: int
    threads: int
    slots: int
    kept: str


class RunningChild(Struct, frozen=True):
    """A running child."""

    address: str
    key: str
    process: "subprocess.Popen[str]"
    requests: SlotQueue


_children: dict[LlamaSettings, RunningChild] = {}
_start_lock = threading.Lock()


def start_child(settings: LlamaSettings, on_progress: LoadProgress | None = None) -> RunningChild:
    """Return the child with these settings, started if necessary. Blocks until the model is loaded: call it in a thread."""
    with _start_lock:
        known = _children.get(settings)
        if known is not None and known.process.poll() is None:
            return known
        if known is not None:
            _end_process(known.process)
        _children[settings] = started = _start_process(settings, on_progress)
        return started


def close_children() -> None:
    """End all children of this process; they end with it in any case."""
    with _start_lock:
        while _children:
            _end_process(_children.popitem()[1].process)


def _end_process(process: "subprocess.Popen[str]") -> None:
    """End a child by closing its stdin, and wait until it has exited."""
    with suppress(BrokenPipeError):
        _require_pipe(process.stdin).close()
    process.wait()


def _start_process(settings: LlamaSettings, on_progress: LoadProgress | None) -> RunningChild:
    _check_installed()
    check_gguf_header(settings.path)
    Path(settings.kept).mkdir(parents=True, exist_ok=True)
    key = secrets.token_hex(16)
    # threads that wait leave the core to others; keys are of no use to a model, and a file from elsewhere is read there
    environment = {
        "OMP_WAIT_POLICY": "passive",
        **{name: value for name, value in os.environ.items() if not classify_name(name).kind},
    }
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
    log: deque[str] = deque(maxlen=_MAX_LOG_LINES)
    drain = threading.Thread(target=_drain_stderr, args=(_require_pipe(process.stderr), log), daemon=True)
    drain.start()
    fields = {"path": settings.path, "context": settings.context, "threads": settings.threads, "slots": settings.slots}
    _write_line(_require_pipe(process.stdin), json.dumps({**fields, "kept": settings.kept, "key": key}))
    loaded = threading.Event()
    threading.Thread(target=_watch_loading, args=(process, settings.path, loaded, on_progress), daemon=True).start()
    with _require_pipe(process.stdout) as stdout:
        line = stdout.readline()
    loaded.set()
    if not line:
        _end_process(process)
        drain.join()
        raise _start_error(settings.path, process.returncode, log)
    return RunningChild(json.loads(line)["address"], key, process, SlotQueue(settings.context))


def _drain_stderr(stderr: IO[str], log: "deque[str]") -> None:
    """Read the child's stderr, so that it never blocks on a full pipe."""
    with stderr:
        log.extend(stderr)


def _require_pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # all three are pipes
    return pipe


def _write_line(stdin: IO[str], line: str) -> None:
    with suppress(BrokenPipeError):  # it is gone already, and its log says why
        stdin.write(line + "\n")
        stdin.flush()


def is_llama_installed() -> bool:
    """Return whether the engine that runs models is installed."""
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


def _check_installed() -> None:
    if not is_llama_installed():
        raise SettingsError("To run a model in this process, install its engine: pip install 'treadle[local]'.")


def _watch_loading(process: "subprocess.Popen[str]", path: str, loaded: threading.Event, on_progress: LoadProgress | None) -> None:
    """Report how much of the file is in the child's memory, which is the loading progress."""
    if on_progress is None:
        return
    size = Path(path).stat().st_size
    while not loaded.wait(_PROGRESS_INTERVAL) and process.poll() is None:
        on_progress(min(_resident_bytes(process.pid) / size, 0.99))
    on_progress(1.0)


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):  # no such file on this system, or no such process any more
        return 0


def _start_error(path: str, code: int, log: Sequence[str]) -> Exception:
    said = " ".join(log)
    if "ModuleNotFoundError" in said or "ImportError" in said:
        return SettingsError("The engine for local models can't be loaded: pip install --force-reinstall 'treadle[local]'.")
    if code < 0:
        return ModelUnavailable(f"Loading {path} was ended by signal {-code}; is there enough memory?")
    why = next((line.strip() for line in reversed(log) if "error" in line.lower()), "it is no model that llama.cpp knows")
    return SettingsError(f"{path} can't be loaded: {why.rpartition(': ')[2].rstrip('.')}. Is it a whole GGUF file?")
