"""HTTP API of the coding assistant, for its panel: workspaces, jobs, their events and changes, and a person's decisions.

Jobs belong to the host's user. Nothing that could leave the machine can be requested here: a push waits for an approval.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle import Approval, Runs, TreadleError
from treadle.assistant import Host, Job, Jobs, model_spec, settings_for
from treadle.assistants.coding.agreed_checks import find_check, propose_check
from treadle.assistants.coding.checkout import checkpoints_of, git_patch_of, patch_of, undo_changes
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.finish import NO_TASK, format_merge, merge_job
from treadle.assistants.coding.follow_up import follow_up_kind
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, JobInputs, find_missing_input, job_title
from treadle.assistants.coding.job_kinds import SERVER_ORIGIN, CodingJobRunner, is_coding_job
from treadle.assistants.coding.patches import ParsedPatch, parse_patch
from treadle.assistants.coding.sample import CodingSample, make_coding_sample
from treadle.assistants.coding.session_routes import SessionApi
from treadle.assistants.coding.timeline import EntryJson, build_timeline, current_activity
from treadle.assistants.coding.undo import UNDO_VERBS
from treadle.assistants.coding.views import (
    ACTIVE_STATES,
    PATCH_MEDIA_TYPE,
    CheckProposal,
    CheckQuery,
    CodingCallDecision,
    CodingJobList,
    CodingJobPatch,
    CodingJobSnapshot,
    CodingJobStatus,
    CodingJobView,
    FollowUpRequest,
    JobMergeResult,
    NewCodingJob,
    PatchFile,
    StartedCodingJob,
    UndoRefused,
    UndoRequest,
    UndoResult,
    WorkspaceList,
    diff_snapshots,
    redact_entry,
    summarize_job,
    to_job_detail,
)
from treadle.assistants.coding.workspaces import WorkspaceAccess, WorkspaceNotAllowed, WorkspaceNotFound, require_sandboxed
from treadle.errors import RunNotFound, SettingsError
from treadle.routes import Accepted, Created, Events, get, json_response, post, redact, routes_of
from treadle.workspace import ChangedSince

MAX_JOBS = 100
POLL_SECONDS = 1.0  # seconds between two looks at a job
STATUSES: dict[type[TreadleError], int] = {WorkspaceNotAllowed: 403, WorkspaceNotFound: 404, SettingsError: 409}

NO_JOB_ERRORS = {404: "there is no such job of theirs"}
WORKSPACE_ERRORS = {
    403: "this folder isn't theirs to work in, or the request comes from another page",
    404: "there is no such folder, or no such job of theirs",
    409: "this can't be done now; the sentence says why",
}
NO_MODEL_ERRORS = {502: "the model's server failed", 503: "there is no model; the sentence says what to do"}
LIMIT_ERRORS = {429: "as many jobs are under way as they may have, or too many requests"}


class CodingApi:
    """The request handlers, for one user."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._runs = Runs(host.home)
        self._places = WorkspaceAccess(host)
        self._carrier = CodingJobRunner(host)
        host.on_close(self._carrier.close)

    def go_on(self) -> None:
        """Resume the jobs that were running when the server stopped."""
        self._carrier.take_up(self._user_jobs())

    @get("/api/coding/workspaces")
    async def workspaces(self, request: Request) -> WorkspaceList:
        """List the workspaces."""
        try:
            return WorkspaceList(self._places.list_workspaces(), self._places.missing(), _is_local(request), "")
        except SettingsError as error:
            return WorkspaceList([], [], _is_local(request), str(error))

    @get("/api/coding/check", errors=WORKSPACE_ERRORS)
    async def check(self, request: Request, query: CheckQuery) -> CheckProposal:
        """Get the command that would check the work in a folder without tests."""
        folder = self._places.require_folder(query.workspace.strip(), is_local=_is_local(request))
        agreed = find_check(self._host, folder, settings_for(folder))
        return CheckProposal(await asyncio.to_thread(propose_check, folder), agreed)

    @post("/api/coding/sample", errors={409: "there are too many already, or there is no git"})
    async def sample(self) -> Created[CodingSample]:
        """Create a small sample project."""
        return await make_coding_sample(self._places.samples, {job.workspace for job in self._jobs.all()})

    @get("/api/coding/jobs")
    async def list_jobs(self) -> CodingJobList:
        """List the coding jobs, newest first."""
        mine = self._user_jobs()
        self._carrier.take_up(mine)
        return CodingJobList([summarize_job(job) for job in mine[:MAX_JOBS]], len(mine) > MAX_JOBS)

    @post("/api/coding/jobs", errors={**WORKSPACE_ERRORS, 422: "there is nothing to go by", **LIMIT_ERRORS, **NO_MODEL_ERRORS})
    async def begin(self, request: Request, body: NewCodingJob) -> Created[StartedCodingJob]:
        """Start a coding job."""
        return await self._create_job(request, body.kind, body.given(), body.workspace.strip())

    async def _create_job(self, request: Request, kind: str, given: JobInputs, workspace: str) -> StartedCodingJob:
        if missing := find_missing_input(given):
            raise HTTPException(422, missing)
        is_local = _is_local(request)
        folder = self._places.require_folder(workspace, is_local=is_local)
        settings = settings_for(folder)
        require_sandboxed(folder, is_sandboxed=settings.commands.sandbox, is_local=is_local)
        self._check_limit(request)
        model = await self._host.model()  # one that can't be had is said before there is a job
        job = self._jobs.create(
            NAME,
            kind,
            job_title(given),
            given=msgspec.to_builtins(given),
            workspace=str(folder),
            user=self._host.user,
            origin={**self._host.origin, **SERVER_ORIGIN, "model": model_spec(model)},
        )
        self._carrier.begin(job)
        return StartedCodingJob(summarize_job(job), list(settings.notes))

    @get("/api/coding/jobs/{job_id}", errors=NO_JOB_ERRORS)
    async def get_job(self, job_id: str) -> CodingJobView:
        """Get a coding job and its timeline so far."""
        look = await self._take_snapshot(self._job(job_id))
        return CodingJobView(look.job, look.steps)

    @get("/api/coding/jobs/{job_id}/events", errors=NO_JOB_ERRORS, returns="events, each a line of JSON; the last is `over`")
    async def events(self, request: Request, job_id: str) -> Events[dict[str, Any]]:
        """Stream the events of a coding job."""
        # Whoever comes again is told everything anew, which isn't much.
        return self._poll_events(self._job(job_id).id, request.scope.get("stopping") or asyncio.Event())

    @get("/api/coding/jobs/{job_id}/diff", errors={**NO_JOB_ERRORS, 409: "its folder can't be looked at"})
    async def diff(self, job_id: str) -> CodingJobPatch:
        """Get what a coding job has changed so far."""
        job = self._job(job_id)
        version = self._version(job)
        patch = (
            parse_patch(await patch_of(job, checkpoints_of(job, self._jobs), whole=False))
            if "before" in job.facts
            else ParsedPatch()
        )
        return CodingJobPatch(version, patch.files, patch.left_out)

    @post("/api/coding/jobs/{job_id}/cancel", errors=NO_JOB_ERRORS)
    async def cancel(self, job_id: str) -> Accepted[CodingJobStatus]:
        """Cancel a coding job."""
        return CodingJobStatus(summarize_job(self._jobs.cancel(self._job(job_id).id)))

    @post("/api/coding/jobs/{job_id}/resume", errors={**WORKSPACE_ERRORS, **LIMIT_ERRORS})
    async def resume(self, request: Request, job_id: str) -> Accepted[CodingJobStatus]:
        """Resume a coding job."""
        job = self._job(job_id)
        self._check_workspace(job, request)
        if job.state not in ("failed", "waiting"):
            raise HTTPException(409, f"Job {job.id} is {job.state}: there is nothing to resume.")
        if await self._load_approvals(job):
            raise HTTPException(409, f"Job {job.id} waits for your answer first.")
        self._check_limit(request)
        self._carrier.resume(job)
        return CodingJobStatus(summarize_job(job))

    @post(
        "/api/coding/jobs/{job_id}/undo",
        errors={**WORKSPACE_ERRORS, 409: ("nothing was taken back; the sentence says why", UndoRefused)},
    )
    async def undo(self, request: Request, job_id: str, body: UndoRequest) -> UndoResult | Response:
        """Undo what a coding job changed."""
        job = self._job(job_id)
        self._check_workspace(job, request)
        if job.state in ACTIVE_STATES:
            raise HTTPException(409, f"Job {job.id} is still under way; cancel it first.")
        try:
            taken = await undo_changes(job.id, self._jobs, steps=body.steps, force=body.force)
        except ChangedSince as error:
            words = f"You have changed {', '.join(error.paths[:5])} since the job; nothing was taken back."
            return json_response(UndoRefused(False, words, words, changed=tuple(error.paths)), 409)
        said = [f"{UNDO_VERBS[change.kind]}: {change.path}" for change in taken.changes] or ["There was nothing to take back."]
        return UndoResult([*said, *([taken.words] if taken.words else [])])

    @get(
        "/api/coding/jobs/{job_id}/patch", errors={**NO_JOB_ERRORS, 409: "it has changed nothing, or its folder can't be looked at"}
    )
    async def patch(self, job_id: str) -> PatchFile:
        """Get what a coding job has changed, as a patch for `git apply`."""
        job = self._job(job_id)
        found = await git_patch_of(job, checkpoints_of(job, self._jobs))
        return Response(
            found, media_type=PATCH_MEDIA_TYPE, headers={"content-disposition": f'attachment; filename="{job.id}.patch"'}
        )

    @post("/api/coding/jobs/{job_id}/merge", errors={**WORKSPACE_ERRORS, 409: "nothing was merged; the sentence says why"})
    async def merge(self, request: Request, job_id: str) -> JobMergeResult:
        """Merge the branch of a coding job into the one that it started from. Nothing is pushed."""
        job = self._job(job_id)
        self._check_workspace(job, request)
        try:
            merged = await merge_job(job.id, self._jobs)
        except TreadleError as error:  # git's, or another process has it
            raise HTTPException(409, redact(str(error))) from error
        return JobMergeResult(merged.into, merged.commit, [format_merge(job, merged)])

    @post(
        "/api/coding/jobs/{job_id}/follow-up",
        errors={**WORKSPACE_ERRORS, 422: "there is nothing to go by", **LIMIT_ERRORS, **NO_MODEL_ERRORS},
    )
    async def follow_up(self, request: Request, job_id: str, body: FollowUpRequest) -> Created[StartedCodingJob]:
        """Start a coding job that continues from this one, on a branch from its branch."""
        job = self._job(job_id)
        kind = follow_up_kind(job)
        if not body.what.strip():
            raise HTTPException(422, NO_TASK)
        make = DebugInputs if kind == "debug" else BuildInputs
        return await self._create_job(request, kind, make(body.what.strip(), follows=job.id), job.workspace)

    @post(
        "/api/coding/jobs/{job_id}/approvals/{call_id}", errors=WORKSPACE_ERRORS, returns="it is written down, and the job goes on"
    )
    async def decide(self, request: Request, job_id: str, call_id: str, body: CodingCallDecision) -> Accepted[CodingJobStatus]:
        """Approve or deny a waiting call of a coding job."""
        job = self._job(job_id)
        self._check_workspace(job, request)
        asked = next((each for each in await self._load_approvals(job) if each.call_id == call_id), None)
        if asked is None:
            raise HTTPException(409, "This call doesn't wait any more.")
        if asked.digest != body.digest:
            raise HTTPException(409, "This call isn't the one that you were shown; look at it again.")
        await self._runs.answer(job.id, call_id, body.answer(self._host.user), digest=body.digest)
        if not await self._load_approvals(job):
            self._carrier.resume(job)
        return CodingJobStatus(summarize_job(job))

    def _user_jobs(self) -> list[Job]:
        return [job for job in self._jobs.all(self._host.user) if is_coding_job(job)]

    def _job(self, job_id: str) -> Job:
        job = self._jobs.get(job_id) if self._jobs.has(job_id) else None
        if job is None or job.user != self._host.user or not is_coding_job(job):
            raise HTTPException(404, f"There is no job {job_id[:100]!r} of yours.")
        return job

    def _check_workspace(self, job: Job, request: Request) -> None:
        """Check the job's folder again: it may have been removed from the settings since the job started."""
        folder = self._places.require_folder(job.workspace, is_local=_is_local(request))
        require_sandboxed(folder, is_sandboxed=settings_for(folder).commands.sandbox, is_local=_is_local(request))

    def _check_limit(self, request: Request) -> None:
        most = getattr(getattr(request.scope.get("person"), "allowance", None), "runs", None)
        under_way = sum(job.state in ACTIVE_STATES for job in self._user_jobs())
        if most is not None and under_way >= most:
            raise HTTPException(
                429, f"{under_way} of your jobs are under way, which is as many as you may have at once; wait for one."
            )

    async def _poll_events(self, job_id: str, stopping: asyncio.Event) -> AsyncIterator[Any]:
        """Poll the job's file and the length of its journal; read more only if one of them has changed."""
        known: CodingJobSnapshot | None = None
        seen: tuple[Job, int] | None = None
        while not stopping.is_set():  # browsers come again by themselves
            now = await asyncio.to_thread(self._jobs.get, job_id), await self._journal_length(job_id)
            if now != seen:
                look = await self._take_snapshot(now[0])
                for event in diff_snapshots(known, look):
                    yield event
                known, seen = look, now
            if now[0].is_over:
                yield {"event": "over"}
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), POLL_SECONDS)

    async def _take_snapshot(self, job: Job) -> CodingJobSnapshot:
        steps = build_timeline(job, await self._read_entries(job.id))
        return CodingJobSnapshot(
            to_job_detail(job, current_activity(job, steps), await self._load_approvals(job)), steps, self._version(job)
        )

    def _version(self, job: Job) -> str:
        """Return a version of what it changed: the job's file is rewritten each time."""
        return str((self._jobs.folder_of(job.id) / "job.json").stat().st_mtime_ns)

    async def _journal_length(self, job_id: str) -> int:
        try:
            return (await self._host.home.journal.info(job_id)).entries
        except RunNotFound:
            return 0

    async def _read_entries(self, job_id: str) -> list[EntryJson]:
        try:
            return [redact_entry(msgspec.to_builtins(entry)) for entry in await self._host.home.journal.read(job_id)]
        except RunNotFound:
            return []

    async def _load_approvals(self, job: Job) -> list[Approval]:
        if job.state != "waiting":
            return []
        try:
            waiting = await self._runs.approvals(job.id)
        except RunNotFound:
            return []
        return [replace(each, arguments=redact(each.arguments)) for each in waiting]


def _is_local(request: Request) -> bool:
    """Return whether the request is from the owner of a local server."""
    person = request.scope.get("person")
    return person is not None and person.name == ""


def _on_error(request: Request, error: Exception) -> None:
    """Map errors to client error responses: what can't be done now is no server error. The server handles a missing model."""
    if isinstance(error, TreadleError) and type(error) in STATUSES:
        raise HTTPException(STATUSES[type(error)], redact(str(error))) from error


def routes(host: Host) -> list[BaseRoute]:
    """Return the routes."""
    service = CodingApi(host)
    with suppress(RuntimeError):  # it isn't served yet; then whoever first asks for the jobs has them gone on with
        asyncio.get_running_loop().call_soon(service.go_on)
    return [*routes_of(service, on_error=_on_error), *routes_of(SessionApi(host))]
