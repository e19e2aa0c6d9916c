"""A run step by step: `Agent.iter` yields before each request to the model, after the calls of each round, and at the end.

It is the same loop as in `Agent.run`, with a watcher for which the engine pauses before each request.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, TypeVar

from msgspec import Struct

from treadle.core.entries import Entry, Replied
from treadle.core.events import Event
from treadle.core.media import Prompt
from treadle.core.messages import History, text_of
from treadle.core.requests import Usage
from treadle.core.seams import Watcher
from treadle.engine.live import LiveRun
from treadle.engine.result import CallRecord, RunResult, calls_of
from treadle.loop.decide import AskModel

__all__ = ["CallsStep", "EndStep", "RequestStep", "RunStep", "RunSteps"]

OutputT = TypeVar("OutputT")


class RequestStep(Struct, frozen=True):
    """The model is about to be asked. `round` counts from 1; `note` is a line for this request only."""

    run_id: str
    round: int
    agent: str
    model: str
    history: History
    note: str = ""


class CallsStep(Struct, frozen=True):
    """The model has called tools, and each call has its result. `text` is what it said with them; `usage` is the turn's so far."""

    run_id: str
    text: str
    calls: tuple[CallRecord, ...]
    usage: Usage


class EndStep(Struct, Generic[OutputT], frozen=True):
    """The turn is over; `result` is what `run` returns."""

    result: RunResult[OutputT]


RunStep = RequestStep | CallsStep | EndStep[OutputT]


class RunSteps(Generic[OutputT]):
    """A run that is carried out step by step: an async context manager, and an async iterator of its steps.

    Leaving the context before the end cancels the run; `result` is there after it in any case.
    """

    def __init__(
        self,
        begin: Callable[[Watcher], Coroutine[Any, Any, RunResult[OutputT]]],
        cancel: Callable[[str], Awaitable[bool]],
        steer: Callable[[str, Prompt, str], Awaitable[bool]],
    ) -> None:
        self._begin = begin
        self._cancel = cancel
        self._steer = steer
        self._task: asyncio.Task[RunResult[OutputT]] | None = None
        self._run_id = ""
        self._steps: asyncio.Queue[RunStep[OutputT] | None] = asyncio.Queue()  # None: the task is done
        self._go_on = asyncio.Event()
        self._entries = 0  # that there were at the last pause
        self._told: set[str] = set()  # calls that a step was about
        self._ended = False

    def __call__(self, event: Event) -> None:
        """Take an event: the first one has the run's id."""
        self._run_id = self._run_id or event.run_id

    @property
    def result(self) -> RunResult[OutputT]:
        """How the turn ended. Raises what the run raised."""
        if self._task is None:
            raise RuntimeError("The run hasn't begun: iterate over its steps, with `async for step in steps`.")
        if not self._task.done():
            raise RuntimeError("The run isn't over: iterate to its end, or leave the `async with` block.")
        return self._task.result()

    async def steer(self, message: Prompt, *, message_id: str = "") -> bool:
        """Send a message to the run: the model reads it with its next request. Return False where no turn is running."""
        return bool(self._run_id) and await self._steer(self._run_id, message, message_id)

    async def __aenter__(self) -> "RunSteps[OutputT]":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        task, self._ended = self._task, True
        if task is None or task.done():
            return
        if not (self._run_id and await self._cancel(self._run_id)):
            task.cancel()
        await asyncio.wait([task])

    def __aiter__(self) -> "RunSteps[OutputT]":
        return self

    async def __anext__(self) -> RunStep[OutputT]:
        if self._ended:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.ensure_future(self._begin(self))
            self._task.add_done_callback(lambda _: self._steps.put_nowait(None))
        elif self._steps.empty():
            self._go_on.set()
        step = await self._steps.get()
        if step is None:
            self._ended = True  # also if this raises
            step = await self._end(self._task)
        self._ended = isinstance(step, EndStep)
        return step

    async def pause(self, run: LiveRun, request: AskModel) -> None:
        """Add steps for the calls since the last pause and for the request to come; wait until the next one is asked for."""
        calls = self._calls_since(run.id, run.entries, run.state.spent.usage)
        if calls is not None:
            self._steps.put_nowait(calls)
        round_number, names = run.state.spent.rounds + 1, (run.setup.name, run.setup.model.name)
        self._steps.put_nowait(RequestStep(run.id, round_number, *names, run.state.history, request.note))
        self._go_on.clear()
        await self._go_on.wait()

    def _calls_since(self, run_id: str, entries: list[Entry], usage: Usage) -> CallsStep | None:
        """Return the calls that have got their results since the last pause."""
        new, self._entries = entries[self._entries :], len(entries)
        calls = [record for record in calls_of(entries) if record.result is not None and record.call.id not in self._told]
        if not calls:
            return None
        self._told.update([record.call.id for record in calls])
        text = "".join([text_of(entry.parts) for entry in new if isinstance(entry, Replied)])
        return CallsStep(run_id, text, tuple(calls), usage)

    async def _end(self, task: "asyncio.Task[RunResult[OutputT]]") -> RunStep[OutputT]:
        """Return the calls since the last pause and leave the end for later; or the end, if there were none."""
        result = await task  # raises what `run` raised
        end, calls = EndStep(result), self._calls_since(result.run_id, result.entries, result.usage)
        if calls is None:
            return end
        self._steps.put_nowait(end)
        return calls
