"""Runs, candidates, issues and members of a project over HTTP.

Runs go on in the background; a server that starts takes up what the one before it left.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict
from starlette.responses import Response

from treadle import Host, Limits, ModelError, UnknownModel, settled_agent
from treadle.assistants.guidance.comparison import Comparison, compare, decision_record
from treadle.assistants.guidance.project_runs import (
    BackgroundRuns,
    EvaluationInput,
    NotReady,
    cancel_run,
    create_run,
    job_of,
    reconcile,
    start_draft,
)
from treadle.assistants.guidance.projects import share_project, user_of
from treadle.assistants.guidance.recording import brief
from treadle.assistants.guidance.run_tools import propose
from treadle.assistants.guidance.store.errors import NotThere
from treadle.assistants.guidance.store.values import (
    Candidate,
    Issue,
    IssueType,
    Mode,
    Project,
    ResolutionStatus,
    Run,
    Severity,
)
from treadle.assistants.guidance.tools import ProjectScope
from treadle.routes import Accepted, Created, Returns, delete, get, post

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

GONE = {404: "there is nothing by that name that they may see"}
UNFIT = {422: "it can't be kept like that"}
READY = {409: "it can't start; the sentence says what is in the way", 503: "no model can be had"}
SHORT_TITLE = 60
TITLE = "Give this project a title of at most six words. Reply with the title alone."


class RunStart(Struct, frozen=True):
    """A run to start. A `ui_trigger_id` that is sent twice starts one run."""

    mode: Mode = "full_search"
    parameters: dict[str, Any] = {}
    chat_session_id: str | None = None
    recommended_message_id: str | None = None
    recommended_config_snapshot: dict[str, Any] | None = None
    ui_trigger_id: str | None = None
    ui_trigger_source: str | None = "api"


class ListedRun(Run, frozen=True, kw_only=True):
    """A run in a list.

    is_under_way    a process carries it out now
    can_resume      it failed, was interrupted, or waits with a person's candidates: it can be resumed
    """

    is_under_way: bool
    can_resume: bool


class NewCandidate(Struct, frozen=True):
    """A candidate that a person proposes, for a run or for a new one."""

    mechanism_description: Annotated[str, Meta(min_length=1, examples=["Signals give way to late buses."])]
    run_id: str = ""


class NewIssue(Struct, frozen=True):
    """Something that is wrong."""

    description: Annotated[str, Meta(min_length=1, examples=["The model has no weather."])]
    type: IssueType = "model"
    severity: Severity = "important"
    run_id: str | None = None
    candidate_id: str | None = None


class IssueResolution(Struct, frozen=True):
    """What became of an issue."""

    status: ResolutionStatus = "resolved"
    note: str = ""


class IssueQuery(Struct, frozen=True):
    """Which issues are listed."""

    status: ResolutionStatus | None = None


class NewMember(Struct, frozen=True):
    """Somebody who may see and change a project from now on."""

    user: Annotated[str, Meta(min_length=1, examples=["bo"])]


class ProjectDescription(Struct, frozen=True):
    """What a project is about; its title is made of that, unless one is suggested."""

    description: Annotated[str, Meta(min_length=1, examples=["A town wants its buses to be on time."])]
    suggested_title: str = ""


class RunsApi:
    """The handlers, for one person."""

    def __init__(self, host: Host, store: "Callable[[], Awaitable[Store]]") -> None:
        self._host = host
        self._user = user_of(host)
        self._store = store
        self._background = BackgroundRuns(host)

    def take_up(self) -> None:
        """Go on with what was under way when the server stopped."""
        self._background.take_up()

    async def _scope(self) -> ProjectScope:
        return ProjectScope(self._host, await self._store())

    async def _run(self, project_id: str, run_id: str) -> Run:
        store = await self._store()
        (run,) = await reconcile(self._host, store, [await store.get_run(self._user, run_id)])
        if run.project_id != project_id:
            raise NotThere(f"There is no run {run_id!r} in this project.")
        return run

    @get("/projects/{project_id}/runs", errors=GONE, returns="them")
    async def runs(self, project_id: str) -> list[ListedRun]:
        """The runs of a project, in order."""
        store = await self._store()
        self.take_up()
        found = await reconcile(self._host, store, await store.list_runs(self._user, project_id))
        return await asyncio.to_thread(lambda: [self._listed(each) for each in found])

    def _listed(self, run: Run) -> ListedRun:
        job = None if run.status in ("completed", "cancelled") else job_of(self._host, run.id)
        is_under_way = self._background.has(run.id) or (job is not None and job.state == "running")
        is_draft = job is None and run.status == "created" and run.candidate_count > 0
        can_resume = is_draft or (job is not None and job.state in ("pending", "waiting", "failed"))
        return ListedRun(**asdict(brief(run)), is_under_way=is_under_way, can_resume=can_resume and not is_under_way)

    @post("/projects/{project_id}/runs", errors={**GONE, **UNFIT, **READY}, returns="the run, which goes on in the background")
    async def start(self, project_id: str, body: RunStart) -> Accepted[Run]:
        """Start a run: candidates are proposed, and scored against the constraints."""
        wanted = EvaluationInput(project_id, **asdict(body))
        run = await create_run(self._host, await self._store(), wanted)
        if run.status == "created":  # a trigger that comes again doesn't resume a run that failed
            self._background.begin(run.id)
        return brief(run)

    @get("/projects/{project_id}/runs/{run_id}", errors=GONE, returns="the run, with what it evaluates against")
    async def run(self, project_id: str, run_id: str) -> Run:
        """A run."""
        return await self._run(project_id, run_id)

    @post("/projects/{project_id}/runs/{run_id}/resume", errors={**GONE, **READY}, returns="the run, which goes on")
    async def resume(self, project_id: str, run_id: str) -> Accepted[Run]:
        """Go on with a run that failed or was interrupted, or start one that was made for a person's candidates."""
        run, store = await self._run(project_id, run_id), await self._store()
        if job_of(self._host, run.id) is None:
            await start_draft(self._host, store, run)
        elif run.status in ("completed", "cancelled"):
            raise NotReady(f"Run {run.id} is {run.status}; start another.")
        await self._host.model()
        self._background.begin(run.id)
        return brief(run)

    @post("/projects/{project_id}/runs/{run_id}/cancel", errors=GONE, returns="the run")
    async def cancel(self, project_id: str, run_id: str) -> Accepted[Run]:
        """Stop a run; what it has recorded stays."""
        run = await self._run(project_id, run_id)
        return brief(await cancel_run(self._host, await self._store(), run))

    @get("/projects/{project_id}/runs/{run_id}/candidates", errors=GONE, returns="the candidates")
    async def run_candidates(self, project_id: str, run_id: str) -> list[Candidate]:
        """The candidates of a run, with their scores."""
        return await (await self._store()).list_candidates(self._user, (await self._run(project_id, run_id)).id)

    @get("/projects/{project_id}/runs/{run_id}/comparison", errors=GONE, returns="them, the best first")
    async def comparison(self, project_id: str, run_id: str) -> Comparison:
        """The candidates of a run side by side, by constraint."""
        run = await self._run(project_id, run_id)
        return compare(run, await (await self._store()).list_candidates(self._user, run.id))

    @get("/projects/{project_id}/candidates", errors=GONE, returns="the candidates")
    async def candidates(self, project_id: str) -> list[Candidate]:
        """The candidates of all runs of a project."""
        return await (await self._store()).list_project_candidates(self._user, project_id)

    @post("/projects/{project_id}/candidates", errors={**GONE, **UNFIT}, returns="the candidate")
    async def propose(self, project_id: str, body: NewCandidate) -> Created[Candidate]:
        """Propose a candidate; the run that it is kept with scores it when it is started."""
        await (await self._store()).get_project(self._user, project_id)
        return await propose(await self._scope(), project_id, body.mechanism_description, body.run_id)

    @get("/projects/{project_id}/candidates/{candidate_id}/adr", errors=GONE)
    async def adr(self, project_id: str, candidate_id: str) -> Annotated[Response, Returns(200, "Markdown", "text/markdown")]:
        """The decision for a candidate, as an architecture decision record."""
        text = await adr_of(await self._scope(), project_id, candidate_id)
        name = {"content-disposition": f'attachment; filename="adr-{candidate_id[:8]}.md"'}
        return Response(text, media_type="text/markdown", headers=name)

    @get("/projects/{project_id}/issues", errors=GONE, returns="the issues")
    async def issues(self, project_id: str, query: IssueQuery) -> list[Issue]:
        """What was found wrong in a project."""
        return await (await self._store()).list_issues(self._user, project_id, query.status)

    @post("/projects/{project_id}/issues", errors={**GONE, **UNFIT}, returns="the issue")
    async def add_issue(self, project_id: str, body: NewIssue) -> Created[Issue]:
        """Say that something is wrong."""
        issue = Issue(project_id, body.type, body.severity, body.description, run_id=body.run_id, candidate_id=body.candidate_id)
        return await (await self._store()).create_issue(self._user, issue)

    @get("/issues/{issue_id}", errors=GONE, returns="the issue")
    async def issue(self, issue_id: str) -> Issue:
        """An issue."""
        return await (await self._store()).get_issue(self._user, issue_id)

    @post("/issues/{issue_id}/resolve", errors={**GONE, **UNFIT}, returns="the issue")
    async def resolve(self, issue_id: str, body: IssueResolution) -> Issue:
        """Resolve an issue."""
        return await (await self._store()).resolve_issue(self._user, issue_id, body.status, body.note)

    @post("/projects/{project_id}/members", errors={**GONE, **UNFIT, 403: "it is somebody else's"}, returns="the project")
    async def share(self, project_id: str, body: NewMember) -> Project:
        """Let somebody else see and change a project."""
        return await share_project(self._host, await self._store(), project_id, body.user)

    @delete("/projects/{project_id}/members/{name}", errors={**GONE, 403: "it is somebody else's"}, returns="they see it no more")
    async def unshare(self, project_id: str, name: str) -> None:
        """Let somebody no longer see a project."""
        await (await self._store()).unshare_project(self._user, project_id, name)

    @post("/projects/from-description", errors=UNFIT, returns="the project")
    async def from_description(self, body: ProjectDescription) -> Created[Project]:
        """Begin a project from what it is about: with a title, a conversation, and the description as its first message."""
        store = await self._store()
        title = body.suggested_title.strip() or await title_of(self._host, body.description)
        project = await store.create_project(self._user, title, body.description)
        session = await store.create_chat_session(self._user, project.id, "Main Chat")
        await store.add_message(self._user, session.id, "user", body.description)
        return project


async def adr_of(scope: ProjectScope, project_id: str, candidate_id: str) -> str:
    """The architecture decision record for a candidate of a project."""
    store, user = scope.store, scope.user
    chosen = await store.get_candidate(user, candidate_id)
    if chosen.project_id != project_id:
        raise NotThere(f"There is no candidate {candidate_id!r} in this project.")
    project, run, candidates, issues = await asyncio.gather(
        store.get_project(user, project_id),
        store.get_run(user, chosen.run_id),
        store.list_candidates(user, chosen.run_id),
        store.list_issues(user, project_id, "open"),
    )
    return decision_record(project, run, chosen, candidates, issues, datetime.now(UTC).date())


async def title_of(host: Host, description: str) -> str:
    """A title for a project: the model's, or else the beginning of the description."""
    try:
        parts: dict[str, Any] = {"instructions": TITLE, "limits": Limits(rounds=1)}
        said = (await settled_agent(None, await host.model(), parts=parts).run(description)).text
    except (UnknownModel, ModelError):
        said = ""
    words = " ".join(said.split()).strip("\"'.#* ") if said.strip() and len(said) <= 2 * SHORT_TITLE else ""
    first = " ".join(description.split()).partition(". ")[0]
    return (words or first)[:SHORT_TITLE].strip() or "Untitled"
