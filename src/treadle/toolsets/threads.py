"""Threads for synchronous tools: reused, as many as needed, and none that keeps the process from exiting.

The standard pool joins its threads when the interpreter exits, so one hung tool would hang the program.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

MAX_IDLE = 32

Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class ThreadPool:
    """A pool that grows when all its threads are busy."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Job]] = []
        self._lock = threading.Lock()

    async def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function and return its value. If the caller is cancelled the thread goes on, and its value is dropped."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        self._take_inbox().put((loop, future, lambda: context.run(function, *args, **kwargs)))
        return await future

    def _take_inbox(self) -> "SimpleQueue[Job]":
        with self._lock:
            if self._idle:
                return self._idle.pop()
        inbox: SimpleQueue[Job] = SimpleQueue()
        threading.Thread(target=self._run_jobs, args=(inbox,), name="treadle-tool", daemon=True).start()
        return inbox

    def _run_jobs(self, inbox: "SimpleQueue[Job]") -> None:
        while True:
            loop, future, job = inbox.get()
            _run_job(loop, future, job)
            del future, job
            with self._lock:
                if len(self._idle) >= MAX_IDLE:
                    return
                self._idle.append(inbox)


def _run_job(loop: asyncio.AbstractEventLoop, future: "asyncio.Future[Any]", job: Callable[[], Any]) -> None:
    try:
        value, error = job(), None
    except BaseException as raised:  # noqa: BLE001 - it is passed to the waiting caller, also SystemExit
        value, error = None, raised
    try:
        loop.call_soon_threadsafe(_resolve, future, value, error)
    except RuntimeError:  # the event loop is closed, and its callers with it
        return


def _resolve(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):  # a future or a loop can't carry these
        future.set_exception(RuntimeError(f"the tool raised {type(error).__name__}"))
    else:
        future.set_exception(error)
