"""Runs of a project: each is a job whose id is the run's, and whose steps are a program that guides the model.

A run starts in this process, in the background of a server, or in its own process. After being killed, it continues with the
step that isn't recorded yet, wherever it is resumed.
"""

import asyncio
from collections.abc import Mapping
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Limits, RunResult, Toolset, TreadleError, allow
from treadle.assistant import Host, Job, JobContext, JobKind, JobResult, Jobs, assistant_agent, execute_job, model_spec
from treadle.assistants.guidance.evaluation import EvaluationSteps, next_evaluation_step
from treadle.assistants.guidance.preflight import Preflight, run_preflight
from treadle.assistants.guidance.projects import load_project_state, open_projects, project_user_of
from treadle.assistants.guidance.recording import load_snapshot, recording_tools
from treadle.assistants.guidance.store.errors import StoreError
from treadle.assistants.guidance.store.values import ENDED, Mode, Run, RunStatus
from treadle.errors import ModelError
from treadle.models import Request
from treadle.plans import FixedPlan

if TYPE_CHECKING:
    from treadle import Agent
    from treadle.assistants.guidance.store.store import Store

NAME, KIND = "guidance", "evaluate"
EXTRA_ROUNDS = 6  # besides one for each candidate
MAX_RECOVERIES = 3  # times that a server goes on with a run without anybody asking: it may be what ends the server
log = getLogger("treadle.guidance")


class RunNotReady(TreadleError):
    """A run that can't start: the message says what is missing, or why it can't continue."""


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
        """Return the run for this input, with its settings as they are used."""
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


async def check_run_ready(store: "Store", user: str, wanted: EvaluationInput) -> Preflight:
    """Return the preflight check of a run; raises `RunNotReady` if it can't start."""
    found = run_preflight(await load_project_state(store, user, wanted.project_id), wanted.mode, wanted.parameters)
    if found.blockers:
        raise RunNotReady(" ".join([each.message for each in found.blockers]))
    return found


async def create_project_run(host: Host, store: "Store", wanted: EvaluationInput) -> Run:
    """Create a run, and the job that runs it; neither is started. The same trigger id twice creates one run."""
    user = project_user_of(host)
    if wanted.ui_trigger_id:
        for run in await store.list_runs(user, wanted.project_id):
            if run.ui_trigger_id == wanted.ui_trigger_id:
                return run
    found = await check_run_ready(store, user, wanted)
    model = await host.model()  # one that can't be had is said before there is a run
    project = await store.get_project(user, wanted.project_id)
    origin = {**host.origin, "model": model_spec(model)}
    given = msgspec.to_builtins(wanted)
    job = Jobs(host.home.folder).create(
        NAME, KIND, f"Evaluate candidates of {project.title}", given=given, user=host.user, origin=origin
    )
    return await store.create_run(user, wanted.run(found.normalized_config), run_id=job.id)


async def create_draft_run(host: Host, store: "Store", project_id: str) -> Run:
    """Create a run for candidates that a person proposes; it starts at their request."""
    wanted = EvaluationInput(project_id, "eval_only")
    return await store.create_run(project_user_of(host), wanted.run({}))


async def start_draft_run(host: Host, store: "Store", run: Run) -> None:
    """Create the job of a run that was created without one."""
    if run.status != "created" or not await store.list_candidates(project_user_of(host), run.id):
        raise RunNotReady(f"Run {run.id} is {run.status}, or has no candidates: there is nothing to start.")
    model = await host.model()
    wanted = EvaluationInput(run.project_id, run.mode)
    origin = {**host.origin, "model": model_spec(model)}
    jobs = Jobs(host.home.folder)
    jobs.save(Job(run.id, NAME, KIND, "Evaluate candidates", given=msgspec.to_builtins(wanted), user=host.user, origin=origin))


def find_run_job(host: Host, run_id: str) -> Job | None:
    """Return the job of a run; None if another user started it, or if it wasn't started."""
    jobs = Jobs(host.home.folder)
    return jobs.get(run_id) if jobs.has(run_id) else None


async def reconcile_runs(host: Host, store: "Store", runs: list[Run]) -> list[Run]:
    """Return the runs in their real status: one whose job was cancelled while no process ran it is cancelled too."""
    return [await _sync_with_job(host, store, run) if run.status in ("created", "running") else run for run in runs]


async def _sync_with_job(host: Host, store: "Store", run: Run) -> Run:
    job = await asyncio.to_thread(find_run_job, host, run.id)
    if job is None or job.state not in ("failed", "cancelled"):
        return run
    return await store.update_run(project_user_of(host), run.id, cast("RunStatus", job.state), error_summary=job.why)


def is_run_interrupted(host: Host, run: Run) -> bool:
    """Return whether the process of a run is gone."""
    job = find_run_job(host, run.id) if run.status in ("created", "running") else None
    return job is not None and job.state == "waiting"


async def cancel_project_run(host: Host, store: "Store", run: Run) -> Run:
    """Cancel a run; what it has recorded stays."""
    if run.status in ENDED:
        return run
    if find_run_job(host, run.id) is None:
        return await store.update_run(project_user_of(host), run.id, "cancelled")
    await asyncio.to_thread(Jobs(host.home.folder).cancel, run.id)
    return (await reconcile_runs(host, store, [run]))[0]


# carrying out


def work() -> list[JobKind]:
    """Return the assistant's job kinds."""
    return [JobKind(KIND, "evaluate candidate solutions of a project against its constraints", EvaluationInput, run_evaluation_job)]


async def run_evaluation_job(desk: JobContext, given: EvaluationInput) -> JobResult:
    """Start or resume a run."""
    host, run_id = desk.host, desk.job.id
    async with open_projects(host) as store:
        run = await _find_or_create_run(store, host, run_id, given)
        if run.status in ("completed", "cancelled"):
            return JobResult("completed" if run.status == "completed" else "cancelled", {"run_id": run.id})
        if run.status == "failed":
            run = await store.update_run(project_user_of(host), run.id, "running")
        try:
            result = await desk.ask(await build_evaluation_agent(host, store, run), f"Evaluate candidates for run {run.id}.")
        except TreadleError as error:
            await _end_run(store, host, run_id, "failed", str(error))
            raise
        except asyncio.CancelledError:
            if desk.is_cancelled:
                await _end_run(store, host, run_id, "cancelled", "")
            raise
        return await _to_job_result(desk, store, result)


async def _find_or_create_run(store: "Store", host: Host, run_id: str, given: EvaluationInput) -> Run:
    """Return the run of a job; created here if another program created the job."""
    found = [each for each in await store.list_runs(project_user_of(host), given.project_id) if each.id == run_id]
    if found:
        return found[0]
    ready = await check_run_ready(store, project_user_of(host), given)
    return await store.create_run(project_user_of(host), given.run(ready.normalized_config), run_id=run_id)


async def _to_job_result(desk: JobContext, store: "Store", result: RunResult[Any]) -> JobResult:
    run = await store.get_run(project_user_of(desk.host), desk.job.id)
    usage = await desk.usage()
    await store.update_run(project_user_of(desk.host), run.id, run.status, llm_usage=msgspec.to_builtins(usage))
    output = {"run_id": run.id, "summary": result.text, "candidates": run.candidate_count}
    if run.status == "completed":
        return JobResult("completed", output)
    stopped: RunStatus = "cancelled" if result.stopped == "cancelled" else "failed"
    why = "" if stopped == "cancelled" else result.reason or result.text or f"It stopped: {result.stopped}."
    await _end_run(store, desk.host, run.id, stopped, why)
    return JobResult("cancelled" if stopped == "cancelled" else "failed", output, why)


async def _end_run(store: "Store", host: Host, run_id: str, status: RunStatus, why: str) -> None:
    run = await store.get_run(project_user_of(host), run_id)
    if run.status not in ENDED:
        await store.update_run(project_user_of(host), run_id, status, error_summary=why[:2000])


async def build_evaluation_agent(host: Host, store: "Store", run: Run) -> "Agent[Any, Any]":
    """Build the agent that executes the steps of a run: code asks the model, and records its replies."""
    from treadle.assistants.guidance import assistant

    user = project_user_of(host)

    async def plan(_: Request) -> EvaluationSteps:
        try:
            snapshot = await load_snapshot(store, user, run.id)
        except StoreError as error:
            return _fail_run(error)
        return next_evaluation_step(snapshot)

    def toolsets(_: Host) -> tuple[Toolset, ...]:
        return (recording_tools(store, user, run.id),)

    def lead(_: Host) -> FixedPlan:
        return FixedPlan(plan)

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
    return assistant_agent(mine, host, await host.model(), limits=_run_limits(run), priced=True)


def _fail_run(error: StoreError) -> EvaluationSteps:
    """End the run with an error."""
    yield from ()
    raise ModelError(str(error)) from error


def _run_limits(run: Run) -> dict[str, Any]:
    """Return the limits that a run was started with. They take precedence over those configured for conversations."""
    config = run.config
    rounds = (
        max(int(config.get("num_candidates") or 0), len(config.get("seed_candidate_ids") or ()), run.candidate_count) + EXTRA_ROUNDS
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
    """The runs that a server executes as tasks, for one user. Those running when it ends are resumed by the next one."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False
        _background_runs[host.home.folder] = self
        host.on_close(self.close)

    def begin(self, run_id: str) -> None:
        """Start or resume a run."""
        if run_id not in self._tasks and not self._is_closed:
            task = self._tasks[run_id] = asyncio.create_task(self._run(run_id))
            task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    def has(self, run_id: str) -> bool:
        """Return whether a run is executed here now."""
        return run_id in self._tasks

    async def _run(self, run_id: str) -> None:
        try:
            await execute_job(run_id, work()[0], self._host)
        except TreadleError as error:
            log.info("Run %s isn't carried out here: %s", run_id, error)
        except Exception:  # a mistake of ours; the job says so, and the log says where
            log.exception("Run %s failed", run_id)

    def take_up(self) -> None:
        """Resume the runs that a process left when it ended."""
        for job in self._jobs.all(self._host.user):
            if job.assistant == NAME and job.kind == KIND and job.state == "waiting" and job.id not in self._tasks:
                tries = int(job.facts.get("taken_up", 0))
                if tries < MAX_RECOVERIES:
                    with self._jobs.held(job.id) as kept:
                        self._jobs.save(replace(kept, facts={**kept.facts, "taken_up": tries + 1}))
                    self.begin(job.id)

    async def close(self) -> None:
        """Abandon what is running, as after a crash."""
        self._is_closed = True
        if _background_runs.get(self._host.home.folder) is self:
            del _background_runs[self._host.home.folder]
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_background_runs: dict[Path, BackgroundRuns] = {}


def start_in_background(host: Host, run_id: str) -> None:
    """Start a run in the background: in the server, or in its own process."""
    if host.home.folder in _background_runs:
        _background_runs[host.home.folder].begin(run_id)
    elif host.detach is not None:
        host.detach(["jobs", "resume", run_id, "--quiet"])
    else:
        raise RunNotReady(f"Nothing can be started in the background here; `treadle jobs resume {run_id}` carries the run out.")
