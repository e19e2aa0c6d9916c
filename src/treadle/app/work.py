"""Work that lasts: what an assistant can be set to do as a job, and how one is carried out, cancelled and taken up again.

What a job is says `jobs`. The work itself is the assistant's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.app.jobs import Job, Jobs, State, remove_tree
from treadle.core.entries import Entry, Finished, Noted, Replied, Returned, Said
from treadle.core.errors import RunNotFound, SettingsError, TreadleError
from treadle.core.requests import Usage

if TYPE_CHECKING:
    from treadle.app.agent import Agent
    from treadle.app.assistant import Host
    from treadle.engine.result import RunResult

_LOOKS = 0.5  # seconds between two looks whether somebody wants it to stop


class Done(Struct, frozen=True):
    """How a piece of work ended. `why` is a sentence, where it isn't completed."""

    state: State
    output: dict[str, Any] = {}
    why: str = ""


class Work(Struct, frozen=True):
    """Something an assistant does as a job: `treadle build …`.

    name     one word; the job's kind
    summary  what it does, in a few words without a full stop
    given    what it has to be given, as a Struct
    run      does it; taken up again, it goes on from what the desk and the workspace say
    reads    whether it changes nothing
    leaving  what it may be given that lets it leave the machine; no other program may say that
    """

    name: str
    summary: str
    given: type[Struct]
    run: Callable[["Desk", Any], Awaitable[Done]]
    reads: bool = False
    leaving: tuple[str, ...] = ()


class Desk:
    """What a job is carried out at: its file, its run, and the face that lent the rest."""

    def __init__(self, job: Job, jobs: Jobs, host: "Host", before: State = "pending") -> None:
        self.job = job
        self.host = host
        self.before = before  # how the job stood when it was taken up
        self._jobs = jobs
        self._agent: Agent[Any] | None = None
        self._cancelled = asyncio.Event()

    @property
    def folder(self) -> Path:
        """Where it may keep things of its own."""
        return self._jobs.folder_of(self.job.id)

    @property
    def workspace(self) -> Path:
        """Where it may have a private workspace, which is removed when it is completed or cancelled."""
        return self._jobs.workspace_of(self.job.id)

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody wants it to stop."""
        return self._cancelled.is_set()

    def alone(self) -> AbstractContextManager[None]:
        """For as long as it changes its workspace. Raises `JobTaken` where another job does."""
        return self._jobs.alone_in(self.job.workspace)

    def note(self, **facts: Any) -> None:
        """Keep these facts with the job."""
        self.job = self._jobs.save(replace(self.job, facts={**self.job.facts, **facts}))

    async def ask(self, agent: "Agent[Any]", prompt: str, turn: int = 0) -> "RunResult[Any]":
        """The result of one turn of the job's run: taken up if it had begun, returned as it was if it was over."""
        services, host = self.host.home.services(), self.host
        watchers = () if host.watcher is None else (host.watcher,)
        self._agent = agent
        self._stop_if_cancelled()
        if await self.turns() > turn:
            return await agent.resume(self.job.id, journal=services, user=self.job.user, watchers=watchers)
        return await agent.run(prompt, run_id=self.job.id, journal=services, user=self.job.user, watchers=watchers)

    async def turns(self) -> int:
        """How many turns its run has begun."""
        return sum(isinstance(entry, Said) for entry in await self._entries())

    async def rounds(self, turns: int | None = None) -> int:
        """How many replies its run has had, or its first `turns`."""
        return sum(isinstance(entry, Replied) and not entry.more for entry in await self._first(turns))

    async def usage(self, turns: int | None = None) -> Usage:
        """What its run has used, or its first `turns`."""
        spent = Usage()
        for entry in await self._first(turns):
            if isinstance(entry, Replied | Returned | Noted | Finished):
                spent = spent + entry.usage
        return replace(spent, calls=sum(isinstance(entry, Returned) for entry in await self._first(turns)))

    async def _first(self, turns: int | None) -> "Sequence[Entry]":
        entries = await self._entries()
        begun = [index for index, entry in enumerate(entries) if isinstance(entry, Said)]
        return entries if turns is None or turns >= len(begun) else entries[: begun[turns]]

    async def _entries(self) -> "Sequence[Entry]":
        try:
            return await self.host.home.journal.read(self.job.id)
        except RunNotFound:
            return ()

    def _stop_if_cancelled(self) -> None:
        if self.is_cancelled:
            raise asyncio.CancelledError

    async def stop(self) -> None:
        """Somebody wants it to stop: its run, if one is under way."""
        self._cancelled.set()
        if self._agent is not None:
            await self._agent.cancel(self.job.id)


def given_as(work: Work, given: dict[str, Any]) -> Any:
    """What a job is given, as the work takes it; a sentence for what doesn't fit."""
    try:
        return msgspec.convert(given, work.given)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{work.name} can't begin with that: {error}") from error


async def carry_out(job_id: str, work: Work, host: "Host") -> Job:
    """Do a job, or go on with it, in this process; it is kept how that ended. Raises `JobTaken`."""
    jobs = Jobs(host.home.folder)
    with jobs.held(job_id) as job:
        if job.state in ("completed", "cancelled"):
            return job
        before = job.state
        job = jobs.save(replace(job, state="running", why="", started_at=job.started_at or time()))
        desk = Desk(job, jobs, host, before)
        try:
            done = await _watched(desk, jobs, work)
        except Exception as error:  # a mistake in the work: whoever looks at the job must not wait for it
            jobs.save(replace(desk.job, state="failed", why=f"{type(error).__name__}: {error}", finished_at=time()))
            raise
        over = 0.0 if done.state == "waiting" else time()
        job = jobs.save(replace(desk.job, state=done.state, output=done.output, why=done.why, finished_at=over))
        is_dropped = job.state in ("completed", "cancelled")  # one that waits or failed may be gone on with
        dropped = jobs.drop_workspace(job_id) if is_dropped else None
    if dropped is not None:  # the job can be merged meanwhile
        await asyncio.to_thread(remove_tree, dropped)
    return job


async def _watched(desk: Desk, jobs: Jobs, work: Work) -> Done:
    """The work, stopped when somebody wants that."""
    working = asyncio.ensure_future(_done(desk, work))
    looking = asyncio.ensure_future(_look(desk, jobs, working))
    try:
        return await working
    except asyncio.CancelledError:
        if not desk.is_cancelled:
            raise  # the process is being ended: the job can be resumed
        return Done("cancelled")
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _done(desk: Desk, work: Work) -> Done:
    try:
        return await work.run(desk, given_as(work, desk.job.given))
    except TreadleError as error:
        return Done("cancelled" if desk.is_cancelled else "failed", why=str(error))


async def _look(desk: Desk, jobs: Jobs, working: "asyncio.Future[Done]") -> None:
    while not await asyncio.to_thread(jobs.is_cancelled, desk.job.id):  # noqa: ASYNC110 - another process says so, by a file
        await asyncio.sleep(_LOOKS)
    await desk.stop()
    await asyncio.sleep(_LOOKS)  # a run that was stopped ends its turn, and the work may tidy up
    working.cancel()
