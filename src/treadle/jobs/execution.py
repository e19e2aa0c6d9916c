"""Kinds of long-running work of an assistant, and how a job is executed, cancelled and resumed.

`store` defines a job. The work itself is the assistant's.
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

from treadle.core.entries import Entry, Finished, Noted, Replied, Returned, Said
from treadle.core.errors import RunNotFound, SettingsError, TreadleError
from treadle.core.requests import Usage
from treadle.jobs.store import Job, Jobs, State, remove_tree
from treadle.runs import Runs

if TYPE_CHECKING:
    from treadle.agent.agent import Agent
    from treadle.engine.result import RunResult
    from treadle.plugins.assistant import Host

_POLL_SECONDS = 0.5  # seconds between two checks for a request to stop


class JobResult(Struct, frozen=True):
    """How a job ended. `why` is a sentence, where it isn't completed."""

    state: State
    output: dict[str, Any] = {}
    why: str = ""


class JobKind(Struct, frozen=True):
    """A kind of job of an assistant: `treadle build …`.

    name     one word; the job's kind
    summary  what it does, in a few words without a full stop
    given    its input, as a Struct
    run      executes it; when resumed, it continues from the state of the job and the workspace
    reads    whether it changes nothing
    leaving  inputs that let data leave the machine; other programs can't set them
    """

    name: str
    summary: str
    given: type[Struct]
    run: Callable[["JobContext", Any], Awaitable[JobResult]]
    reads: bool = False
    leaving: tuple[str, ...] = ()


class JobContext:
    """The context in which a job is executed: its record, its run, and its host."""

    def __init__(self, job: Job, jobs: Jobs, host: "Host", before: State = "pending") -> None:
        self.job = job
        self.host = host
        self.before = before  # how the job stood when it was taken up
        self._jobs = jobs
        self._agent: Agent[Any, Any] | None = None
        self._cancelled = asyncio.Event()

    @property
    def folder(self) -> Path:
        """The folder for the job's own files."""
        return self._jobs.folder_of(self.job.id)

    @property
    def workspace(self) -> Path:
        """The path of its private workspace, which is removed when the job is completed or cancelled."""
        return self._jobs.workspace_of(self.job.id)

    @property
    def is_cancelled(self) -> bool:
        """Whether cancellation was requested."""
        return self._cancelled.is_set()

    def alone(self) -> AbstractContextManager[None]:
        """Return a lock on the workspace while it is changed. Raises `JobTaken` where another job holds it."""
        return self._jobs.alone_in(self.job.workspace)

    def note(self, **facts: Any) -> None:
        """Store these facts with the job."""
        self.job = self._jobs.save(replace(self.job, facts={**self.job.facts, **facts}))

    async def ask(self, agent: "Agent[Any, Any]", prompt: str, turn: int = 0) -> "RunResult[Any]":
        """Return the result of one turn of the job's run: resumed if it had started, returned as it was if it had finished."""
        services, host = self.host.home.services(), self.host
        watchers = () if host.watcher is None else (host.watcher,)
        self._agent = agent
        self._stop_if_cancelled()
        if await self.turns() > turn:
            return await agent.resume(self.job.id, journal=services, user=self.job.user, watchers=watchers)
        return await agent.run(prompt, run_id=self.job.id, journal=services, user=self.job.user, watchers=watchers)

    async def turns(self) -> int:
        """Return how many turns the run has started."""
        return sum(isinstance(entry, Said) for entry in await self._entries())

    async def rounds(self, turns: int | None = None) -> int:
        """Return how many replies the run has had, or its first `turns`."""
        return sum(isinstance(entry, Replied) and not entry.more for entry in await self._read_first_turns(turns))

    async def usage(self, turns: int | None = None) -> Usage:
        """Return the usage of the run, or of its first `turns`."""
        spent = Usage()
        for entry in await self._read_first_turns(turns):
            if isinstance(entry, Replied | Returned | Noted | Finished):
                spent = spent + entry.usage
        return replace(spent, calls=sum(isinstance(entry, Returned) for entry in await self._read_first_turns(turns)))

    async def _read_first_turns(self, turns: int | None) -> "Sequence[Entry]":
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
        """Cancel the job: its run, if one is active."""
        self._cancelled.set()
        if self._agent is not None:
            await self._agent.cancel(self.job.id)


def parse_job_input(work: JobKind, given: dict[str, Any]) -> Any:
    """Parse a job's input as its kind declares it; raise with a sentence where it doesn't fit."""
    try:
        return msgspec.convert(given, work.given)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{work.name} can't begin with that: {error}") from error


async def execute_job(job_id: str, work: JobKind, host: "Host") -> Job:
    """Execute or resume a job in this process, and store how it ended. Raises `JobTaken`."""
    jobs = Jobs(host.home.folder)
    with jobs.held(job_id) as job:
        if job.state in ("completed", "cancelled"):
            return job
        before = job.state
        job = jobs.save(replace(job, state="running", why="", started_at=job.started_at or time()))
        desk = JobContext(job, jobs, host, before)
        try:
            done = await _run_cancellable(desk, jobs, work)
        except asyncio.CancelledError:  # the process is being ended
            await _print_stopped(job_id, host)
            raise
        except Exception as error:  # a bug in the work: the job must not stay active
            jobs.save(replace(desk.job, state="failed", why=f"{type(error).__name__}: {error}", finished_at=time()))
            raise
        over = 0.0 if done.state == "waiting" else time()
        job = jobs.save(replace(desk.job, state=done.state, output=done.output, why=done.why, finished_at=over))
        is_dropped = job.state in ("completed", "cancelled")  # one that waits or failed may be gone on with
        dropped = jobs.drop_workspace(job_id) if is_dropped else None
    if dropped is not None:  # the job can be merged meanwhile
        await asyncio.to_thread(remove_tree, dropped)
    return job


async def _print_stopped(job_id: str, host: "Host") -> None:
    """Print at the terminal, where there is one, what was cut off and how to go on."""
    if host.terminal is None:
        return
    with suppress(RunNotFound):  # stopped before its run began
        for call in await Runs(host.home).interrupted_calls(job_id):
            arguments = msgspec.json.encode(call.arguments).decode()
            host.terminal.tell(f"{call.name} was running, and may have taken effect: {arguments}", "yellow")
    ways = f"To go on: treadle jobs resume {job_id}   To drop it: treadle jobs cancel {job_id}"
    host.terminal.tell(f"Stopped. {ways}", "yellow")


async def _run_cancellable(desk: JobContext, jobs: Jobs, work: JobKind) -> JobResult:
    """Execute the work until it ends or is cancelled."""
    working = asyncio.ensure_future(_run_work(desk, work))
    looking = asyncio.ensure_future(_poll_cancellation(desk, jobs, working))
    try:
        return await working
    except asyncio.CancelledError:
        if not desk.is_cancelled:
            raise  # the process is being ended: the job can be resumed
        return JobResult("cancelled")
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _run_work(desk: JobContext, work: JobKind) -> JobResult:
    try:
        return await work.run(desk, parse_job_input(work, desk.job.given))
    except TreadleError as error:
        return JobResult("cancelled" if desk.is_cancelled else "failed", why=str(error))


async def _poll_cancellation(desk: JobContext, jobs: Jobs, working: "asyncio.Future[JobResult]") -> None:
    while not await asyncio.to_thread(jobs.is_cancelled, desk.job.id):  # noqa: ASYNC110 - another process says so, by a file
        await asyncio.sleep(_POLL_SECONDS)
    await desk.stop()
    await asyncio.sleep(_POLL_SECONDS)  # a run that was stopped ends its turn, and the work may tidy up
    working.cancel()
