"""The turns that are under way for one person: tasks of their own, which outlive the requests that began them.

What happens in each is broadcast, and kept for a while after it. When the server stops they are left as after a crash, and taken
up again when it starts. What is asked of a run over HTTP is `routes`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from treadle.app.agent import Agent
from treadle.app.home import Home
from treadle.core.errors import RunTaken, TreadleError
from treadle.core.events import CallReturned, Event, ModelAsked, RunEnded
from treadle.core.log import log
from treadle.core.requests import Usage
from treadle.core.seams import Watcher
from treadle.engine.result import RunResult
from treadle.engine.setup import Services
from treadle.guard.redaction import Redactor
from treadle.routes.streaming import UNFORESEEN
from treadle.server.closing import close_one
from treadle.server.metrics import Figures, effects_of
from treadle.server.place import Place
from treadle.server.runs.broadcast import MOST, MOST_BYTES, Broadcast
from treadle.server.runs.events import Reply, Told, TurnEnded, bounded, plain_data
from treadle.server.runs.noticing import Noticing
from treadle.server.runs.replay import reply_of
from treadle.stores.journal import Wanted

CLOSED = "The server stops, or what you may do was changed a moment ago; send this again."

Result = RunResult[Any]
Work = Callable[[Services, Sequence[Watcher]], Awaitable[Result]]


class Keeping(Struct, frozen=True):
    """How much is kept of what happens.

    events   of one run at most
    size     bytes of these at most
    seconds  for which they are kept after a turn
    over     bytes of all runs whose turns are over, at most
    """

    events: int = MOST
    size: int = MOST_BYTES
    seconds: float = 120.0
    over: int = 32 * 1024 * 1024


class Turn(Struct, frozen=True):
    """A turn to be carried out.

    reply      gives what comes with its answer besides the words
    position   how many entries the run has before it
    first      what is told as soon as it has begun
    used       what the turn has used already, where it is gone on with
    place      what it takes among the runs under way, for as long as it lasts
    close      what is closed after it
    """

    run_id: str
    assistant: str
    agent: Agent[Any]
    work: Work
    reply: "Callable[[RunResult[Any]], Awaitable[Any]] | None" = None
    position: int = 0
    first: tuple[Told, ...] = ()
    used: Usage = Usage()
    place: Place | None = None
    close: Sequence[Callable[[], object]] = ()


class UnderWay(Struct, frozen=True):
    """A turn that is being carried out."""

    turn: Turn
    broadcast: Broadcast
    begun: "asyncio.Future[None]"
    after: int  # the number of the last event before it


KEEPING = Keeping()


class Live:
    """One person's turns."""

    def __init__(self, home: Home, figures: Figures, keeping: Keeping = KEEPING) -> None:
        self.home = home
        self.figures = figures
        self._keeping = keeping
        self._under_way: dict[str, UnderWay] = {}
        self._tasks: dict[str, asyncio.Task[Reply]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._kept: dict[str, Broadcast] = {}  # those that are over longest come first
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._counted = ExitStack()
        self._heeding: asyncio.Task[None] | None = None
        self._is_closed = False

    # as long as the application runs

    async def __aenter__(self) -> Self:
        self._counted.enter_context(self.figures.counting(self._waiting))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave what is under way as after a crash: nothing is written about its end."""
        self._is_closed = True
        self._counted.close()
        self._hush()
        for timer in self._timers.values():
            timer.cancel()
        tasks: list[asyncio.Task[Any]] = [*self._tasks.values(), *([self._heeding] if self._heeding else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._closing)

    def heed(self, stopping: asyncio.Event | None) -> None:
        """Have all readers leave when the server begins to stop; it waits for them, and they can come back to the next one."""
        if stopping is not None and self._heeding is None:
            self._heeding = asyncio.create_task(self._hush_at(stopping))

    async def _hush_at(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self._hush()

    def _hush(self) -> None:
        for broadcast in (*self._kept.values(), *[way.broadcast for way in self._under_way.values()]):
            broadcast.hush()

    async def _waiting(self) -> int:
        return len(await self.home.journal.listed(Wanted(status="waiting", limit=10_000)))

    # what there is

    def is_under_way(self, run_id: str) -> bool:
        """Whether a turn of this run is being carried out here."""
        return run_id in self._under_way

    def broadcast(self, run_id: str) -> Broadcast | None:
        """The events of a run, if some were told here not long ago."""
        way = self._under_way.get(run_id)
        return self._kept.get(run_id) if way is None else way.broadcast

    # beginning and ending

    async def begin(self, turn: Turn) -> UnderWay:
        """Have a turn carried out; returns once it has begun, and is on disk. What keeps it from that is raised."""
        if self._is_closed or turn.run_id in self._under_way:
            await _closed(turn.close)
            if self._is_closed:
                raise HTTPException(503, CLOSED, {"retry-after": "1"})
            raise RunTaken(f"Run {turn.run_id} is under way already.")
        if turn.place is not None:
            turn.place.is_handed_on = True
        broadcast = self._kept.pop(turn.run_id, None) or Broadcast(self._keeping.events, self._keeping.size)
        self._forget_timer(turn.run_id)
        way = UnderWay(turn, broadcast, asyncio.get_running_loop().create_future(), broadcast.last)
        broadcast.begin(turn.position)
        self._under_way[turn.run_id] = way
        self.figures.begins(turn.assistant)
        task = self._tasks[turn.run_id] = asyncio.create_task(self._carried(way))
        task.add_done_callback(lambda done: self._over(way, done))  # one that is cancelled at once never gets to its own end
        await asyncio.shield(way.begun)  # whoever asked may leave; the turn goes on
        return way

    async def cancel(self, run_id: str) -> bool:
        """Stop a run that is under way here, and wait until it is. False where there is none."""
        way, task = self._under_way.get(run_id), self._tasks.get(run_id)
        if way is None or task is None:
            return False
        if not await way.turn.agent.cancel(run_id):
            task.cancel()
        await asyncio.wait([task])
        return True

    async def _carried(self, way: UnderWay) -> Reply:
        turn = way.turn
        result = await turn.work(*self._watched(way))
        return reply_of(turn.run_id, {turn.run_id: result.entries}, result.approvals, data=await _data(turn, result))

    def _watched(self, way: UnderWay) -> tuple[Services, Sequence[Watcher]]:
        turn = way.turn
        noticing = Noticing(self.home.database, turn.run_id, turn.position)
        counting = self.figures.watch(turn.run_id, turn.used, lambda: effects_of(turn.agent.setup.toolset))
        return replace(self.home.services(), journal=noticing), (_telling(way, noticing), counting)

    def _over(self, way: UnderWay, done: "asyncio.Task[Reply]") -> None:
        run_id, broadcast = way.turn.run_id, way.broadcast
        del self._under_way[run_id], self._tasks[run_id]
        if way.turn.place is not None:
            way.turn.place.leave()
        reply = None if done.cancelled() else _reply(way, done)
        self.figures.ends(way.turn.assistant, "left" if done.cancelled() else reply.stopped if reply else "failed")
        if not way.begun.done():
            _fail(way, RunTaken(f"Run {run_id} was cancelled before it began."))
        broadcast.end(reply)
        if broadcast.last and not broadcast.is_hushed:
            self._keep(run_id, broadcast)
        if way.turn.close:
            closing = asyncio.ensure_future(_closed(way.turn.close))
            self._closing.add(closing)  # or it might be collected before it is over
            closing.add_done_callback(self._closing.discard)

    # what is over

    def _keep(self, run_id: str, broadcast: Broadcast) -> None:
        self._kept[run_id] = broadcast
        self._timers[run_id] = asyncio.get_running_loop().call_later(self._keeping.seconds, self._let_go, run_id)
        while len(self._kept) > 1 and sum([each.size for each in self._kept.values()]) > self._keeping.over:
            self._let_go(next(iter(self._kept)))

    def _let_go(self, run_id: str) -> None:
        self._forget_timer(run_id)
        self._kept.pop(run_id).let_go()

    def _forget_timer(self, run_id: str) -> None:
        timer = self._timers.pop(run_id, None)
        if timer is not None:
            timer.cancel()


async def _data(turn: Turn, result: RunResult[Any]) -> Any:
    """What comes with the answer. Where that fails, there is the answer all the same."""
    try:
        return None if turn.reply is None else plain_data(await turn.reply(result))
    except Exception:  # noqa: BLE001 - an assistant's
        log.exception("What comes with the answer of run %s couldn't be made", turn.run_id)
        return None


def _reply(way: UnderWay, done: "asyncio.Task[Reply]") -> Reply | None:
    """How a turn ended. One that couldn't begin is for whoever began it to hear of; one that broke later is told as failed."""
    error = done.exception()
    if error is None:
        return done.result()
    if not way.begun.done():
        _fail(way, error)
        return None
    log.error("A turn of run %s broke", way.turn.run_id, exc_info=error)
    sentence = Redactor().text(str(error)) if isinstance(error, TreadleError) else UNFORESEEN
    return Reply(run_id=way.turn.run_id, message="", stopped="failed", reason=sentence)


def _fail(way: UnderWay, error: BaseException) -> None:
    way.begun.set_exception(error)
    way.begun.exception()  # nobody may be there to hear it


async def _closed(close: Sequence[Callable[[], object]]) -> None:
    for each in reversed(close):
        await close_one(each)


def _telling(way: UnderWay, noticing: Noticing) -> Watcher:
    """What tells the readers of a run's events what happens in its turn."""
    root, broadcast = way.turn.run_id, way.broadcast

    def tell(event: Event) -> None:
        if isinstance(event, ModelAsked) and event.run_id == root:  # between two rounds the journal has all that happened
            broadcast.mark(noticing.position)
        told = _told(event, root)
        if told is not None:
            broadcast.publish(told)
        if not way.begun.done():
            for each in way.turn.first:
                broadcast.publish(each)
            way.begun.set_result(None)

    return tell


def _told(event: Event, root: str) -> Told | None:
    """An event as readers are told of it; None for the end of the turn itself, which is its `reply`."""
    if isinstance(event, RunEnded):
        return None if event.run_id == root else _ended(event)
    return replace(event, result=bounded(event.result)) if isinstance(event, CallReturned) else event


def _ended(event: RunEnded) -> TurnEnded:
    result: Result = event.result
    usage = result.usage
    return TurnEnded(
        run_id=event.run_id,
        message=result.text,
        stopped=result.stopped,
        reason=result.reason,
        tokens_used=usage.total_tokens,
        cost=usage.cost,
    )
