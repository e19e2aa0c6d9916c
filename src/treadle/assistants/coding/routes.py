"""The coding assistant over HTTP, for its panel: folders, jobs, what happens in one, what it changes, and what a person decides.

Jobs are the person's whose host this is. Nothing that could leave the machine can be asked for here: a push waits for an approval.
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

from treadle import Approval, Host, Job, Jobs, RunNotFound, Runs, SettingsError, TreadleError, settings_of, spec_of
from treadle.assistants.coding.account import Entry, doing, steps_of
from treadle.assistants.coding.bodies import (
    PATCH,
    CallDecision,
    FollowUp,
    MergeTold,
    NewJob,
    PatchFile,
    TakenBackTold,
    Undo,
    UndoRefused,
    Workspaces,
)
from treadle.assistants.coding.carrying import FACE, Carrier, is_known
from treadle.assistants.coding.changes import checkpoints_of, patch_of, take_back, whole_patch_of
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.finish import NOTHING, merge_job, merge_words
from treadle.assistants.coding.follow import follow_up_kind
from treadle.assistants.coding.given import Build, Debug, Given, is_enough, title_of
from treadle.assistants.coding.looks import (
    UNDER_WAY,
    JobBegun,
    JobNow,
    JobPatch,
    JobShown,
    JobsListed,
    Look,
    brief,
    news,
    told,
    without_secrets,
)
from treadle.assistants.coding.patches import Patch, patch_in
from treadle.assistants.coding.places import NoFolder, NotAllowed, Places, must_be_contained
from treadle.assistants.coding.sample import Sample, make_sample
from treadle.assistants.coding.undo import BACK
from treadle.routes import Accepted, Created, Events, get, json_response, post, redacted, routes_of
from treadle.workspace import ChangedSince

MOST_JOBS = 100
LOOKS = 1.0  # seconds between two looks at a job
STATUSES: dict[type[TreadleError], int] = {NotAllowed: 403, NoFolder: 404, SettingsError: 409}

NO_JOB = {404: "there is no such job of theirs"}
PLACE = {
    403: "this folder isn't theirs to work in, or the request comes from another page",
    404: "there is no such folder, or no such job of theirs",
    409: "this can't be done now; the sentence says why",
}
NO_MODEL = {502: "the model's server failed", 503: "there is no model; the sentence says what to do"}
MANY = {429: "as many jobs are under way as they may have, or too many requests"}


class Service:
    """The handlers, for one person."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._runs = Runs(host.home)
        self._places = Places(host)
        self._carrier = Carrier(host)
        host.at_end(self._carrier.close)

    def go_on(self) -> None:
        """Go on with what was under way when the server stopped."""
        self._carrier.take_up(self._mine())

    @get("/api/coding/workspaces")
    async def workspaces(self, request: Request) -> Workspaces:
        """The folders that may be worked in."""
        try:
            return Workspaces(self._places.listed(), self._places.missing(), _is_local(request), "")
        except SettingsError as error:
            return Workspaces([], [], _is_local(request), str(error))

    @post("/api/coding/sample", errors={409: "there are too many already, or there is no git"})
    async def sample(self) -> Created[Sample]:
        """A small project to try it on."""
        return await make_sample(self._places.samples, {job.workspace for job in self._jobs.all()})

    @get("/api/coding/jobs")
    async def listed(self) -> JobsListed:
        """The coding jobs, newest first."""
        mine = self._mine()
        self._carrier.take_up(mine)
        return JobsListed([brief(job) for job in mine[:MOST_JOBS]], len(mine) > MOST_JOBS)

    @post("/api/coding/jobs", errors={**PLACE, 422: "there is nothing to go by", **MANY, **NO_MODEL})
    async def begin(self, request: Request, body: NewJob) -> Created[JobBegun]:
        """Begin a coding job."""
        return await self._begin(request, body.kind, body.given(), body.workspace.strip())

    async def _begin(self, request: Request, kind: str, given: Given, workspace: str) -> JobBegun:
        if missing := is_enough(given):
            raise HTTPException(422, missing)
        is_local = _is_local(request)
        folder = self._places.opened(workspace, is_local=is_local)
        settings = settings_of(folder)
        must_be_contained(folder, is_sandboxed=settings.commands.sandbox, is_local=is_local)
        self._check_amount(request)
        model = await self._host.model()  # one that can't be had is said before there is a job
        job = self._jobs.create(
            NAME,
            kind,
            title_of(given),
            given=msgspec.to_builtins(given),
            workspace=str(folder),
            user=self._host.user,
            origin={**self._host.origin, **FACE, "model": spec_of(model)},
        )
        self._carrier.begin(job)
        return JobBegun(brief(job), list(settings.notes))

    @get("/api/coding/jobs/{job_id}", errors=NO_JOB)
    async def shown(self, job_id: str) -> JobShown:
        """A coding job, and its story so far."""
        look = await self._look(self._job(job_id))
        return JobShown(look.job, look.steps)

    @get("/api/coding/jobs/{job_id}/events", errors=NO_JOB, returns="events, each a line of JSON; the last is `over`")
    async def events(self, request: Request, job_id: str) -> Events[dict[str, Any]]:
        """What happens in a coding job."""
        # Whoever comes again is told everything anew, which isn't much.
        return self._happening(self._job(job_id).id, request.scope.get("stopping") or asyncio.Event())

    @get("/api/coding/jobs/{job_id}/diff", errors={**NO_JOB, 409: "its folder can't be looked at"})
    async def diff(self, job_id: str) -> JobPatch:
        """What a coding job has changed so far."""
        job = self._job(job_id)
        version = self._version(job)
        patch = patch_in(await patch_of(job, checkpoints_of(job, self._jobs), whole=False)) if "before" in job.facts else Patch()
        return JobPatch(version, patch.files, patch.left_out)

    @post("/api/coding/jobs/{job_id}/cancel", errors=NO_JOB)
    async def cancel(self, job_id: str) -> Accepted[JobNow]:
        """Stop a coding job."""
        return JobNow(brief(self._jobs.cancel(self._job(job_id).id)))

    @post("/api/coding/jobs/{job_id}/resume", errors={**PLACE, **MANY})
    async def resume(self, request: Request, job_id: str) -> Accepted[JobNow]:
        """Go on with a coding job."""
        job = self._job(job_id)
        self._check_place(job, request)
        if job.state not in ("failed", "waiting"):
            raise HTTPException(409, f"Job {job.id} is {job.state}: there is nothing to go on with.")
        if await self._approvals(job):
            raise HTTPException(409, f"Job {job.id} waits for your answer first.")
        self._check_amount(request)
        self._carrier.resume(job)
        return JobNow(brief(job))

    @post(
        "/api/coding/jobs/{job_id}/undo",
        errors={**PLACE, 409: ("nothing was taken back; the sentence says why", UndoRefused)},
    )
    async def undo(self, request: Request, job_id: str, body: Undo) -> TakenBackTold | Response:
        """Take back what a coding job changed."""
        job = self._job(job_id)
        self._check_place(job, request)
        if job.state in UNDER_WAY:
            raise HTTPException(409, f"Job {job.id} is still under way; cancel it first.")
        try:
            taken = await take_back(job.id, self._jobs, steps=body.steps, force=body.force)
        except ChangedSince as error:
            words = f"You have changed {', '.join(error.paths[:5])} since the job; nothing was taken back."
            return json_response(UndoRefused(False, words, words, changed=tuple(error.paths)), 409)
        said = [f"{BACK[change.kind]}: {change.path}" for change in taken.changes] or ["There was nothing to take back."]
        return TakenBackTold([*said, *([taken.words] if taken.words else [])])

    @get("/api/coding/jobs/{job_id}/patch", errors={**NO_JOB, 409: "it has changed nothing, or its folder can't be looked at"})
    async def patch(self, job_id: str) -> PatchFile:
        """What a coding job has changed, as a patch for `git apply`."""
        job = self._job(job_id)
        found = await whole_patch_of(job, checkpoints_of(job, self._jobs))
        return Response(found, media_type=PATCH, headers={"content-disposition": f'attachment; filename="{job.id}.patch"'})

    @post("/api/coding/jobs/{job_id}/merge", errors={**PLACE, 409: "nothing was merged; the sentence says why"})
    async def merge(self, request: Request, job_id: str) -> MergeTold:
        """Merge the branch of a coding job into the one that it began from. Nothing is pushed."""
        job = self._job(job_id)
        self._check_place(job, request)
        try:
            merged = await merge_job(job.id, self._jobs)
        except TreadleError as error:  # git's, or another process has it
            raise HTTPException(409, redacted(str(error))) from error
        return MergeTold(merged.into, merged.commit, [merge_words(job, merged)])

    @post("/api/coding/jobs/{job_id}/follow-up", errors={**PLACE, 422: "there is nothing to go by", **MANY, **NO_MODEL})
    async def follow_up(self, request: Request, job_id: str, body: FollowUp) -> Created[JobBegun]:
        """Begin a coding job that goes on from this one, on a branch from its branch."""
        job = self._job(job_id)
        kind = follow_up_kind(job)
        if not body.what.strip():
            raise HTTPException(422, NOTHING)
        make = Debug if kind == "debug" else Build
        return await self._begin(request, kind, make(body.what.strip(), follows=job.id), job.workspace)

    @post("/api/coding/jobs/{job_id}/approvals/{call_id}", errors=PLACE, returns="it is written down, and the job goes on")
    async def decide(self, request: Request, job_id: str, call_id: str, body: CallDecision) -> Accepted[JobNow]:
        """Approve or deny a call of a coding job that waits."""
        job = self._job(job_id)
        self._check_place(job, request)
        asked = next((each for each in await self._approvals(job) if each.call_id == call_id), None)
        if asked is None:
            raise HTTPException(409, "This call doesn't wait any more.")
        if asked.digest != body.digest:
            raise HTTPException(409, "This call isn't the one that you were shown; look at it again.")
        await self._runs.answer(job.id, call_id, body.answer(self._host.user), digest=body.digest)
        if not await self._approvals(job):
            self._carrier.resume(job)
        return JobNow(brief(job))

    def _mine(self) -> list[Job]:
        return [job for job in self._jobs.all(self._host.user) if is_known(job)]

    def _job(self, job_id: str) -> Job:
        job = self._jobs.get(job_id) if self._jobs.has(job_id) else None
        if job is None or job.user != self._host.user or not is_known(job):
            raise HTTPException(404, f"There is no job {job_id[:100]!r} of yours.")
        return job

    def _check_place(self, job: Job, request: Request) -> None:
        """A folder may have been taken from the list since the job began."""
        folder = self._places.opened(job.workspace, is_local=_is_local(request))
        must_be_contained(folder, is_sandboxed=settings_of(folder).commands.sandbox, is_local=_is_local(request))

    def _check_amount(self, request: Request) -> None:
        most = getattr(getattr(request.scope.get("person"), "allowance", None), "runs", None)
        under_way = sum(job.state in UNDER_WAY for job in self._mine())
        if most is not None and under_way >= most:
            raise HTTPException(
                429, f"{under_way} of your jobs are under way, which is as many as you may have at once; wait for one."
            )

    async def _happening(self, job_id: str, stopping: asyncio.Event) -> AsyncIterator[Any]:
        """Looks at the job's file and at how long its journal is; at more, only where one of them is another than before."""
        known: Look | None = None
        seen: tuple[Job, int] | None = None
        while not stopping.is_set():  # browsers come again by themselves
            now = await asyncio.to_thread(self._jobs.get, job_id), await self._length(job_id)
            if now != seen:
                look = await self._look(now[0])
                for event in news(known, look):
                    yield event
                known, seen = look, now
            if now[0].is_over:
                yield {"event": "over"}
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), LOOKS)

    async def _look(self, job: Job) -> Look:
        steps = steps_of(job, await self._entries(job.id))
        return Look(told(job, doing(job, steps), await self._approvals(job)), steps, self._version(job))

    def _version(self, job: Job) -> str:
        """Of what it changed: its file is written anew each time."""
        return str((self._jobs.folder_of(job.id) / "job.json").stat().st_mtime_ns)

    async def _length(self, job_id: str) -> int:
        try:
            return (await self._host.home.journal.info(job_id)).entries
        except RunNotFound:
            return 0

    async def _entries(self, job_id: str) -> list[Entry]:
        try:
            return [without_secrets(msgspec.to_builtins(entry)) for entry in await self._host.home.journal.read(job_id)]
        except RunNotFound:
            return []

    async def _approvals(self, job: Job) -> list[Approval]:
        if job.state != "waiting":
            return []
        try:
            waiting = await self._runs.approvals(job.id)
        except RunNotFound:
            return []
        return [replace(each, arguments=redacted(each.arguments)) for each in waiting]


def _is_local(request: Request) -> bool:
    """Whether whoever asks runs this server for themselves."""
    person = request.scope.get("person")
    return person is not None and person.name == ""


def _on_error(request: Request, error: Exception) -> None:
    """What can't be done now is no mistake of the server's. Without a model, the server says what to do."""
    if isinstance(error, TreadleError) and type(error) in STATUSES:
        raise HTTPException(STATUSES[type(error)], redacted(str(error))) from error


def routes(host: Host) -> list[BaseRoute]:
    """The routes."""
    service = Service(host)
    with suppress(RuntimeError):  # it isn't served yet; then whoever first asks for the jobs has them gone on with
        asyncio.get_running_loop().call_soon(service.go_on)
    return routes_of(service, on_error=_on_error)
