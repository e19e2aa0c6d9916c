"""The active turns of one user: tasks of their own, which outlive the requests that started them.

Their events are broadcast, and buffered for a while afterwards. When the server stops they are left as after a
crash, and resumed when it starts. `routes` has the HTTP API.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from treadle.agent.agent import Agent
from treadle.core.entries import Entry
from treadle.core.errors import RunTaken, TreadleError
from treadle.core.events import CallReturned, Event, ModelAsked, RunEnded
from treadle.core.log import log
from treadle.core.media import Prompt
from treadle.core.requests import Usage
from treadle.core.seams import Watcher
from treadle.engine.result import RunResult
from treadle.engine.setup import Services
from treadle.guard.redaction import Redactor
from treadle.home import Home
from treadle.routes.streaming import UNEXPECTED_ERROR
from treadle.server.cleanup import close_resource
from treadle.server.limits import RunSlot
from treadle.server.metrics import ServerMetrics, tool_effects
from treadle.server.runs.broadcast import MAX_BYTES, MAX_ITEMS, Broadcast
from treadle.server.runs.events import RunReply, StreamEvent, TurnEnded, to_plain_data, truncate_result
from treadle.server.runs.replay import reply_from_journal
from treadle.stores.cancellation import CancelWatch
from treadle.stores.database import Database
from treadle.stores.journal import DatabaseJournal
from treadle.stores.queue_stats import count_asking


class PositionedJournal(DatabaseJournal):
    """A home's journal, for one turn of one run."""

    def __init__(self, database: Database, run_id: str, position: int) -> None:
        super().__init__(database)
        self._run_id = run_id
        self.position = position  # how many entries the run has

    def append_hiding(self, run_id: str, position: int, entries: Sequence[Entry], redactor: Redactor) -> Awaitable[None]:
        """Write entries, and track the position of the run."""
        if run_id == self._run_id:
            self.position = position + len(entries)
        return super().append_hiding(run_id, position, entries, redactor)


SHUTTING_DOWN = "The server stops, or what you may do was changed a moment ago; send this again."

AnyResult = RunResult[Any]
TurnWork = Callable[[Services, Sequence[Watcher]], Awaitable[AnyResult]]


class BroadcastRetention(Struct, frozen=True):
    """How long and how many events are buffered.

    events   maximum of one run
    size     maximum bytes of these
    seconds  for which they are buffered after a turn
    over     maximum bytes of all runs whose turns have ended
    """

    events: int = MAX_ITEMS
    size: int = MAX_BYTES
    seconds: float = 120.0
    over: int = 32 * 1024 * 1024


class PendingTurn(Struct, frozen=True):
    """A turn to execute.

    reply      returns the data that accompanies its answer
    position   how many entries the run has before it
    first      events that are published as soon as it has started
    used       the usage so far of the turn, where it is resumed
    place      its slot among the active runs, for as long as it lasts
    close      what is closed after it
    """

    run_id: str
    assistant: str
    agent: Agent[Any, Any]
    work: TurnWork
    reply: "Callable[[RunResult[Any]], Awaitable[Any]] | None" = None
    position: int = 0
    first: tuple[StreamEvent, ...] = ()
    used: Usage = Usage()
    place: RunSlot | None = None
    close: Sequence[Callable[[], object]] = ()


class RunningTurn(Struct, frozen=True):
    """A turn that is being executed."""

    turn: PendingTurn
    broadcast: Broadcast
    begun: "asyncio.Future[None]"
    after: int  # the number of the last event before it


DEFAULT_RETENTION = BroadcastRetention()


class LiveTurns:
    """One user's active turns."""

    def __init__(self, home: Home, figures: ServerMetrics, keeping: BroadcastRetention = DEFAULT_RETENTION) -> None:
        self.home = home
        self.figures = figures
        self._keeping = keeping
        self._under_way: dict[str, RunningTurn] = {}
        self._tasks: dict[str, asyncio.Task[RunReply]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._kept: dict[str, Broadcast] = {}  # those that are over longest come first
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._counted = ExitStack()
        self._heeding: asyncio.Task[None] | None = None
        self._is_closed = False
        self._cancel_watch = CancelWatch(home.cancel_requests)  # of other processes
        self.turn_ended = asyncio.Event()  # since it was last cleared

    # as long as the application runs

    async def __aenter__(self) -> Self:
        self._counted.enter_context(self.figures.counting(self._count_waiting))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave active turns as after a crash: nothing is journaled about their end."""
        self._is_closed = True
        self._counted.close()
        self._stop_readers()
        for timer in self._timers.values():
            timer.cancel()
        tasks: list[asyncio.Task[Any]] = [*self._tasks.values(), *([self._heeding] if self._heeding else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._closing)

    def heed(self, stopping: asyncio.Event | None) -> None:
        """Stop all readers when the server starts to stop; it waits for them, and they can reconnect to the next one."""
        if stopping is not None and self._heeding is None:
            self._heeding = asyncio.create_task(self._stop_readers_at(stopping))

    async def _stop_readers_at(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self._stop_readers()

    def _stop_readers(self) -> None:
        for broadcast in (*self._kept.values(), *[way.broadcast for way in self._under_way.values()]):
            broadcast.hush()

    async def _count_waiting(self) -> int:
        return await count_asking(self.home.database)

    # what there is

    def is_under_way(self, run_id: str) -> bool:
        """Whether a turn of this run is being executed here."""
        return run_id in self._under_way

    def broadcast(self, run_id: str) -> Broadcast | None:
        """Return the broadcast of a run that is active here or was recently."""
        way = self._under_way.get(run_id)
        return self._kept.get(run_id) if way is None else way.broadcast

    async def steer(self, run_id: str, prompt: Prompt, message_id: str) -> bool:
        """Send a message to the turn of a run that is being executed here. Return False where there is none, or it has ended."""
        while (way := self._under_way.get(run_id)) is not None:
            task = self._tasks[run_id]
            await asyncio.wait([way.begun])
            services = self.home.services()
            if await way.turn.agent.steer(run_id, prompt, message_id=message_id, journal=services):
                return True
            await asyncio.wait([task])
        return False

    # beginning and ending

    async def begin(self, turn: PendingTurn) -> RunningTurn:
        """Execute a turn; return once it has started and is on disk. What prevents that is raised."""
        if self._is_closed or turn.run_id in self._under_way:
            await _close_resources(turn.close)
            if self._is_closed:
                raise HTTPException(503, SHUTTING_DOWN, {"retry-after": "1"})
            raise RunTaken(f"Run {turn.run_id} is under way already.")
        if turn.place is not None:
            turn.place.is_handed_on = True
        broadcast = self._kept.pop(turn.run_id, None) or Broadcast(self._keeping.events, self._keeping.size)
        self._cancel_timer(turn.run_id)
        way = RunningTurn(turn, broadcast, asyncio.get_running_loop().create_future(), broadcast.last)
        broadcast.begin(turn.position)
        self._under_way[turn.run_id] = way
        self.figures.begins(turn.assistant)
        task = self._tasks[turn.run_id] = asyncio.create_task(self._execute(way))
        task.add_done_callback(lambda done: self._on_done(way, done))  # one that is cancelled at once never gets to its own end
        await asyncio.shield(way.begun)  # the client may disconnect; the turn goes on
        return way

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is active here, and wait until it has ended. Return False where there is none."""
        way, task = self._under_way.get(run_id), self._tasks.get(run_id)
        if way is None or task is None:
            return False
        if not await way.turn.agent.cancel(run_id):
            task.cancel()
        await asyncio.wait([task])
        return True

    async def _execute(self, way: RunningTurn) -> RunReply:
        turn = way.turn
        async with self._cancel_watch.watching(turn.run_id, lambda: turn.agent.cancel(turn.run_id)):
            result = await turn.work(*self._instrument(way))
        return reply_from_journal(
            turn.run_id, {turn.run_id: result.entries}, result.approvals, data=await _reply_data(turn, result)
        )

    def _instrument(self, way: RunningTurn) -> tuple[Services, Sequence[Watcher]]:
        turn = way.turn
        noticing = PositionedJournal(self.home.database, turn.run_id, turn.position)
        counting = self.figures.watch(turn.run_id, turn.used, lambda: tool_effects(turn.agent.setup.toolset))
        return replace(self.home.services(), journal=noticing), (_broadcast_watcher(way, noticing), counting)

    def _on_done(self, way: RunningTurn, done: "asyncio.Task[RunReply]") -> None:
        run_id, broadcast = way.turn.run_id, way.broadcast
        del self._under_way[run_id], self._tasks[run_id]
        if way.turn.place is not None:
            way.turn.place.release()
        reply = None if done.cancelled() else _reply_from(way, done)
        self.figures.ends(way.turn.assistant, "left" if done.cancelled() else reply.stopped if reply else "failed")
        if not way.begun.done():
            _fail_start(way, RunTaken(f"Run {run_id} was cancelled before it began."))
        broadcast.end(reply)
        self.turn_ended.set()
        if broadcast.last and not broadcast.is_hushed:
            self._retain(run_id, broadcast)
        if way.turn.close:
            closing = asyncio.ensure_future(_close_resources(way.turn.close))
            self._closing.add(closing)  # or it might be collected before it is over
            closing.add_done_callback(self._closing.discard)

    # what is over

    def _retain(self, run_id: str, broadcast: Broadcast) -> None:
        self._kept[run_id] = broadcast
        self._timers[run_id] = asyncio.get_running_loop().call_later(self._keeping.seconds, self._let_go, run_id)
        while len(self._kept) > 1 and sum([each.size for each in self._kept.values()]) > self._keeping.over:
            self._let_go(next(iter(self._kept)))

    def _let_go(self, run_id: str) -> None:
        self._cancel_timer(run_id)
        self._kept.pop(run_id).let_go()

    def _cancel_timer(self, run_id: str) -> None:
        timer = self._timers.pop(run_id, None)
        if timer is not None:
            timer.cancel()


async def _reply_data(turn: PendingTurn, result: RunResult[Any]) -> Any:
    """Return the data that accompanies an answer; None where that fails, so that the answer isn't lost."""
    try:
        return None if turn.reply is None else to_plain_data(await turn.reply(result))
    except Exception:  # noqa: BLE001 - an assistant's
        log.exception("What comes with the answer of run %s couldn't be made", turn.run_id)
        return None


def _reply_from(way: RunningTurn, done: "asyncio.Task[RunReply]") -> RunReply | None:
    """Return how a turn ended. A failure to start is raised to its starter; a later one is reported as failed."""
    error = done.exception()
    if error is None:
        return done.result()
    if not way.begun.done():
        _fail_start(way, error)
        return None
    log.error("A turn of run %s broke", way.turn.run_id, exc_info=error)
    sentence = Redactor().text(str(error)) if isinstance(error, TreadleError) else UNEXPECTED_ERROR
    return RunReply(run_id=way.turn.run_id, message="", stopped="failed", reason=sentence)


def _fail_start(way: RunningTurn, error: BaseException) -> None:
    way.begun.set_exception(error)
    way.begun.exception()  # there may be no client left


async def _close_resources(close: Sequence[Callable[[], object]]) -> None:
    for each in reversed(close):
        await close_resource(each)


def _broadcast_watcher(way: RunningTurn, noticing: PositionedJournal) -> Watcher:
    """Return a watcher that publishes the events of a turn to its broadcast."""
    root, broadcast = way.turn.run_id, way.broadcast

    def tell(event: Event) -> None:
        if isinstance(event, ModelAsked) and event.run_id == root:  # between two rounds the journal has all that happened
            broadcast.mark(noticing.position)
        told = _to_stream_event(event, root)
        if told is not None:
            broadcast.publish(told)
        if not way.begun.done():
            for each in way.turn.first:
                broadcast.publish(each)
            way.begun.set_result(None)

    return tell


def _to_stream_event(event: Event, root: str) -> StreamEvent | None:
    """Return an event for readers; None for the end of the turn itself, which is its `RunReply`."""
    if isinstance(event, RunEnded):
        return None if event.run_id == root else _to_turn_ended(event)
    return replace(event, result=truncate_result(event.result)) if isinstance(event, CallReturned) else event


def _to_turn_ended(event: RunEnded) -> TurnEnded:
    result: AnyResult = event.result
    usage = result.usage
    return TurnEnded(
        run_id=event.run_id,
        path=event.path,
        message=result.text,
        stopped=result.stopped,
        reason=result.reason,
        tokens_used=usage.total_tokens,
        cost=usage.cost,
    )
