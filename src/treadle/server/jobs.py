"""Jobs over HTTP: list, status, cancel, delete and resume.

An assistant that has routes of its own for its jobs (`/api/NAME/jobs/{id}/…`) knows more about them: requests are
redirected there.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Match, Route

from treadle.admin.deletion import delete_jobs
from treadle.agent.budget import apply_budget
from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.core.seams import Model
from treadle.home import Home
from treadle.jobs.execution import JobKind, execute_job
from treadle.jobs.store import Job, JobNotFound, Jobs, JobTaken, mask_job
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.models import model_at
from treadle.routes import Accepted, Returns, delete, get, post, routes_of
from treadle.stores.accounts import LOCAL_OWNER


class JobListQuery(Struct, frozen=True):
    """Filters for the list of jobs."""

    state: Literal["", "pending", "running", "waiting", "completed", "failed", "cancelled"] = ""
    assistant: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    before: Annotated[str, Meta(description="The id of the last job of the list before.", max_length=200)] = ""


class JobList(Struct, frozen=True):
    """Jobs, newest first."""

    jobs: list[Job]
    more: bool


NOT_FOUND = {404: "there is no such job"}
AssistantRedirect = Annotated[RedirectResponse, Returns(307, "the job's assistant does this, at the address in `location`")]


class JobRunner:
    """Executes jobs that were resumed on this server. When it stops they are left as after a crash."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def begin(self, job: Job, work: JobKind) -> None:
        """Resume a job."""
        if job.id not in self._tasks:
            self._tasks[job.id] = asyncio.create_task(self._carry(job, work))

    async def _carry(self, job: Job, work: JobKind) -> None:
        name, address = str(job.origin.get("model", "")), str(job.origin.get("base_url") or "")

        async def same() -> Model:
            return apply_budget(self._host.model, model_at(name, address)) if name else await self._host.model()

        try:
            await execute_job(job.id, work, replace(self._host, model=same))
        except TreadleError as error:
            log.warning("Job %s couldn't go on: %s", job.id, error)
        except Exception:  # noqa: BLE001 - the job says so, and the log says where
            log.exception("Job %s failed", job.id)
        finally:
            del self._tasks[job.id]

    async def close(self) -> None:
        """Stop all active jobs."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class JobsApi:
    """The job handlers, for one user."""

    def __init__(self, assistants: Sequence[Assistant], host: Host) -> None:
        self._assistants = {assistant.name: assistant for assistant in assistants}
        self._home = host.home
        self._user = host.user
        self._jobs = Jobs(host.home.folder)
        self._carrier = JobRunner(host)
        host.on_close(self._carrier.close)

    @get("/api/jobs")
    async def list_jobs(self, query: JobListQuery) -> JobList:
        """List jobs, newest first."""
        found = await asyncio.to_thread(self._jobs.all)
        if query.before:
            ids = [job.id for job in found]
            found = found[ids.index(query.before) + 1 :] if query.before in ids else []
        wanted = [job for job in found if query.state in ("", job.state) and query.assistant in ("", job.assistant)]
        return JobList([mask_job(job) for job in wanted[: query.limit]], len(wanted) > query.limit)

    @get("/api/jobs/{job_id}", errors=NOT_FOUND, returns="the job")
    async def get_job(self, job_id: str) -> Job:
        """Get a job."""
        return mask_job(await self._job(job_id))

    @post("/api/jobs/{job_id}/cancel", errors=NOT_FOUND, returns="the job")
    async def cancel(self, job_id: str) -> Job:
        """Cancel a job; what it has changed stays."""
        job = await self._job(job_id)
        return mask_job(await asyncio.to_thread(self._jobs.cancel, job.id))

    @delete("/api/jobs/{job_id}", errors={**NOT_FOUND, 409: "it isn't over"}, returns="it is gone")
    async def delete(self, job_id: str) -> None:
        """Delete a job, with its run and checkpoints. What it changed in its workspace stays."""
        job = await self._job(job_id)
        await delete_jobs(self._home, [job.id], by=self._user)

    @post("/api/jobs/{job_id}/resume", errors={**NOT_FOUND, 409: "it is under way, or over"}, returns="it goes on by itself")
    async def resume(self, request: Request, job_id: str) -> Accepted[Job] | AssistantRedirect:
        """Resume a job."""
        job = await self._job(job_id)
        if job.state in ("completed", "cancelled", "running"):
            raise HTTPException(409, f"Job {job.id} is {job.state}: there is nothing to resume.")
        if path := await assistant_job_path(request, self._home, job.id, "resume"):
            return RedirectResponse(path, 307)
        if request.scope["person"] != LOCAL_OWNER:
            raise HTTPException(403, f"Only the server's administrator can go on with job {job.id} here.")
        self._carrier.begin(job, self._find_work(job))
        return mask_job(replace(job, state="running", why=""))

    def _find_work(self, job: Job) -> JobKind:
        made = self._assistants.get(job.assistant)
        for work in made.work() if made is not None and made.work is not None else ():
            if work.name == job.kind:
                return work
        raise HTTPException(409, f"There is no assistant here that could go on with job {job.id}.")

    @get("/api/jobs/{job_id}/diff", errors={404: "there is no such job, or its assistant doesn't say what it changes"})
    async def diff(self, request: Request, job_id: str) -> AssistantRedirect:
        """Get a job's changes as a diff."""
        job = await self._job(job_id)
        if path := await assistant_job_path(request, self._home, job.id, "diff"):
            return RedirectResponse(path, 307)
        raise HTTPException(404, f"The assistant {job.assistant} doesn't say here what its jobs change.")

    async def _job(self, job_id: str) -> Job:
        """Return the job of exactly this id."""
        try:
            if await asyncio.to_thread(self._jobs.has, job_id):
                return await asyncio.to_thread(self._jobs.get, job_id)
        except (JobNotFound, JobTaken) as error:
            raise HTTPException(404, str(error)) from error
        raise HTTPException(404, f"There is no job {job_id[:100]!r} here.")


async def assistant_job_path(request: Request, home: Home, job_id: str, what: str) -> str:
    """Return the path of the assistant's own route for this action on its job; empty where there is none."""
    job = await asyncio.to_thread(Jobs(home.folder).get, job_id)
    path = f"/api/{job.assistant}/jobs/{job_id}/{what}"
    scope: dict[str, Any] = {"type": "http", "path": path, "method": request.method, "root_path": "", "headers": []}
    routes: Sequence[BaseRoute] = request.app.routes
    return quote(path) if any(isinstance(each, Route) and each.matches(scope)[0] == Match.FULL for each in routes) else ""


def job_routes(assistants: Sequence[Assistant], host: Host) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(JobsApi(assistants, host))
