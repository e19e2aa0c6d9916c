"""An active turn: its text, for all its listeners, from the beginning. The last one that leaves stops it.

Several may listen to one: a client that has lost its connection sends the same request again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.events import CallReturned, CallStarted, Event, ModelAsked, ModelRetried, TextArrived
from treadle.core.log import log
from treadle.core.seams import Watcher
from treadle.engine.result import RunResult
from treadle.routes.streaming import UNEXPECTED_ERROR
from treadle.server.compat.agents import TurnAgent
from treadle.server.compat.answer import CompatAnswer, answer_id, build_answer
from treadle.server.compat.errors import CompatError, compat_error_from, model_error_from
from treadle.server.compat.streamed_text import StreamedText

RunCoroutine = Coroutine[Any, Any, RunResult[Any]]
StartRun = Callable[[Watcher], RunCoroutine]


class CompatTurn:
    """One turn, for the client that started it and those that join."""

    def __init__(self, worker: TurnAgent, run_id: str, begin: StartRun, *, start: int = 0) -> None:
        self.id = answer_id(run_id, start)
        self.run_id = run_id
        self._worker = worker
        self._start = start
        self._pieces: list[str] = []
        self._news = asyncio.Event()
        self._spoken = StreamedText()
        self._effects: set[str] = set()  # calls under way that change something
        self._writing = {tool.name: tool for tool in worker.agent.setup.toolset.tools() if tool.effect != "read"}
        self._listeners = 1  # the one that created it
        self.is_stopping = False
        self.stopped = "left"  # how it ended; as after a crash unless it says otherwise
        self._begin = begin
        self._task: asyncio.Task[CompatAnswer] | None = None

    def start(self) -> "asyncio.Task[CompatAnswer]":
        """Start the turn."""
        self._task = asyncio.ensure_future(self._execute())
        return self._task

    @property
    def task(self) -> "asyncio.Task[CompatAnswer]":
        """The task that executes the turn."""
        assert self._task is not None  # the creator of a turn starts it
        return self._task

    async def _execute(self) -> CompatAnswer:
        try:
            result = await self._begin(self._on_event)
        except TreadleError as error:
            raise compat_error_from(error) from error
        except Exception as error:
            log.exception("A turn failed")
            raise CompatError(500, UNEXPECTED_ERROR) from error
        finally:
            await self._worker.close()
            self._news.set()
        self.stopped = result.stopped
        if result.stopped == "failed":
            raise self._failure_error(result)
        return build_answer(result.run_id, result.entries, self._start, self._worker.telling)

    def _failure_error(self, result: RunResult[Any]) -> CompatError:
        """Return the error for a turn without an answer.

        What has changed something must not be retried automatically, and what the model has answered, if not as requested,
        would be paid for again.
        """
        error = self._worker.model.error
        refused = model_error_from(error, self._worker.agent.setup.redactor.text(result.reason))
        has_written = any(record.name in self._writing for record in result.calls if record.result is not None)
        refused.again = error is not None and not has_written
        return refused

    def _on_event(self, event: Event) -> None:
        if event.run_id != self.run_id:
            return  # of an agent that is a tool of ours
        match event:
            case TextArrived() if self._worker.telling.value is None:
                if told := self._spoken.told(event.text):
                    self._pieces.append(told)
            case ModelAsked():
                self._spoken.start_request()
            case ModelRetried():
                self._spoken.mark_retry()
            case CallStarted() if event.call.name in self._writing:
                if self._writing[event.call.name].effect_of(event.call.arguments) != "read":
                    self._effects.add(event.call.id)
            case CallReturned():
                self._effects.discard(event.result.call_id)
            case _:
                return
        self._news.set()

    # for those who listen

    def join(self) -> "CompatTurn":
        """Add a listener."""
        self._listeners += 1
        return self

    async def pieces(self) -> AsyncIterator[str | CompatAnswer]:
        """Yield the text as it comes, from the beginning, and the answer at the end. Raises `CompatError` where there is none."""
        told = 0
        while True:
            done = self.task.done()
            while told < len(self._pieces):
                told += 1
                yield self._pieces[told - 1]
            if done:
                yield self.task.result()
                return
            self._news.clear()
            if not self.task.done():
                await self._news.wait()

    def leave(self) -> "asyncio.Task[None] | None":
        """Remove a listener. The last one stops the turn; a call that is changing something completes first."""
        self._listeners -= 1
        if self._listeners or self.task.done():
            return None
        return asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        while self._effects and not self.task.done():
            self._news.clear()
            await self._news.wait()
        if self._listeners or self.task.done():
            return
        self.is_stopping = True
        if not await self._worker.agent.cancel(self.run_id):
            self.task.cancel()
        await asyncio.wait([self.task])
