"""Runs of a project, carried out: each is a job whose id is the run's, and whose steps are a program that leads the model.

A run starts in this process, in the background of a server, or in a process of its own. Killed, it goes on with the step that isn't
recorded yet, wherever it is resumed.
"""

import asyncio
from collections.abc import Mapping
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import (
    Desk,
    Done,
    Host,
    Job,
    Jobs,
    Limits,
    ModelError,
    Program,
    Request,
    RunResult,
    Toolset,
    TreadleError,
    Work,
    agent_of,
    allow,
    carry_out,
    spec_of,
)
from treadle.assistants.guidance.evaluation import Steps, next_step
from treadle.assistants.guidance.preflight import Preflight, preflight
from treadle.assistants.guidance.projects import open_projects, state_of, user_of
from treadle.assistants.guidance.recording import load_snapshot, recording_tools
from treadle.assistants.guidance.store.errors import StoreError
from treadle.assistants.guidance.store.values import ENDED, Mode, Run, RunStatus

if TYPE_CHECKING:
    from treadle import Agent
    from treadle.assistants.guidance.store.store import Store

NAME, KIND = "guidance", "evaluate"
MORE_ROUNDS = 6  # besides one for each candidate
TAKEN_UP = 3  # times that a server goes on with a run without anybody asking: it may be what ends the server
log = getLogger("treadle.guidance")


class NotReady(TreadleError):
    """A run that can't start: the message says what has to be there first, or why it can't go on."""


class EvaluationInput(Struct, frozen=True):
    """What a run is started with.

    parameters       num_candidates, num_scenarios, seed_candidate_ids, budget_tokens, budget_usd, max_runtime_s
    ui_trigger_id    an idempotency key: the same one twice is one run
    """

    project_id: str
    mode: Mode = "full_search"
    parameters: dict[str, Any] = {}
    chat_session_id: str | None = None
    recommended_message_id: str | None = None
    recommended_config_snapshot: dict[str, Any] | None = None
    ui_trigger_id: str | None = None
    ui_trigger_source: str | None = None

    def run(self, config: Mapping[str, Any]) -> Run:
        """The run that comes of it, with its settings as they are used."""
        return Run(
            self.project_id,
            self.mode,
            {name: value for name, value in config.items() if name != "mode"},
            chat_session_id=self.chat_session_id,
            recommended_message_id=self.recommended_message_id,
            recommended_config_snapshot=self.recommended_config_snapshot,
            ui_trigger_id=self.ui_trigger_id,
            ui_trigger_source=self.ui_trigger_source,
        )


# starting


async def check_ready(store: "Store", user: str, wanted: EvaluationInput) -> Preflight:
    """How a run would start; `NotReady` where something is in the way."""
    found = preflight(await state_of(store, user, wanted.project_id), wanted.mode, wanted.parameters)
    if found.blockers:
        raise NotReady(" ".join([each.message for each in found.blockers]))
    return found


async def create_run(host: Host, store: "Store", wanted: EvaluationInput) -> Run:
    """A new run, and the job that carries it out; neither has begun. A trigger that is named twice has one run."""
    user = user_of(host)
    if wanted.ui_trigger_id:
        for run in await store.list_runs(user, wanted.project_id):
            if run.ui_trigger_id == wanted.ui_trigger_id:
                return run
    found = await check_ready(store, user, wanted)
    model = await host.model()  # one that can't be had is said before there is a run
    project = await store.get_project(user, wanted.project_id)
    origin = {**host.origin, "model": spec_of(model)}
    given = msgspec.to_builtins(wanted)
    job = Jobs(host.home.folder).create(
        NAME, KIND, f"Evaluate candidates of {project.title}", given=given, user=host.user, origin=origin
    )
    return await store.create_run(user, wanted.run(found.normalized_config), run_id=job.id)


async def draft_run(host: Host, store: "Store", project_id: str) -> Run:
    """A run for candidates that a person proposes; it starts when they say so."""
    wanted = EvaluationInput(project_id, "eval_only")
    return await store.create_run(user_of(host), wanted.run({}))


async def start_draft(host: Host, store: "Store", run: Run) -> None:
    """Make the job of a run that was created without one."""
    if run.status != "created" or not await store.list_candidates(user_of(host), run.id):
        raise NotReady(f"Run {run.id} is {run.status}, or has no candidates: there is nothing to start.")
    model = await host.model()
    wanted = EvaluationInput(run.project_id, run.mode)
    origin = {**host.origin, "model": spec_of(model)}
    jobs = Jobs(host.home.folder)
    jobs.save(Job(run.id, NAME, KIND, "Evaluate candidates", given=msgspec.to_builtins(wanted), user=host.user, origin=origin))


def job_of(host: Host, run_id: str) -> Job | None:
    """The job that carries a run out; None where it was started by somebody else, or hasn't been."""
    jobs = Jobs(host.home.folder)
    return jobs.get(run_id) if jobs.has(run_id) else None


async def reconcile(host: Host, store: "Store", runs: list[Run]) -> list[Run]:
    """Runs as they are: one whose job was cancelled while no process ran it is cancelled too."""
    return [await _as_its_job(host, store, run) if run.status in ("created", "running") else run for run in runs]


async def _as_its_job(host: Host, store: "Store", run: Run) -> Run:
    job = await asyncio.to_thread(job_of, host, run.id)
    if job is None or job.state not in ("failed", "cancelled"):
        return run
    return await store.update_run(user_of(host), run.id, cast("RunStatus", job.state), error_summary=job.why)


def is_interrupted(host: Host, run: Run) -> bool:
    """Whether the process that carried a run out is gone."""
    job = job_of(host, run.id) if run.status in ("created", "running") else None
    return job is not None and job.state == "waiting"


async def cancel_run(host: Host, store: "Store", run: Run) -> Run:
    """Stop a run; what it has recorded stays."""
    if run.status in ENDED:
        return run
    if job_of(host, run.id) is None:
        return await store.update_run(user_of(host), run.id, "cancelled")
    await asyncio.to_thread(Jobs(host.home.folder).cancel, run.id)
    return (await reconcile(host, store, [run]))[0]


# carrying out


def work() -> list[Work]:
    """What the assistant does as jobs."""
    return [Work(KIND, "evaluate candidate solutions of a project against its constraints", EvaluationInput, evaluate_job)]


async def evaluate_job(desk: Desk, given: EvaluationInput) -> Done:
    """Carry a run out, or go on with it."""
    host, run_id = desk.host, desk.job.id
    async with open_projects(host) as store:
        run = await _run_of(store, host, run_id, given)
        if run.status in ("completed", "cancelled"):
            return Done("completed" if run.status == "completed" else "cancelled", {"run_id": run.id})
        if run.status == "failed":
            run = await store.update_run(user_of(host), run.id, "running")
        try:
            result = await desk.ask(await evaluation_agent(host, store, run), f"Evaluate candidates for run {run.id}.")
        except TreadleError as error:
            await _ended(store, host, run_id, "failed", str(error))
            raise
        except asyncio.CancelledError:
            if desk.is_cancelled:
                await _ended(store, host, run_id, "cancelled", "")
            raise
        return await _done(desk, store, result)


async def _run_of(store: "Store", host: Host, run_id: str, given: EvaluationInput) -> Run:
    """The run of a job; made here where another program began the job."""
    found = [each for each in await store.list_runs(user_of(host), given.project_id) if each.id == run_id]
    if found:
        return found[0]
    ready = await check_ready(store, user_of(host), given)
    return await store.create_run(user_of(host), given.run(ready.normalized_config), run_id=run_id)


async def _done(desk: Desk, store: "Store", result: RunResult[Any]) -> Done:
    run = await store.get_run(user_of(desk.host), desk.job.id)
    usage = await desk.usage()
    await store.update_run(user_of(desk.host), run.id, run.status, llm_usage=msgspec.to_builtins(usage))
    output = {"run_id": run.id, "summary": result.text, "candidates": run.candidate_count}
    if run.status == "completed":
        return Done("completed", output)
    stopped: RunStatus = "cancelled" if result.stopped == "cancelled" else "failed"
    why = "" if stopped == "cancelled" else result.reason or result.text or f"It stopped: {result.stopped}."
    await _ended(store, desk.host, run.id, stopped, why)
    return Done("cancelled" if stopped == "cancelled" else "failed", output, why)


async def _ended(store: "Store", host: Host, run_id: str, status: RunStatus, why: str) -> None:
    run = await store.get_run(user_of(host), run_id)
    if run.status not in ENDED:
        await store.update_run(user_of(host), run_id, status, error_summary=why[:2000])


async def evaluation_agent(host: Host, store: "Store", run: Run) -> "Agent[Any]":
    """The agent whose steps are those of a run: code asks the model, and records what it says."""
    from treadle.assistants.guidance import assistant

    user = user_of(host)

    async def plan(_: Request) -> Steps:
        try:
            snapshot = await load_snapshot(store, user, run.id)
        except StoreError as error:
            return _failed(error)
        return next_step(snapshot)

    def toolsets(_: Host) -> tuple[Toolset, ...]:
        return (recording_tools(store, user, run.id),)

    def lead(_: Host) -> Program:
        return Program(plan)

    mine = replace(
        assistant,
        instructions="",
        configure=None,
        policy=(allow("*"),),
        toolsets=toolsets,
        lead=lead,
        parts={"attended": False},
        limits=Limits(at_limit="fail"),
    )
    return agent_of(mine, host, await host.model(), limits=_limits(run), priced=True)


def _failed(error: StoreError) -> Steps:
    """The run ends, and says why."""
    yield from ()
    raise ModelError(str(error)) from error


def _limits(run: Run) -> dict[str, Any]:
    """The ceilings that a run was started with. They come before what was settled for conversations."""
    config = run.config
    rounds = (
        max(int(config.get("num_candidates") or 0), len(config.get("seed_candidate_ids") or ()), run.candidate_count) + MORE_ROUNDS
    )
    return {
        "rounds": rounds,
        "calls": rounds,
        "tokens": config.get("budget_tokens"),
        "cost": config.get("budget_usd"),
        "seconds": config.get("max_runtime_s"),
    }


# in the background


class BackgroundRuns:
    """The runs that a server carries out as tasks, for one person. What is under way at its end goes on with the next one."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False
        _servers[host.home.folder] = self
        host.at_end(self.close)

    def begin(self, run_id: str) -> None:
        """Carry a run out, or go on with it."""
        if run_id not in self._tasks and not self._is_closed:
            task = self._tasks[run_id] = asyncio.create_task(self._carry(run_id))
            task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    def has(self, run_id: str) -> bool:
        """Whether a run is carried out here now."""
        return run_id in self._tasks

    async def _carry(self, run_id: str) -> None:
        try:
            await carry_out(run_id, work()[0], self._host)
        except TreadleError as error:
            log.info("Run %s isn't carried out here: %s", run_id, error)
        except Exception:  # a mistake of ours; the job says so, and the log says where
            log.exception("Run %s failed", run_id)

    def take_up(self) -> None:
        """Go on with what a process that is gone left under way."""
        for job in self._jobs.all(self._host.user):
            if job.assistant == NAME and job.kind == KIND and job.state == "waiting" and job.id not in self._tasks:
                tries = int(job.facts.get("taken_up", 0))
                if tries < TAKEN_UP:
                    with self._jobs.held(job.id) as kept:
                        self._jobs.save(replace(kept, facts={**kept.facts, "taken_up": tries + 1}))
                    self.begin(job.id)

    async def close(self) -> None:
        """Leave what is under way, as after a crash."""
        self._is_closed = True
        if _servers.get(self._host.home.folder) is self:
            del _servers[self._host.home.folder]
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_servers: dict[Path, BackgroundRuns] = {}


def begin_in_background(host: Host, run_id: str) -> None:
    """Start a run in the background: in the server, or in a process of its own."""
    if host.home.folder in _servers:
        _servers[host.home.folder].begin(run_id)
    elif host.detach is not None:
        host.detach(["jobs", "resume", run_id, "--quiet"])
    else:
        raise NotReady(f"Nothing can be started in the background here; `treadle jobs resume {run_id}` carries the run out.")
