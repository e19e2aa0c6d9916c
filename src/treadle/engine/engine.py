"""Starts, continues, resumes, forks, cancels and watches runs. What happens inside of one is `drive`."""

import asyncio
import inspect
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from os import urandom
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Call, Written
from treadle.core.entries import Entry, Opened, Replied, Resumed, Said
from treadle.core.errors import RunNotFound, RunTaken
from treadle.core.events import RunEnded, RunStarted
from treadle.core.media import Prompt
from treadle.engine.catalog import Catalog
from treadle.engine.drive import drive
from treadle.engine.interrupted_calls import record_expired
from treadle.engine.live import LiveRun
from treadle.engine.media import read_prompt
from treadle.engine.meter import Meter
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval, Caller, Services, Setup
from treadle.engine.telemetry import run_span
from treadle.engine.tree import RunTree, fork_run, journal_of, load_run_tree, record_answer
from treadle.engine.watch import Watch
from treadle.loop.state import RunState

ANONYMOUS = Caller()


class Engine:
    """One agent's runs. Stores are passed in; the engine owns only the runs that are active."""

    def __init__(self, setup: Setup, services: Services) -> None:
        self.setup = setup
        self.services = services
        self._live: dict[str, LiveRun] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._catalog: Catalog | None = None

    # ways in

    async def start(
        self,
        prompt: Prompt,
        *,
        run_id: str | None = None,
        caller: Caller = ANONYMOUS,
        history: Sequence[Any] = (),
        origin: dict[str, Any] | None = None,
        parent: LiveRun | None = None,
    ) -> RunResult[Any]:
        """Run a prompt: in a new run, or in an existing one."""
        said = await read_prompt(prompt, self.setup.model, self.services.blobs)
        with self._enter_run(run_id or new_run_id(), caller, parent) as run:
            if run_id is not None and self.services.journal is not None:
                _continue_run(run, await self._read_earlier(run_id))
            if not run.entries:
                run.record(self._opening_entry(run, tuple(history), origin or {}, parent))
            run.record(Said(text=said.text, parts=said.parts, at=run.now()))
            return await self._run_task(run, resumed=False)

    async def resume(self, run_id: str, *, caller: Caller = ANONYMOUS, parent: LiveRun | None = None) -> RunResult[Any]:
        """Resume a run: after a crash, a restart, an approval, a failure. A finished one is returned as it is."""
        with self._enter_run(run_id, caller, parent) as run:
            _replay_journal(run, await self._read(run_id))
            _check_parent(run, parent)
            if run.state.finished is not None and run.state.finished.stopped in ("answered", "limit", "cancelled"):
                return self._result(run)
            run.record(Resumed(at=run.now()))
            _refuse_expired(run)
            return await self._run_task(run, resumed=True)

    async def fork(self, run_id: str, at: int | None = None, new_id: str | None = None) -> str:
        """Create a run from a copy of another one's first `at` entries. Nothing runs yet."""
        forked = new_id or new_run_id()
        await fork_run(self.services, run_id, at, forked, self.setup.redactor)
        return forked

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is active in this process. Returns False where there is none."""
        run, task = self._live.get(run_id), self._tasks.get(run_id)
        if run is None or task is None:
            return False
        run.cancelled = True
        task.cancel()
        await asyncio.wait([task])
        return True

    def watch(self, run_id: str) -> Watch:
        """Return the events of a run that is active in this process, from now on."""
        run = self._live.get(run_id)
        if run is None:
            raise RunNotFound(f"Run {run_id} isn't under way in this process.")
        watch = Watch(run_id=run_id)
        run.caller = replace(run.caller, watchers=(*run.caller.watchers, watch))
        return watch

    # approvals

    async def approvals(self, run_id: str) -> list[Approval]:
        """Return the approvals that a run waits for, nested runs included."""
        return (await self._tree(run_id)).approvals()

    async def answer(self, run_id: str, call_id: str, answer: Answer, *, digest: str = "") -> Approval:
        """Record a person's answer about a call; `resume` then continues. `digest` binds it to what they were shown."""
        catalog = await self._tools()
        return await (await self._tree(run_id)).answer(call_id, answer, digest, catalog)

    async def _tree(self, run_id: str) -> RunTree:
        return await load_run_tree(self.services, run_id, redactor=self.setup.redactor, expire=self.setup.approvals_expire)

    # inside

    def _opening_entry(self, run: LiveRun, history: tuple[Any, ...], origin: dict[str, Any], parent: LiveRun | None) -> Opened:
        return Opened(
            agent=self.setup.name,
            model=self.setup.model.name,
            user=run.caller.user,
            parent="" if parent is None else parent.id,
            origin=origin,
            history=history,
            tainted=parent is not None and parent.state.tainted,
            at=run.now(),
        )

    async def _read_earlier(self, run_id: str) -> list[Entry]:
        try:
            return await self._read(run_id)
        except RunNotFound:
            return []

    @contextmanager
    def _enter_run(self, run_id: str, caller: Caller, parent: LiveRun | None) -> Generator[LiveRun, None, None]:
        """Return a live run with this id for as long as it is active; there is only one at a time."""
        if run_id in self._live:
            raise RunTaken(f"Run {run_id} is under way already.")
        meter: Meter | None = None if parent is None else parent.meter
        run = LiveRun(run_id, self.setup, self.services, caller, self._tools_now(), meter)
        self._live[run_id] = run
        run.meter.join(run)
        try:
            yield run
        finally:
            del self._live[run_id]
            run.meter.leave(run_id)

    async def _run_task(self, run: LiveRun, *, resumed: bool) -> RunResult[Any]:
        """Drive the run until it stops, in a task of its own so that it can be cancelled by name."""
        self._tasks[run.id] = task = asyncio.ensure_future(self._drive_run(run, resumed))
        try:
            return await task
        finally:
            del self._tasks[run.id]

    async def _drive_run(self, run: LiveRun, resumed: bool) -> RunResult[Any]:
        if run.watched:
            await run.flush()  # a run that somebody was told of can be found again, whatever happens next
            run.emit(RunStarted(run_id=run.id, resumed=resumed))
        async with self.setup.toolset:
            run.equip(self._tools_now())
            run.instructions = await self._instructions(run)
            with run_span(run) as span:
                await drive(run)
                span.ended(run.state.finished.stopped if run.state.finished else "")
        result = self._result(run)
        if run.watched:
            run.emit(RunEnded(run_id=run.id, result=result))
        return result

    async def _instructions(self, run: LiveRun) -> str:
        told = self.setup.instructions
        if callable(told):
            said = told(run.context(Call("", "", {})))
            told = await said if inspect.isawaitable(said) else said
        return told

    def _result(self, run: LiveRun) -> RunResult[Any]:
        return result_of(run.id, run.state, run.entries, self.setup, run.approvals())

    def _tools_now(self) -> Catalog:
        tools = self.setup.toolset.tools()
        if self._catalog is None or self._catalog.listed is not tools:
            output = self.setup.output
            self._catalog = Catalog(tools, None if output is None else output.tool)
        return self._catalog

    async def _tools(self) -> Catalog:
        async with self.setup.toolset:
            return self._tools_now()

    async def _read(self, run_id: str) -> list[Entry]:
        return await journal_of(self.services).read(run_id)


def new_run_id() -> str:
    """Return a unique run id."""
    return urandom(8).hex()


def _replay_journal(run: LiveRun, entries: list[Entry]) -> None:
    """Replay the journal, and remember the ids of its calls."""
    run.replayed(entries)
    for entry in entries:
        if isinstance(entry, Replied):
            run.call_ids.update(part.id for part in entry.parts if isinstance(part, Written))


def _check_parent(run: LiveRun, parent: LiveRun | None) -> None:
    """Check the name of a nested run. It is named after a call, and a user's own run may have that name."""
    opened = run.state.opened
    if parent is not None and (opened is None or opened.parent != parent.id):
        raise RunTaken(f"Run {run.id} isn't part of run {parent.id}; give one of them another name.")


def _continue_run(run: LiveRun, entries: list[Entry]) -> None:
    """Continue a run whose last turn is over."""
    _replay_journal(run, entries)
    if entries and (run.state.finished is None or run.state.finished.stopped == "waiting"):
        why = "isn't over" if run.state.finished is None else "waits for a person's answer"
        raise RunTaken(f"Run {run.id} {why}: resume it, or cancel it, before you say more.")


def _refuse_expired(run: LiveRun) -> None:
    """Refuse a call that wasn't approved in time; an interrupted one stays unclear."""
    for call in run.waiting():
        if run.now() <= run.approval(call).expires_at:
            continue
        if call.unclear:
            record_expired(run, call)
        else:
            record_answer(run, call, Answer(False, "Nobody", "nobody answered in time."), None)


def result_of(run_id: str, state: RunState, entries: list[Entry], setup: Setup, approvals: tuple[Approval, ...]) -> RunResult[Any]:
    """Return a run's result from where it stopped."""
    finished = state.finished
    assert finished is not None  # `drive` returns when the turn is over
    output: Any = finished.text
    if setup.output is not None:
        output = None if finished.output is None else setup.output.convert(finished.output)
    elif finished.stopped == "waiting":
        output = None
    return RunResult(
        run_id, finished.stopped, output, finished.text, finished.reason, state.spent.usage, state.history, entries, approvals
    )
