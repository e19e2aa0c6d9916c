"""The project store: all its methods, each from the module of its concept, issues and provenance here.

Every method takes the user it acts for. What that user may not see is missing: `ItemNotFound`, and for projects
`ProjectNotFound`.
"""

from typing import Self

from msgspec.structs import replace

from treadle.assistants.guidance.store.candidates import CandidatesMixin
from treadle.assistants.guidance.store.chat_sessions import ChatSessionsMixin
from treadle.assistants.guidance.store.database import LoadShared, StoreMixin, in_any_store
from treadle.assistants.guidance.store.exports import ExportsMixin
from treadle.assistants.guidance.store.models import ProblemSpecMixin, WorldModelMixin
from treadle.assistants.guidance.store.projects import ProjectsMixin
from treadle.assistants.guidance.store.rows import load_project_row, load_row, load_rows, row_to_value, value_to_row
from treadle.assistants.guidance.store.runs import RunsMixin
from treadle.assistants.guidance.store.tables import candidates, issues, provenance, runs
from treadle.assistants.guidance.store.transaction import project_transaction, row_transaction
from treadle.assistants.guidance.store.validation import validate_value
from treadle.assistants.guidance.store.values import ProjectIssue, Provenance, ResolutionStatus, new_id

ISSUE = "issue"


class IssuesMixin(StoreMixin):
    """Create, list, get and resolve issues."""

    @in_any_store
    async def create_issue(self, user: str, issue: ProjectIssue, *, issue_id: str = "") -> ProjectIssue:
        """Create an open issue of `issue.project_id`; with an id given by the caller, once."""
        fresh = replace(issue, id=issue_id or new_id(), resolution_status="open", resolution_note="", resolved_at=None)
        fresh = validate_value(fresh)
        async with project_transaction(self._database, user, issue.project_id) as change:
            if (row := await change.there(issues, issue_id, ISSUE)) is not None:
                return row_to_value(row, ProjectIssue)
            await change.expect(runs, fresh.run_id, "run")
            await change.expect(candidates, fresh.candidate_id, "candidate")
            await change.add(issues, fresh)
        return fresh

    @in_any_store
    async def list_issues(self, user: str, project_id: str, status: ResolutionStatus | None = None) -> list[ProjectIssue]:
        """Return the issues of a project, in order; those of one status, or all."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            conditions = [issues.c.project_id == project_id, *([] if status is None else [issues.c.resolution_status == status])]
            return [row_to_value(row, ProjectIssue) for row in await load_rows(connection, issues, *conditions)]

    @in_any_store
    async def get_issue(self, user: str, issue_id: str) -> ProjectIssue:
        """Return an issue; raises `ItemNotFound`."""
        async with self._database.reading() as connection:
            return row_to_value(await load_row(connection, user, issues, issue_id, ISSUE), ProjectIssue)

    @in_any_store
    async def resolve_issue(self, user: str, issue_id: str, status: ResolutionStatus = "resolved", note: str = "") -> ProjectIssue:
        """Set the resolution of an issue; `open` reopens it."""
        async with row_transaction(self._database, user, issues, issue_id, ISSUE) as (change, row):
            moment = None if status == "open" else change.moment
            issue = validate_value(
                replace(row_to_value(row, ProjectIssue), resolution_status=status, resolution_note=note, resolved_at=moment)
            )
            await change.set(issues, issue_id, **value_to_row(issue, issues))
            return issue


class ProvenanceMixin(StoreMixin):
    """Read the provenance of a project, and add to it."""

    @in_any_store
    async def list_provenance(
        self, user: str, project_id: str, last: int | None = None, *, subject: str | None = None
    ) -> list[Provenance]:
        """Return the provenance of a project, in order: the last few entries, or all; of one subject, or of all."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            about = [] if subject is None else [provenance.c.subject == subject]
            rows = await load_rows(connection, provenance, provenance.c.project_id == project_id, *about, last=last)
            return [row_to_value(row, Provenance) for row in rows]

    @in_any_store
    async def add_provenance(self, user: str, project_id: str, why: Provenance) -> Provenance:
        """Store the provenance of something that the store doesn't know of itself, such as a recommendation."""
        async with project_transaction(self._database, user, project_id) as change:
            return await change.account(why, why.subject, why.version)


class Store(
    ProjectsMixin,
    ChatSessionsMixin,
    ProblemSpecMixin,
    WorldModelMixin,
    RunsMixin,
    CandidatesMixin,
    IssuesMixin,
    ProvenanceMixin,
    ExportsMixin,
):
    """The project store. Belongs to the event loop it was opened in; close it, or use it in an `async with`."""

    def with_shared(self, shared: LoadShared) -> Self:
        """Return this store with the projects that others share with its user."""
        return type(self)(self._database, shared)

    async def close(self) -> None:
        """Close the database."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
