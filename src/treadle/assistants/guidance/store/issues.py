"""Issues of a project: what is found wrong, and what became of it."""

from msgspec.structs import replace

from treadle.assistants.guidance.store.change import changing, changing_one
from treadle.assistants.guidance.store.checks import checked
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row, row_by_id, row_of, rows_in_order, value_of
from treadle.assistants.guidance.store.tables import candidates, issues, runs
from treadle.assistants.guidance.store.values import Issue, ResolutionStatus, new_id
from treadle.assistants.guidance.store.whole import whole

ISSUE = "issue"


class Issues(Part):
    """Create, list, get and resolve issues."""

    @whole
    async def create_issue(self, user: str, issue: Issue, *, issue_id: str = "") -> Issue:
        """A new issue of `issue.project_id`, which is open; with an id of the caller's, once."""
        fresh = replace(issue, id=issue_id or new_id(), resolution_status="open", resolution_note="", resolved_at=None)
        fresh = checked(fresh)
        async with changing(self._database, user, issue.project_id) as change:
            if (row := await change.there(issues, issue_id, ISSUE)) is not None:
                return value_of(row, Issue)
            await change.expect(runs, fresh.run_id, "run")
            await change.expect(candidates, fresh.candidate_id, "candidate")
            await change.add(issues, fresh)
        return fresh

    @whole
    async def list_issues(self, user: str, project_id: str, status: ResolutionStatus | None = None) -> list[Issue]:
        """The issues of a project, in order; those of one status, or all."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            conditions = [issues.c.project_id == project_id, *([] if status is None else [issues.c.resolution_status == status])]
            return [value_of(row, Issue) for row in await rows_in_order(connection, issues, *conditions)]

    @whole
    async def get_issue(self, user: str, issue_id: str) -> Issue:
        """An issue, or `NotThere`."""
        async with self._database.reading() as connection:
            return value_of(await row_by_id(connection, user, issues, issue_id, ISSUE), Issue)

    @whole
    async def resolve_issue(self, user: str, issue_id: str, status: ResolutionStatus = "resolved", note: str = "") -> Issue:
        """Say what became of an issue; `open` opens it again."""
        async with changing_one(self._database, user, issues, issue_id, ISSUE) as (change, row):
            moment = None if status == "open" else change.moment
            issue = checked(replace(value_of(row, Issue), resolution_status=status, resolution_note=note, resolved_at=moment))
            await change.set(issues, issue_id, **row_of(issue, issues))
            return issue
