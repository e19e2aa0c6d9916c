"""HTTP API for runs, candidates, issues and members of a project.

Runs continue in the background; a server that starts resumes what the previous one left.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict
from starlette.responses import Response

from treadle import Limits
from treadle.assistant import Host, Share, configured_agent
from treadle.assistants.guidance.comparison import Comparison, build_comparison, format_decision_record
from treadle.assistants.guidance.project_runs import (
    BackgroundRuns,
    EvaluationInput,
    RunNotReady,
    cancel_project_run,
    create_project_run,
    find_run_job,
    reconcile_runs,
    start_draft_run,
)
from treadle.assistants.guidance.projects import load_shares, project_user_of, save_shares, share_project, unshare_project
from treadle.assistants.guidance.recording import without_snapshot
from treadle.assistants.guidance.run_tools import propose_candidate
from treadle.assistants.guidance.store.errors import ItemNotFound
from treadle.assistants.guidance.store.values import (
    Candidate,
    IssueType,
    Mode,
    Project,
    ProjectIssue,
    ResolutionStatus,
    Run,
    Severity,
)
from treadle.assistants.guidance.tools import ProjectScope
from treadle.errors import ModelError, UnknownModel
from treadle.routes import Accepted, Created, Returns, delete, get, post, put

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

NOT_FOUND_ERRORS = {404: "there is nothing by that name that they may see"}
INVALID_ERRORS = {422: "it can't be kept like that"}
NOT_READY_ERRORS = {409: "it can't start; the sentence says what is in the way", 503: "no model can be had"}
MAX_TITLE = 60
TITLE_PROMPT = "Give this project a title of at most six words. Reply with the title alone."


class RunStart(Struct, frozen=True):
    """A run to start. The same `ui_trigger_id` sent twice starts one run."""

    mode: Mode = "full_search"
    parameters: dict[str, Any] = {}
    chat_session_id: str | None = None
    recommended_message_id: str | None = None
    recommended_config_snapshot: dict[str, Any] | None = None
    ui_trigger_id: str | None = None
    ui_trigger_source: str | None = "api"


class ListedRun(Run, frozen=True, kw_only=True):
    """A run in a list.

    is_under_way    a process is executing it now
    can_resume      it failed, was interrupted, or waits with a person's candidates: it can be resumed
    """

    is_under_way: bool
    can_resume: bool


class NewCandidate(Struct, frozen=True):
    """A candidate that a person proposes, for a run or for a new one."""

    mechanism_description: Annotated[str, Meta(min_length=1, examples=["Signals give way to late buses."])]
    run_id: str = ""


class NewIssue(Struct, frozen=True):
    """An issue to report."""

    description: Annotated[str, Meta(min_length=1, examples=["The model has no weather."])]
    type: IssueType = "model"
    severity: Severity = "important"
    run_id: str | None = None
    candidate_id: str | None = None


class IssueResolution(Struct, frozen=True):
    """How an issue was resolved."""

    status: ResolutionStatus = "resolved"
    note: str = ""


class IssueQuery(Struct, frozen=True):
    """Filter for the list of issues."""

    status: ResolutionStatus | None = None


class NewMember(Struct, frozen=True):
    """A user who may see and change a project from now on."""

    user: Annotated[str, Meta(min_length=1, examples=["bo"])]


ShareNames = Annotated[list[Annotated[str, Meta(min_length=1, max_length=200)]], Meta(max_length=100)]


class ProjectShares(Struct, frozen=True, forbid_unknown_fields=True):
    """The users and groups of the server who may see a project; `editors` and `editor_groups` may also change it."""

    users: ShareNames = []
    groups: ShareNames = []
    editors: ShareNames = []
    editor_groups: ShareNames = []


class ProjectDescription(Struct, frozen=True):
    """A project's description; its title is derived from it, unless one is suggested."""

    description: Annotated[str, Meta(min_length=1, examples=["A town wants its buses to be on time."])]
    suggested_title: str = ""


class ProjectRunsApi:
    """The request handlers, for one user."""

    def __init__(self, host: Host, store: "Callable[[], Awaitable[Store]]") -> None:
        self._host = host
        self._user = project_user_of(host)
        self._store = store
        self._background = BackgroundRuns(host)

    def take_up(self) -> None:
        """Resume the runs that were running when the server stopped."""
        self._background.take_up()

    async def _open_scope(self) -> ProjectScope:
        return ProjectScope(self._host, await self._store())

    async def _load_run(self, project_id: str, run_id: str) -> Run:
        store = await self._store()
        (run,) = await reconcile_runs(self._host, store, [await store.get_run(self._user, run_id)])
        if run.project_id != project_id:
            raise ItemNotFound(f"There is no run {run_id!r} in this project.")
        return run

    @get("/projects/{project_id}/runs", errors=NOT_FOUND_ERRORS, returns="them")
    async def runs(self, project_id: str) -> list[ListedRun]:
        """List the runs of a project, in order."""
        store = await self._store()
        self.take_up()
        listed = await self._list_runs(store, project_id)
        if any(each.status == "running" and not each.is_under_way for each in listed):  # it may have ended after it was read
            listed = await self._list_runs(store, project_id)
        return listed

    async def _list_runs(self, store: "Store", project_id: str) -> list[ListedRun]:
        found = await reconcile_runs(self._host, store, await store.list_runs(self._user, project_id))
        return await asyncio.to_thread(lambda: [self._to_listed_run(each) for each in found])

    def _to_listed_run(self, run: Run) -> ListedRun:
        job = None if run.status in ("completed", "cancelled") else find_run_job(self._host, run.id)
        is_under_way = self._background.has(run.id) or (job is not None and job.state == "running")
        is_draft = job is None and run.status == "created" and run.candidate_count > 0
        can_resume = is_draft or (job is not None and job.state in ("pending", "waiting", "failed"))
        return ListedRun(**asdict(without_snapshot(run)), is_under_way=is_under_way, can_resume=can_resume and not is_under_way)

    @post(
        "/projects/{project_id}/runs",
        errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS, **NOT_READY_ERRORS},
        returns="the run, which goes on in the background",
    )
    async def start(self, project_id: str, body: RunStart) -> Accepted[Run]:
        """Start a run: candidates are proposed, and scored against the constraints."""
        wanted = EvaluationInput(project_id, **asdict(body))
        run = await create_project_run(self._host, await self._store(), wanted)
        if run.status == "created":  # a trigger that comes again doesn't resume a run that failed
            self._background.begin(run.id)
        return without_snapshot(run)

    @get("/projects/{project_id}/runs/{run_id}", errors=NOT_FOUND_ERRORS, returns="the run, with what it evaluates against")
    async def run(self, project_id: str, run_id: str) -> Run:
        """Get a run."""
        return await self._load_run(project_id, run_id)

    @post(
        "/projects/{project_id}/runs/{run_id}/resume",
        errors={**NOT_FOUND_ERRORS, **NOT_READY_ERRORS},
        returns="the run, which goes on",
    )
    async def resume(self, project_id: str, run_id: str) -> Accepted[Run]:
        """Resume a run that failed or was interrupted, or start one that was created for a person's candidates."""
        run, store = await self._load_run(project_id, run_id), await self._store()
        if find_run_job(self._host, run.id) is None:
            await start_draft_run(self._host, store, run)
        elif run.status in ("completed", "cancelled"):
            raise RunNotReady(f"Run {run.id} is {run.status}; start another.")
        await self._host.model()
        self._background.begin(run.id)
        return without_snapshot(run)

    @post("/projects/{project_id}/runs/{run_id}/cancel", errors=NOT_FOUND_ERRORS, returns="the run")
    async def cancel(self, project_id: str, run_id: str) -> Accepted[Run]:
        """Cancel a run; what it has recorded stays."""
        run = await self._load_run(project_id, run_id)
        return without_snapshot(await cancel_project_run(self._host, await self._store(), run))

    @get("/projects/{project_id}/runs/{run_id}/candidates", errors=NOT_FOUND_ERRORS, returns="the candidates")
    async def run_candidates(self, project_id: str, run_id: str) -> list[Candidate]:
        """List the candidates of a run, with their scores."""
        return await (await self._store()).list_candidates(self._user, (await self._load_run(project_id, run_id)).id)

    @get("/projects/{project_id}/runs/{run_id}/comparison", errors=NOT_FOUND_ERRORS, returns="them, the best first")
    async def comparison(self, project_id: str, run_id: str) -> Comparison:
        """Compare the candidates of a run by constraint."""
        run = await self._load_run(project_id, run_id)
        return build_comparison(run, await (await self._store()).list_candidates(self._user, run.id))

    @get("/projects/{project_id}/candidates", errors=NOT_FOUND_ERRORS, returns="the candidates")
    async def candidates(self, project_id: str) -> list[Candidate]:
        """List the candidates of all runs of a project."""
        return await (await self._store()).list_project_candidates(self._user, project_id)

    @post("/projects/{project_id}/candidates", errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS}, returns="the candidate")
    async def propose(self, project_id: str, body: NewCandidate) -> Created[Candidate]:
        """Propose a candidate; its run scores it when it is started."""
        await (await self._store()).get_project(self._user, project_id)
        return await propose_candidate(await self._open_scope(), project_id, body.mechanism_description, body.run_id)

    @get("/projects/{project_id}/candidates/{candidate_id}/adr", errors=NOT_FOUND_ERRORS)
    async def adr(self, project_id: str, candidate_id: str) -> Annotated[Response, Returns(200, "Markdown", "text/markdown")]:
        """Get the decision for a candidate, as an architecture decision record."""
        text = await load_decision_record(await self._open_scope(), project_id, candidate_id)
        name = {"content-disposition": f'attachment; filename="adr-{candidate_id[:8]}.md"'}
        return Response(text, media_type="text/markdown", headers=name)

    @get("/projects/{project_id}/issues", errors=NOT_FOUND_ERRORS, returns="the issues")
    async def issues(self, project_id: str, query: IssueQuery) -> list[ProjectIssue]:
        """List the issues of a project."""
        return await (await self._store()).list_issues(self._user, project_id, query.status)

    @post("/projects/{project_id}/issues", errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS}, returns="the issue")
    async def add_issue(self, project_id: str, body: NewIssue) -> Created[ProjectIssue]:
        """Report an issue."""
        issue = ProjectIssue(
            project_id, body.type, body.severity, body.description, run_id=body.run_id, candidate_id=body.candidate_id
        )
        return await (await self._store()).create_issue(self._user, issue)

    @get("/issues/{issue_id}", errors=NOT_FOUND_ERRORS, returns="the issue")
    async def issue(self, issue_id: str) -> ProjectIssue:
        """Get an issue."""
        return await (await self._store()).get_issue(self._user, issue_id)

    @post("/issues/{issue_id}/resolve", errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS}, returns="the issue")
    async def resolve(self, issue_id: str, body: IssueResolution) -> ProjectIssue:
        """Resolve an issue."""
        return await (await self._store()).resolve_issue(self._user, issue_id, body.status, body.note)

    @post(
        "/projects/{project_id}/members",
        errors={**NOT_FOUND_ERRORS, **INVALID_ERRORS, 403: "it belongs to another user"},
        returns="the project",
    )
    async def share(self, project_id: str, body: NewMember) -> Project:
        """Let another user see and change a project."""
        return await share_project(self._host, await self._store(), project_id, body.user)

    @delete(
        "/projects/{project_id}/members/{name}",
        errors={**NOT_FOUND_ERRORS, 403: "it belongs to another user"},
        returns="they see it no more",
    )
    async def unshare(self, project_id: str, name: str) -> None:
        """Stop sharing a project with a user."""
        await unshare_project(self._host, await self._store(), project_id, name)

    @get("/projects/{project_id}/shares", errors={**NOT_FOUND_ERRORS, 403: "it belongs to another user"}, returns="the shares")
    async def shares(self, project_id: str) -> ProjectShares:
        """List the users and groups of the server who may see, or also change, a project of yours."""
        return _to_project_shares(await load_shares(self._host, await self._store(), project_id))

    @put(
        "/projects/{project_id}/shares",
        errors={**NOT_FOUND_ERRORS, 403: "it belongs to another user", 422: "no such user"},
        returns="the shares",
    )
    async def set_shares(self, project_id: str, body: ProjectShares) -> ProjectShares:
        """Set the users and groups of the server who may see, or also change, a project of yours; all others can't any more."""
        wanted = [
            *[Share(name) for name in body.users],
            *[Share(name, is_group=True) for name in body.groups],
            *[Share(name, can_edit=True) for name in body.editors],
            *[Share(name, is_group=True, can_edit=True) for name in body.editor_groups],
        ]
        return _to_project_shares(await save_shares(self._host, await self._store(), project_id, wanted))

    @post("/projects/from-description", errors=INVALID_ERRORS, returns="the project")
    async def from_description(self, body: ProjectDescription) -> Created[Project]:
        """Create a project from its description: with a title, a conversation, and the description as its first message."""
        store = await self._store()
        title = body.suggested_title.strip() or await suggest_title(self._host, body.description)
        project = await store.create_project(self._user, title, body.description)
        session = await store.create_chat_session(self._user, project.id, "Main Chat")
        await store.add_message(self._user, session.id, "user", body.description)
        return project


def _to_project_shares(shares: Sequence[Share]) -> ProjectShares:
    def names(*, is_group: bool, can_edit: bool) -> list[str]:
        return [each.grantee for each in shares if (each.is_group, each.can_edit) == (is_group, can_edit)]

    return ProjectShares(
        users=names(is_group=False, can_edit=False),
        groups=names(is_group=True, can_edit=False),
        editors=names(is_group=False, can_edit=True),
        editor_groups=names(is_group=True, can_edit=True),
    )


async def load_decision_record(scope: ProjectScope, project_id: str, candidate_id: str) -> str:
    """Return the architecture decision record for a candidate of a project."""
    store, user = scope.store, scope.user
    chosen = await store.get_candidate(user, candidate_id)
    if chosen.project_id != project_id:
        raise ItemNotFound(f"There is no candidate {candidate_id!r} in this project.")
    project, run, candidates, issues = await asyncio.gather(
        store.get_project(user, project_id),
        store.get_run(user, chosen.run_id),
        store.list_candidates(user, chosen.run_id),
        store.list_issues(user, project_id, "open"),
    )
    return format_decision_record(project, run, chosen, candidates, issues, datetime.now(UTC).date())


async def suggest_title(host: Host, description: str) -> str:
    """Return a title for a project: the model's, or else the beginning of the description."""
    try:
        parts: dict[str, Any] = {"instructions": TITLE_PROMPT, "limits": Limits(rounds=1)}
        said = (await configured_agent(None, await host.model(), parts=parts).run(description)).text
    except (UnknownModel, ModelError):
        said = ""
    words = " ".join(said.split()).strip("\"'.#* ") if said.strip() and len(said) <= 2 * MAX_TITLE else ""
    first = " ".join(description.split()).partition(". ")[0]
    return (words or first)[:MAX_TITLE].strip() or "Untitled"
