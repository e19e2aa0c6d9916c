"""A turn under way: what is said in it, for everybody who listens, from its beginning. The last one who leaves stops it.

Several may listen to one: a client that has lost its connection sends the same again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.events import CallReturned, CallStarted, Event, ModelAsked, ModelRetried, TextArrived
from treadle.core.log import log
from treadle.core.seams import Watcher
from treadle.engine.result import RunResult
from treadle.routes.streaming import UNFORESEEN
from treadle.server.wires.answer import Answer, answer_id, answer_of
from treadle.server.wires.making import Worker
from treadle.server.wires.refused import Refused, of_model, refused_by
from treadle.server.wires.spoken import Spoken

Going = Coroutine[Any, Any, RunResult[Any]]
Begin = Callable[[Watcher], Going]


class Turn:
    """One turn, for whoever made it and those who join."""

    def __init__(self, worker: Worker, run_id: str, begin: Begin, *, start: int = 0) -> None:
        self.id = answer_id(run_id, start)
        self.run_id = run_id
        self._worker = worker
        self._start = start
        self._pieces: list[str] = []
        self._news = asyncio.Event()
        self._spoken = Spoken()
        self._effects: set[str] = set()  # calls under way that change something
        self._writing = {tool.name: tool for tool in worker.agent.setup.toolset.tools() if tool.effect != "read"}
        self._listeners = 1  # whoever made it
        self.is_stopping = False
        self.stopped = "left"  # how it ended; as after a crash unless it says otherwise
        self._begin = begin
        self._task: asyncio.Task[Answer] | None = None

    def start(self) -> "asyncio.Task[Answer]":
        """Begin."""
        self._task = asyncio.ensure_future(self._carried_out())
        return self._task

    @property
    def task(self) -> "asyncio.Task[Answer]":
        """The work."""
        assert self._task is not None  # whoever makes a turn begins it
        return self._task

    async def _carried_out(self) -> Answer:
        try:
            result = await self._begin(self._hear)
        except TreadleError as error:
            raise refused_by(error) from error
        except Exception as error:
            log.exception("A turn failed")
            raise Refused(500, UNFORESEEN) from error
        finally:
            await self._worker.close()
            self._news.set()
        self.stopped = result.stopped
        if result.stopped == "failed":
            raise self._failure(result)
        return answer_of(result.run_id, result.entries, self._start, self._worker.telling)

    def _failure(self, result: RunResult[Any]) -> Refused:
        """Why there is no answer. What has changed something isn't to be tried again by a program alone, and what the model
        has answered, if not as it should have, would be paid for once more.
        """
        error = self._worker.model.error
        refused = of_model(error, self._worker.agent.setup.redactor.text(result.reason))
        has_written = any(record.name in self._writing for record in result.calls if record.result is not None)
        refused.again = error is not None and not has_written
        return refused

    def _hear(self, event: Event) -> None:
        if event.run_id != self.run_id:
            return  # of an agent that is a tool of ours
        match event:
            case TextArrived() if self._worker.telling.value is None:
                if told := self._spoken.told(event.text):
                    self._pieces.append(told)
            case ModelAsked():
                self._spoken.asked()
            case ModelRetried():
                self._spoken.failed()
            case CallStarted() if event.call.name in self._writing:
                if self._writing[event.call.name].effect_of(event.call.arguments) != "read":
                    self._effects.add(event.call.id)
            case CallReturned():
                self._effects.discard(event.result.call_id)
            case _:
                return
        self._news.set()

    # for those who listen

    def join(self) -> "Turn":
        """One more listens."""
        self._listeners += 1
        return self

    async def pieces(self) -> AsyncIterator[str | Answer]:
        """The words as they come, from the first, and the answer at the end. Raises `Refused` where there is none."""
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
        """One less listens. The last one stops the turn; what is changing something comes to its end first."""
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
