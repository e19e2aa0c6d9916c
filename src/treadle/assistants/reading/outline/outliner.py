"""Build outlines in a child process, so that a parser's crash, endless loop or memory use is an error message and no more.

One child serves one file after another. It starts with the first file, ends with the outliner, and is replaced after
a crash, after a timeout, and after a number of files so that its memory can't grow.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from subprocess import PIPE
from threading import Lock, Timer
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import finalize

import msgspec

from treadle.assistants.reading.outline import errors, outliner_process
from treadle.assistants.reading.outline.errors import OutlineError, OutlineFailed, SourceTooLarge
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.outline.shallow_tree import OutlineMetrics
from treadle.assistants.reading.symbols.extraction import FileSymbols

T = TypeVar("T")

TIMEOUT_SECONDS = 10.0
MAX_OUTLINE_BYTES = 10_000_000
MEMORY_LIMIT = 2 << 30
FILES_PER_CHILD = 500
_CHILD = "treadle.assistants.reading.outline.outliner_process"
_decode_outline = msgspec.msgpack.Decoder(Outline).decode
_decode_symbols = msgspec.msgpack.Decoder(FileSymbols).decode
_decode_metrics = msgspec.msgpack.Decoder(OutlineMetrics).decode


class Outliner:
    """Builds outlines in a child process. Any number of tasks and threads may share one; their files are queued.

    `seconds` is the timeout for one file, `most_bytes` its size limit, `memory` the child's memory limit, and
    `most_files` how many files one child serves.
    """

    def __init__(
        self,
        *,
        seconds: float = TIMEOUT_SECONDS,
        most_bytes: int = MAX_OUTLINE_BYTES,
        memory: int = MEMORY_LIMIT,
        most_files: int = FILES_PER_CHILD,
    ) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._memory = memory
        self._most_files = most_files
        self._lock = Lock()
        self._child: _Child | None = None
        self._thread = ThreadPoolExecutor(1, "outliner")  # tasks wait in its queue, not in everybody's threads

    async def outline(self, text: str, language: str) -> Outline:
        """Return the outline of a text."""
        return await self._in_thread(self.outline_sync, text, language)

    async def seed_json(self, text: str, language: str, max_depth: int = 2) -> dict[str, Any]:
        """Return the shallow syntax tree of a text."""
        return await self._in_thread(self.seed_json_sync, text, language, max_depth)

    async def metrics(self, text: str, language: str) -> OutlineMetrics:
        """Return how much smaller the shallow syntax tree of a text is."""
        return await self._in_thread(self.metrics_sync, text, language)

    def outline_sync(self, text: str, language: str) -> Outline:
        """Return the outline of a text; blocks this thread."""
        return _decode_outline(self._ask(outliner_process.OutlineJob("outline", text, language)))

    def seed_json_sync(self, text: str, language: str, max_depth: int = 2) -> dict[str, Any]:
        """Return the shallow syntax tree of a text; blocks this thread."""
        return msgspec.msgpack.decode(self._ask(outliner_process.OutlineJob("seed_json", text, language, max_depth)))

    def metrics_sync(self, text: str, language: str) -> OutlineMetrics:
        """Return how much smaller the shallow syntax tree of a text is; blocks this thread."""
        return _decode_metrics(self._ask(outliner_process.OutlineJob("metrics", text, language)))

    def symbols_sync(self, text: str, language: str) -> FileSymbols:
        """Return the symbols of a text; blocks this thread."""
        return _decode_symbols(self._ask(outliner_process.OutlineJob("symbols", text, language)))

    def close(self) -> None:
        """End the child process. A later file starts another."""
        with self._lock:
            self._end_child()

    @property
    def pid(self) -> int | None:
        """The child's process id, if there is a child."""
        child = self._child
        return child.pid if child is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._in_thread(self.close)

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _ask(self, job: outliner_process.OutlineJob) -> msgspec.Raw:
        data = job.text.encode("utf-8", "replace")
        if len(data) > self._most_bytes:
            raise SourceTooLarge(f"It has {len(data) / 1e6:.1f} MB; files up to {self._most_bytes / 1e6:g} MB are outlined.")
        job = msgspec.structs.replace(job, text=data.decode())  # without stray surrogates
        with self._lock:
            answer = self._try_job(job) or self._try_job(job)  # a child may have been killed from outside: one more try
            if answer is None:
                raise OutlineFailed("The parser crashed on it, twice.")
        if isinstance(answer, outliner_process.OutlineRefusal):
            found = getattr(errors, answer.error, OutlineError)
            raise found(answer.message)
        return answer.value

    def _try_job(self, job: outliner_process.OutlineJob) -> outliner_process.OutlineAnswer | None:
        """Return the child's answer to a job; None if it crashed."""
        if self._child is not None and self._child.served >= self._most_files:
            self._end_child()
        if self._child is None:
            self._child = _Child(self._memory)
        answer = self._child.ask(job, self._seconds)
        if answer is None:
            late = self._child.late
            self._end_child()
            if late:
                raise OutlineFailed(f"Parsing it took more than {self._seconds:g} seconds.")
        return answer

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    """One child process. It is ended with this object at the latest."""

    def __init__(self, memory: int) -> None:
        # -P: modules in the current folder, which may be a stranger's, must not be imported
        command = [sys.executable, "-P", "-m", _CHILD, str(memory)]
        self._process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL)  # noqa: S603 - our own module
        self.pid = self._process.pid
        self.served = 0
        self.late = False
        self.end = finalize(self, _kill_and_wait, self._process)

    def ask(self, job: outliner_process.OutlineJob, seconds: float) -> outliner_process.OutlineAnswer | None:
        """Return its answer; None if it died, or was killed because of the timeout."""
        self.late = False
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        timer = Timer(seconds, self._kill)
        timer.daemon = True
        timer.start()
        try:
            outliner_process.send_frame(self._process.stdin, job)
            answer = outliner_process.receive_frame(self._process.stdout)
        except OSError:  # it is gone
            answer = None
        finally:
            timer.cancel()
        self.served += 1
        return None if answer is None else outliner_process.decode_answer(answer)

    def _kill(self) -> None:
        self.late = True
        self._process.kill()


def _kill_and_wait(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and wait until it has exited."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what it was still to be told
            if pipe is not None:
                pipe.close()
    process.wait()
