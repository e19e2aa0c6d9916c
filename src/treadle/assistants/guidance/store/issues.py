"""Issues of a project: what was found wrong, and how it was resolved."""

from msgspec.structs import replace

from treadle.assistants.guidance.store.database import StoreMixin, run_to_completion
from treadle.assistants.guidance.store.rows import load_project_row, load_row, load_rows, row_to_value, value_to_row
from treadle.assistants.guidance.store.tables import candidates, issues, runs
from treadle.assistants.guidance.store.transaction import project_transaction, row_transaction
from treadle.assistants.guidance.store.validation import validate_value
from treadle.assistants.guidance.store.values import ProjectIssue, ResolutionStatus, new_id

ISSUE = "issue"


class IssuesMixin(StoreMixin):
    """Create, list, get and resolve issues."""

    @run_to_completion
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

    @run_to_completion
    async def list_issues(self, user: str, project_id: str, status: ResolutionStatus | None = None) -> list[ProjectIssue]:
        """Return the issues of a project, in order; those of one status, or all."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            conditions = [issues.c.project_id == project_id, *([] if status is None else [issues.c.resolution_status == status])]
            return [row_to_value(row, ProjectIssue) for row in await load_rows(connection, issues, *conditions)]

    @run_to_completion
    async def get_issue(self, user: str, issue_id: str) -> ProjectIssue:
        """Return an issue; raises `ItemNotFound`."""
        async with self._database.reading() as connection:
            return row_to_value(await load_row(connection, user, issues, issue_id, ISSUE), ProjectIssue)

    @run_to_completion
    async def resolve_issue(self, user: str, issue_id: str, status: ResolutionStatus = "resolved", note: str = "") -> ProjectIssue:
        """Set the resolution of an issue; `open` reopens it."""
        async with row_transaction(self._database, user, issues, issue_id, ISSUE) as (change, row):
            moment = None if status == "open" else change.moment
            issue = validate_value(
                replace(row_to_value(row, ProjectIssue), resolution_status=status, resolution_note=note, resolved_at=moment)
            )
            await change.set(issues, issue_id, **value_to_row(issue, issues))
            return issue
