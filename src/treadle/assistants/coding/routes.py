"""The coding assistant over HTTP, for its panel: folders, jobs, what happens in one, what it changes, and what a person decides.

Jobs are the person's whose host this is. Nothing that could leave the machine can be asked for here: a push waits for an approval.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle import Host, Job, Jobs, RunNotFound, Runs, SettingsError, TreadleError, settings_of, spec_of
from treadle.assistants.coding.account import Entry, doing, steps_of
from treadle.assistants.coding.carrying import FACE, Carrier, is_known
from treadle.assistants.coding.changes import checkpoints_of, patch_of, take_back
from treadle.assistants.coding.command import NAME
from treadle.assistants.coding.given import is_enough, title_of
from treadle.assistants.coding.looks import UNDER_WAY, Look, brief, news, told, without_secrets
from treadle.assistants.coding.operations import TABLE, CallDecision, NewJob, Undo
from treadle.assistants.coding.patches import Patch, patch_in
from treadle.assistants.coding.places import NoFolder, NotAllowed, Places, must_be_contained
from treadle.assistants.coding.sample import make_sample
from treadle.assistants.coding.undo import BACK
from treadle.routes import Described, Endpoint, body_of, redacted, streamed, together
from treadle.workspace import ChangedSince

MOST_JOBS = 100
LOOKS = 1.0  # seconds between two looks at a job
STATUSES: dict[type[TreadleError], int] = {NotAllowed: 403, NoFolder: 404, SettingsError: 409}


class Service:
    """The endpoints, for one person."""

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

    async def workspaces(self, request: Request) -> Response:
        """The folders that may be worked in."""
        found: dict[str, Any] = {"workspaces": [], "missing": [], "any": _is_local(request), "problem": ""}
        try:
            found |= {"workspaces": msgspec.to_builtins(self._places.listed()), "missing": self._places.missing()}
        except SettingsError as error:
            found["problem"] = str(error)
        return JSONResponse(found)

    async def sample(self, request: Request) -> Response:
        """A small project to try it on."""
        made = await make_sample(self._places.samples, {job.workspace for job in self._jobs.all()})
        return JSONResponse(msgspec.to_builtins(made), 201)

    async def listed(self, request: Request) -> Response:
        """The jobs, newest first."""
        mine = self._mine()
        self._carrier.take_up(mine)
        return JSONResponse({"jobs": [brief(job) for job in mine[:MOST_JOBS]], "more": len(mine) > MOST_JOBS})

    async def begin(self, request: Request) -> Response:
        """Begin a job."""
        asked = await body_of(request, NewJob)
        given, is_local = asked.given(), _is_local(request)
        if missing := is_enough(given):
            raise HTTPException(422, missing)
        folder = self._places.opened(asked.workspace.strip(), is_local=is_local)
        settings = settings_of(folder)
        must_be_contained(folder, is_sandboxed=settings.commands.sandbox, is_local=is_local)
        self._check_amount(request)
        model = await self._host.model()  # one that can't be had is said before there is a job
        job = self._jobs.create(
            NAME,
            asked.kind,
            title_of(given),
            given=msgspec.to_builtins(given),
            workspace=str(folder),
            user=self._host.user,
            origin={**self._host.origin, **FACE, "model": spec_of(model)},
        )
        self._carrier.begin(job)
        return JSONResponse({"job": brief(job), "notes": list(settings.notes)}, 201)

    async def shown(self, request: Request) -> Response:
        """A job, and its story so far."""
        look = await self._look(self._job(request))
        return JSONResponse({"job": look.job, "steps": msgspec.to_builtins(look.steps)})

    async def events(self, request: Request) -> Response:
        """What happens in a job, as it happens. Whoever comes again is told everything anew, which isn't much."""
        return streamed(self._happening(self._job(request).id, request.scope.get("stopping") or asyncio.Event()))

    async def diff(self, request: Request) -> Response:
        """What a job has changed so far, without what was taken back."""
        job = self._job(request)
        version = self._version(job)
        patch = patch_in(await patch_of(job, checkpoints_of(job, self._jobs), whole=False)) if "before" in job.facts else Patch()
        return JSONResponse({"version": version, **msgspec.to_builtins(patch)})

    async def cancel(self, request: Request) -> Response:
        """Stop a job. What it has changed stays."""
        return JSONResponse({"job": brief(self._jobs.cancel(self._job(request).id))}, 202)

    async def resume(self, request: Request) -> Response:
        """Go on with a job that failed, or whose process is gone."""
        job = self._job(request)
        self._check_place(job, request)
        if job.state not in ("failed", "waiting"):
            raise HTTPException(409, f"Job {job.id} is {job.state}: there is nothing to go on with.")
        if await self._approvals(job):
            raise HTTPException(409, f"Job {job.id} waits for your answer first.")
        self._check_amount(request)
        self._carrier.resume(job)
        return JSONResponse({"job": brief(job)}, 202)

    async def undo(self, request: Request) -> Response:
        """Take back what a job changed."""
        job, wanted = self._job(request), await body_of(request, Undo)
        self._check_place(job, request)
        if job.state in UNDER_WAY:
            raise HTTPException(409, f"Job {job.id} is still under way; cancel it first.")
        try:
            taken = await take_back(job.id, self._jobs, steps=wanted.steps, force=wanted.force)
        except ChangedSince as error:
            words = f"You have changed {', '.join(error.paths[:5])} since the job; nothing was taken back."
            return JSONResponse({"success": False, "error": words, "detail": words, "changed": error.paths}, 409)
        said = [f"{BACK[change.kind]}: {change.path}" for change in taken.changes] or ["There was nothing to take back."]
        return JSONResponse({"lines": [*said, *([taken.words] if taken.words else [])]})

    async def decide(self, request: Request) -> Response:
        """What the person says about a call that waits; when nothing more waits, the job goes on."""
        said, job, call_id = await body_of(request, CallDecision), self._job(request), request.path_params["call_id"]
        self._check_place(job, request)
        asked = next((each for each in await self._approvals(job) if each["call_id"] == call_id), None)
        if asked is None:
            raise HTTPException(409, "This call doesn't wait any more.")
        if asked["digest"] != said.digest:
            raise HTTPException(409, "This call isn't the one that you were shown; look at it again.")
        await self._runs.answer(job.id, call_id, said.answer(self._host.user), digest=said.digest)
        if not await self._approvals(job):
            self._carrier.resume(job)
        return JSONResponse({"job": brief(job)}, 202)

    def _mine(self) -> list[Job]:
        return [job for job in self._jobs.all(self._host.user) if is_known(job)]

    def _job(self, request: Request) -> Job:
        job_id = request.path_params["job_id"]
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
        about = {**told(job), "doing": doing(job, steps), "approvals": await self._approvals(job)}
        return Look(about, steps, self._version(job))

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

    async def _approvals(self, job: Job) -> list[dict[str, Any]]:
        if job.state != "waiting":
            return []
        try:
            waiting = await self._runs.approvals(job.id)
        except RunNotFound:
            return []
        return [{**msgspec.to_builtins(each), "arguments": redacted(each.arguments)} for each in waiting]


def _is_local(request: Request) -> bool:
    """Whether whoever asks runs this server for themselves."""
    person = request.scope.get("person")
    return person is not None and person.name == ""


def _careful(endpoint: Endpoint) -> Endpoint:
    """What can't be done now is no mistake of the server's."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (NotAllowed, NoFolder, SettingsError) as error:
            status = STATUSES.get(type(error))
            if status is None:
                raise  # without a model, the server says what to do
            raise HTTPException(status, redacted(str(error))) from error

    return answered


def routes(host: Host) -> list[BaseRoute]:
    """The routes."""
    service = Service(host)
    with suppress(RuntimeError):  # it isn't served yet; then whoever first asks for the jobs has them gone on with
        asyncio.get_running_loop().call_soon(service.go_on)
    return together(
        [Described(path, _careful(getattr(service, name)), operation, method) for method, path, name, operation in TABLE]
    )
