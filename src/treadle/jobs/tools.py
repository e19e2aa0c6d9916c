"""An assistant's jobs as tools for other programs: a tool for each kind of job, and three that manage jobs.

A call lasts as long as its job and reports progress; cancelling it cancels the job. With `background`, it only
starts the job.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Call, Effect
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem, TreadleError
from treadle.core.events import CallJudged, CallReturned, Event, ModelAsked
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.jobs.execution import JobKind, execute_job, parse_job_input
from treadle.jobs.store import Job, Jobs
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.models import model_spec
from treadle.tools.schema import type_schema

TOOLSET = "jobs"
MAX_LISTED = 50
_ID_SCHEMA = {"type": "object", "properties": {"job_id": {"type": "string"}}, "required": ["job_id"], "additionalProperties": False}
_BACKGROUND_SCHEMA = {"type": "boolean", "description": "Only begin it, and give its id at once.", "default": False}
_STATUS_TOOLS: tuple[tuple[str, str, dict[str, Any], Effect], ...] = (
    ("get_job_status", "How a job stands, and its result.", _ID_SCHEMA, "read"),
    ("list_jobs", "The jobs here, newest first.", {"type": "object", "properties": {}, "additionalProperties": False}, "read"),
    ("cancel_job", "Stop a job. What it has changed stays.", _ID_SCHEMA, "write"),
)


class JobTools:
    """The toolset. Jobs work in `folder`, and belong to the host's user."""

    def __init__(self, assistant: Assistant, host: Host, folder: Path) -> None:
        self._name = assistant.name
        self._work = {work.name: work for work in (assistant.work() if assistant.work is not None else ())}
        self._host = host
        self._jobs = Jobs(host.home.folder)
        self._folder = folder
        self._tools = (*[_job_tool(work) for work in self._work.values()], *[_status_tool(*look) for look in _STATUS_TOOLS])

    async def __aenter__(self) -> "JobTools":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tools(self) -> tuple[Tool, ...]:
        """Return one tool for each kind of job, and those that manage jobs."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Execute a call."""
        try:
            match call.name:
                case "list_jobs":
                    return [_job_to_json(job) for job in self._jobs.all(self._host.user) if self._is_own(job)][:MAX_LISTED]
                case "get_job_status":
                    return _job_to_json(self._get_own_job(call.arguments["job_id"]), whole=True)
                case "cancel_job":
                    return _job_to_json(self._jobs.cancel(self._get_own_job(call.arguments["job_id"]).id))
                case _:
                    return await self._start_job(self._work[call.name], call.arguments, context.progress)
        except TreadleError as error:
            raise ToolProblem(str(error)) from error

    def _get_own_job(self, job_id: str) -> Job:
        job = self._jobs.get(job_id)
        if job.user != self._host.user or not self._is_own(job):
            raise ToolProblem(f"There is no job {job_id!r}.")
        return job

    def _is_own(self, job: Job) -> bool:
        return job.assistant == self._name and job.workspace == str(self._folder)

    async def _start_job(self, work: JobKind, arguments: dict[str, Any], progress: Callable[[str], None]) -> Any:
        given = {name: value for name, value in arguments.items() if name != "background" and name not in work.leaving}
        parse_job_input(work, given)
        model = await self._host.model()
        title = str(given.get("description") or given.get("branch") or work.name)
        origin = {**self._host.origin, "model": model_spec(model)}
        job = self._jobs.create(
            self._name, work.name, title, given=given, workspace=str(self._folder), user=self._host.user, origin=origin
        )
        if arguments.get("background"):
            if self._host.detach is None:
                raise ToolProblem("Nothing can be begun in the background here; leave `background` out.")
            self._host.detach(["jobs", "resume", job.id, "--quiet"])
            return _job_to_json(job)
        try:
            return _job_to_json(
                await execute_job(job.id, work, replace(self._host, watcher=_progress_watcher(progress))), whole=True
            )
        except asyncio.CancelledError:
            self._jobs.cancel(job.id)
            raise


def _job_tool(work: JobKind) -> Tool:
    schema = type_schema(work.given)
    given = {name: said for name, said in schema.get("properties", {}).items() if name not in work.leaving}
    schema = {**schema, "properties": {**given, "background": _BACKGROUND_SCHEMA}}
    words = f"{work.summary[:1].upper()}{work.summary[1:]}, as a job."
    effect: Effect = "read" if work.reads else "write"
    return Tool(ToolSpec(work.name, words, schema), effect=effect, retry="once", toolset=TOOLSET)


def _status_tool(name: str, words: str, schema: dict[str, Any], effect: Effect) -> Tool:
    return Tool(ToolSpec(name, words, schema), effect=effect, retry="read" if effect == "read" else "idempotent", toolset=TOOLSET)


def _job_to_json(job: Job, *, whole: bool = False) -> dict[str, Any]:
    told = {"job_id": job.id, "kind": job.kind, "state": job.state, "title": job.title, "why": job.why}
    return {**told, "output": msgspec.to_builtins(job.output)} if whole else told


def _progress_watcher(progress: Callable[[str], None]) -> Callable[[Event], None]:
    """Return a watcher that reports a job's events as short progress texts."""

    def tell(event: Event) -> None:
        if isinstance(event, ModelAsked):
            progress(f"Round {event.round}.")
        elif isinstance(event, CallJudged):
            progress(f"{event.call.name} …")
        elif isinstance(event, CallReturned) and event.result.problem:
            progress(f"{event.result.name}: {event.result.problem}.")

    return tell
