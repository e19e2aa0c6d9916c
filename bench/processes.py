"""Child processes: where they run, what they inherit, how they are spoken to.

A child answers one JSON line per JSON line, and ends when its standard input closes, so none
outlives the benchmark. What the children do is not known here.
"""

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SERVER_CORE = 0
CONTENDER_CORE = 1

# Every asyncio read asks for 256 KiB and gives most of it back. Whether that makes glibc return
# and re-fault the top of the heap each time is a matter of luck with the heap's layout, worth as
# much as the floor's own work; with these two it never does, for anybody.
_STEADY_HEAP = {"MALLOC_TRIM_THRESHOLD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "4194304"}

_QUIET = {
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "OPENAI_API_KEY": "unused",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "",  # nobody's imports are compiled each time
}


class ChildError(RuntimeError):
    """A child died or did not answer in time; the text says which and what it last said."""


def pin(core: int) -> None:
    """Keep this process on one core, if the machine has more than one."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[core % len(cores)]})


def allow_many_sockets() -> None:
    """Raise the soft limit on open files to the hard one: a thousand runs need it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def environment() -> dict[str, str]:
    """What children see: telemetry off, and the checked-out sources before an installed copy."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    search = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return {**os.environ, **_QUIET, **_STEADY_HEAP, **search}


class Child:
    """A running `python -m <module> <arguments>`."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._name = " ".join((module, *arguments))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=ROOT,
            env=environment(),
        )

    def ask(self, order: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send one order and wait for its answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ChildError(self._obituary("died")) from None
        return json.loads(self.line(timeout))

    def line(self, timeout: float) -> bytes:
        """The next line the child prints."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        if not ready:
            self._process.kill()
            raise ChildError(self._obituary(f"no answer in {timeout:.0f} s"))
        line = self._process.stdout.readline()
        if not line:
            raise ChildError(self._obituary("died"))
        return line

    def close(self) -> None:
        """Let the child end by itself; insist after a while."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _obituary(self, what: str) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"{self._name}: {what}; last words: {lines[-1] if lines else 'none'}"


@contextmanager
def child(module: str, *arguments: str) -> Iterator[Child]:
    """A child that is gone when the block is left."""
    running = Child(module, *arguments)
    try:
        yield running
    finally:
        running.close()


@contextmanager
def mock_server() -> Iterator[str]:
    """A running mock server; gives its base address."""
    with child("bench.server") as server:
        port = int(server.line(timeout=20))
        yield f"http://127.0.0.1:{port}/v1"
