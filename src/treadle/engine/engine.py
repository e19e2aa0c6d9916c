"""Starts, continues, resumes, steers, forks, cancels and watches runs. What happens inside of one is `drive`."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from os import urandom
from typing import Any, Literal

from treadle.core.calls import Call, Written
from treadle.core.entries import Entry, Finished, Opened, Replied, Resumed, Said
from treadle.core.errors import RunNotFound, RunTaken, SettingsError
from treadle.core.events import PathStep, RunEnded, RunStarted
from treadle.core.media import Prompt
from treadle.core.seams import Toolset
from treadle.engine.ask import warm_model_for
from treadle.engine.catalog import Catalog
from treadle.engine.drive import drive
from treadle.engine.interrupted_calls import record_expired
from treadle.engine.journaled import JournaledRun
from treadle.engine.live import LiveRun
from treadle.engine.media import read_prompt
from treadle.engine.meter import Meter
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval, Caller, Services, Setup, call_instructions, find_agent, hand_off
from treadle.engine.telemetry import trace_turn
from treadle.engine.tool_offer import prepare_tools
from treadle.engine.tree import RunTree, fork_before_message, fork_run, journal_of, load_run_tree, record_answer
from treadle.engine.watch import Watch
from treadle.guard.log_filter import log
from treadle.loop.state import RunState

ANONYMOUS = Caller()


class Engine:
    """One agent's runs. Stores are passed in; the engine owns only the runs that are active."""

    def __init__(self, setup: Setup, services: Services) -> None:
        self.setup = setup
        self.services = services
        self._live: dict[str, LiveRun] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._catalogs: dict[str, Catalog] = {}  # by the agent's name

    def use_setup(self, setup: Setup) -> None:
        """Use another setup for the runs that begin from now on."""
        self.setup = setup

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
        within: str = "",
        message_id: str = "",
    ) -> RunResult[Any]:
        """Run a prompt: in a new run, or in an existing one. A nested run is carried out `within` a call of its parent.

        A message whose id the run has already isn't sent again: the result is how the run stands.
        """
        said = await read_prompt(prompt, self.setup.model, self.services.blobs)
        with self._enter_run(run_id or new_run_id(), caller, parent, within) as run:
            if run_id is not None and self.services.journal is not None:
                with suppress(RunNotFound):
                    await self._load(run)
                _check_continues(run, history)
                if message_id in run.state.message_ids:
                    return self._result(run)
            continues = bool(run.entries)
            if not continues:
                run.record(self._opening_entry(run, tuple(history), origin or {}, parent, within))
            run.record(Said(text=said.text, parts=said.parts, id=message_id, at=run.now()))
            result = await self._run_task(run, resumed=False)
            if continues:
                self._keep(run)
            return result

    async def warm(self, prompt: str, caller: Caller = ANONYMOUS) -> None:
        """Have the model read what a new run with a prompt like this one begins with, if it can. Nothing is recorded."""
        if not self.setup.model.traits.warms:
            return
        with self._enter_run(new_run_id(), caller) as run:
            run.replay((self._opening_entry(run, (), {}, None, ""), Said(text=prompt, at=run.now())))
            toolset = await self._toolset_for(run)
            async with toolset:
                await self._equip(run, toolset)
                await warm_model_for(run)

    async def resume(
        self, run_id: str, *, caller: Caller = ANONYMOUS, parent: LiveRun | None = None, within: str = "", wakes: bool = False
    ) -> RunResult[Any]:
        """Resume a run: after a crash, a restart, an approval, a failure, an interruption. A finished one is returned as it is.

        With `wakes`, it has to be a run that waits: another process that wakes it at the same time may have gone on with it.
        """
        with self._enter_run(run_id, caller, parent, within) as run:
            await self._load(run)
            _check_parent(run, parent)
            if wakes and (run.state.finished is None or run.state.finished.stopped != "waiting"):
                raise RunTaken(f"Run {run_id} doesn't wait any more: another process has gone on with it.")
            if run.state.finished is not None and not run.state.finished.resumable:
                return self._result(run)
            run.record(Resumed(at=run.now()))
            _refuse_expired(run)
            result = await self._run_task(run, resumed=True)
            self._keep(run)
            return result

    @property
    def is_idle(self) -> bool:
        """Whether no run is active here."""
        return not self._live

    def is_active(self, run_id: str) -> bool:
        """Return whether a turn of this run is being carried out here."""
        return run_id in self._tasks

    async def steer(self, run_id: str, prompt: Prompt, message_id: str = "") -> bool:
        """Send a message to a run whose turn isn't over, or waits for a person. Return False where the turn is over.

        Raises `RunTaken` where the turn may be under way in another process, which alone can write to its journal.
        """
        from treadle.engine.steering import accept_message, takes_messages  # few runs need it

        said = await read_prompt(prompt, self.setup.model, self.services.blobs)
        run = self._live[run_id] if self.is_active(run_id) else await self._load_idle_run(run_id)
        if not takes_messages(run):
            return False
        await accept_message(run, said, message_id or new_run_id())
        return True

    async def _load_idle_run(self, run_id: str) -> JournaledRun:
        """Return a run that isn't under way here."""
        run = (await self._tree(run_id)).check_root()
        if run_id in self._live:
            raise RunTaken(f"Run {run_id} is being started or continued at this moment; send the message again.")
        if run.state.finished is None:
            raise RunTaken(f"Run {run_id} isn't under way in this process: send the message where it is, or resume the run first.")
        return run

    async def fork(self, run_id: str, at: int | None = None, new_id: str | None = None) -> str:
        """Create a run from a copy of another one's first `at` entries. Nothing runs yet."""
        forked = new_id or new_run_id()
        await fork_run(self.services, run_id, at, forked, self.setup.redactor)
        return forked

    async def fork_before_message(self, run_id: str, number: int, new_id: str | None = None) -> tuple[str, Prompt]:
        """Create a run from what was before a message of the user; return its id and that message. Nothing runs yet."""
        forked = new_id or new_run_id()
        return forked, await fork_before_message(self.services, run_id, number, forked, self.setup.redactor)

    async def compact(self, run_id: str) -> bool:
        """Compact the conversation of a run whose turn is over. Return False where there is nothing to compact."""
        from treadle.engine.compaction import compact_on_request  # few runs need it

        with self._enter_run(run_id, ANONYMOUS, None) as run:
            await self._load(run)
            _check_continues(run)
            self._follow_handoff(run)
            compacted = await compact_on_request(run)
            await run.flush()
            return compacted

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is active in this process. Returns False where there is none."""
        return await self._stop(run_id, "cancelled")

    async def interrupt(self, run_id: str) -> bool:
        """Interrupt a run that is active in this process, so that it can be resumed. Returns False where there is none."""
        return await self._stop(run_id, "interrupted")

    async def _stop(self, run_id: str, how: Literal["cancelled", "interrupted"]) -> bool:
        run, task = self._live.get(run_id), self._tasks.get(run_id)
        if run is None or task is None:
            return False
        run.stopping = how
        task.cancel()
        await asyncio.wait([task])
        return True

    def watch(self, run_id: str) -> Watch:
        """Return the events of a run that is active in this process, from now on."""
        run = self._live.get(run_id)
        if run is None:
            raise RunNotFound(f"Run {run_id} isn't under way in this process.")
        watch = Watch(run_id=run_id)
        run.add_watcher(watch)
        return watch

    # approvals

    async def approvals(self, run_id: str) -> list[Approval]:
        """Return the approvals that a run waits for, nested runs included."""
        return (await self._tree(run_id)).approvals()

    async def answer(self, run_id: str, call_id: str, answer: Answer, *, digest: str = "") -> Approval:
        """Record a person's answer about a call; `resume` then continues. `digest` binds it to what they were shown."""
        tree = await self._tree(run_id)
        setup = self._setup_of(tree.runs[0].state)
        async with setup.toolset:
            return await tree.answer(call_id, answer, digest, self._catalog_of(setup))

    async def answer_all(self, run_id: str, answer: Answer, *, shown: Sequence[tuple[str, str]] | None = None) -> list[Approval]:
        """Record one answer to several calls that wait for approval: those `shown`, by id and digest, or all."""
        tree = await self._tree(run_id)
        setup = self._setup_of(tree.runs[0].state)
        async with setup.toolset:
            return await tree.answer_all(answer, shown, self._catalog_of(setup))

    async def _tree(self, run_id: str) -> RunTree:
        return await load_run_tree(self.services, run_id, redactor=self.setup.redactor, expire=self.setup.approvals_expire)

    # inside

    def _opening_entry(
        self, run: LiveRun, history: tuple[Any, ...], origin: dict[str, Any], parent: LiveRun | None, within: str
    ) -> Opened:
        return Opened(
            agent=self.setup.name,
            model=self.setup.model.name,
            user=run.caller.user,
            parent="" if parent is None else parent.id,
            within=within,
            origin=origin,
            history=history,
            tainted=parent is not None and parent.state.tainted,
            at=run.now(),
        )

    async def _load(self, run: LiveRun) -> None:
        """Load what is journaled of a run."""
        from treadle.engine.run_cache import kept_runs  # only runs with several turns need it

        entries = await kept_runs.restore(run)
        _replay_journal(run, await self._read(run.id) if entries is None else entries)

    def _keep(self, run: LiveRun) -> None:
        """Keep a conversation for its next turn."""
        from treadle.engine.run_cache import kept_runs

        kept_runs.keep(run)

    @contextmanager
    def _enter_run(
        self, run_id: str, caller: Caller, parent: LiveRun | None = None, within: str = ""
    ) -> Generator[LiveRun, None, None]:
        """Return a live run with this id for as long as it is active; there is only one at a time."""
        if run_id in self._live:
            raise RunTaken(f"Run {run_id} is under way already.")
        meter: Meter | None = None if parent is None else parent.meter
        path = () if parent is None else (*parent.path, PathStep(parent.id, within, self.setup.name))
        run = LiveRun(run_id, self.setup, self.services, caller, self._catalog_of(self.setup), meter, path)
        self._live[run_id] = run
        run.meter.join(run)
        try:
            yield run
        finally:
            del self._live[run_id]
            run.meter.leave(run_id)
            run.release()

    async def _run_task(self, run: LiveRun, *, resumed: bool) -> RunResult[Any]:
        """Drive the run until it stops, in a task of its own so that it can be cancelled by name."""
        self._tasks[run.id] = task = asyncio.ensure_future(self._drive_run(run, resumed))
        try:
            return await task
        finally:
            del self._tasks[run.id]

    async def _drive_run(self, run: LiveRun, resumed: bool) -> RunResult[Any]:
        if run.watched:
            await run.flush()  # a run whose id was returned can be found again, whatever happens next
            run.emit(RunStarted(run_id=run.id, resumed=resumed))
        await trace_turn(run, self._drive_agents(run))
        result = self._result(run)
        if result.stopped == "failed":  # its caller may never look at it
            reason = run.redactor.text(result.reason)
            log.error("Run %s of %s with %s failed: %s", run.id, self.setup.name, self.setup.model.name, reason)
        if run.watched:
            run.emit(RunEnded(run_id=run.id, result=result))
        return result

    async def _drive_agents(self, run: LiveRun) -> None:
        """Drive the turn to its end, with each agent that it is handed off to."""
        while run.state.finished is None:
            await self._drive_agent(run)

    async def _drive_agent(self, run: LiveRun) -> None:
        """Drive the run for as long as one agent goes on with it."""
        self._follow_handoff(run)
        toolset = await self._toolset_for(run)
        async with toolset:
            await self._equip(run, toolset)
            await drive(run)

    async def _equip(self, run: LiveRun, toolset: Toolset) -> None:
        """Give a run its tools, instructions and context."""
        run.use_toolset(toolset, self._catalog_of(run.setup, toolset))
        if run.state.calls:  # asked in another process, from what was offered there
            await prepare_tools(run)
        run.instructions = await self._instructions(run)
        if run.setup.name in run.state.context or hasattr(toolset, "provide_context"):
            from treadle.engine.agent_context import load_context  # most agents have none

            await load_context(run)

    def _follow_handoff(self, run: LiveRun) -> None:
        """Have the run go on as the agent that it was handed off to."""
        setup = self._setup_of(run.state)
        if setup is not run.setup:
            run.use_agent(setup)

    def _setup_of(self, state: RunState) -> Setup:
        """Return the setup of the agent that a run is handed off to, or of the one it began with."""
        if not state.agent:
            return self.setup
        found = find_agent(self.setup, state.agent)
        if found is None:
            raise SettingsError(f"This run was handed off to {state.agent}, which isn't among the hand-offs of {self.setup.name}.")
        return self.setup if found is self.setup else hand_off(self.setup, found)

    async def _instructions(self, run: LiveRun) -> str:
        told = run.setup.instructions
        return told if isinstance(told, str) else await call_instructions(told, run.context(Call("", "", {})))

    def _result(self, run: LiveRun) -> RunResult[Any]:
        state, setup = run.state, self._setup_of(run.state)
        assert state.finished is not None  # the turn is over
        return RunResult(
            run.id,
            state.finished,
            _output_of(state.finished, setup),
            state.spent.usage,
            state.history,
            run.entries,
            run.approvals(),
            run.redactor,
            self.services.blobs,
            setup.name,
        )

    async def _toolset_for(self, run: LiveRun) -> Toolset:
        for_run = getattr(run.setup.toolset, "for_run", None)
        return run.setup.toolset if for_run is None else await for_run(run.context(Call("", "", {})))

    def _catalog_of(self, setup: Setup, toolset: Toolset | None = None) -> Catalog:
        """Return the tools of an agent; of another toolset, where a run has one of its own."""
        tools, tool = (toolset or setup.toolset).tools(), None if setup.output is None else setup.output.tool
        if toolset is not None and toolset is not setup.toolset:
            return Catalog(tools, tool)
        found = self._catalogs.get(setup.name)
        if found is None or found.listed is not tools or found.output is not tool:
            found = self._catalogs[setup.name] = Catalog(tools, tool)
        return found

    async def _read(self, run_id: str) -> list[Entry]:
        return await journal_of(self.services).read(run_id)


def new_run_id() -> str:
    """Return a unique run id."""
    return urandom(8).hex()


def _replay_journal(run: LiveRun, entries: list[Entry]) -> None:
    """Replay the journal, and remember the ids of its calls."""
    run.replay(entries)
    for entry in entries:
        if isinstance(entry, Replied):
            run.call_ids.update(part.id for part in entry.parts if isinstance(part, Written))


def _check_parent(run: LiveRun, parent: LiveRun | None) -> None:
    """Check the name of a nested run. It is named after a call, and a user's own run may have that name."""
    opened = run.state.opened
    if parent is not None and (opened is None or opened.parent != parent.id):
        raise RunTaken(f"Run {run.id} isn't part of run {parent.id}; give one of them another name.")


def _check_continues(run: LiveRun, history: Sequence[Any] = ()) -> None:
    """Check that a run can be continued: its last turn is over. Calls that were interrupted are closed."""
    if run.entries and history:
        raise SettingsError(f"Run {run.id} has a history already: leave `history` out, or begin a new run with it.")
    finished = run.state.finished
    if run.entries and (finished is None or finished.stopped == "waiting"):
        waits = "waits for a time or an event" if finished is not None and finished.asleep else "waits for a person's answer"
        why = "isn't over" if finished is None else waits
        raise RunTaken(f"Run {run.id} {why}: resume it, or cancel it, before you say more.")
    if run.state.finished is not None and run.state.finished.interrupted:
        run.close_calls()  # something else is said than to go on


def _refuse_expired(run: LiveRun) -> None:
    """Refuse a call that wasn't approved in time; an interrupted one stays unclear."""
    for call in run.waiting():
        if run.now() <= run.approval(call).expires_at:
            continue
        if call.unclear:
            record_expired(run, call)
        else:
            record_answer(run, call, Answer(False, "Nobody", "no answer came in time."))


def _output_of(finished: Finished, setup: Setup) -> Any:
    """Return the output from what was journaled of it."""
    output = setup.output
    if output is None or (output.takes_text and finished.output is None):
        return finished.text if finished.stopped == "answered" else finished.text or None
    if finished.output is None or isinstance(finished.output, str):
        return finished.output
    return output.convert(finished.output)
