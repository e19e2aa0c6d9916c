"""Posts a review to a pull request: one call of a tool that shows exactly what is posted, needs approval, and is made at most once.

A mark in the review, which readers don't see, says which job made it: a call that was interrupted is found by it.
"""

from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from treadle import Preview, RunContext, ask, tool
from treadle.assistants.coding.answers import PlacedFinding, format_finding_text
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep, last_turn
from treadle.toolsets import FunctionToolset
from treadle.workspace import GitHub, GitHubReference, GitHubReviewComment

TOOL = "post_review"
_REASON = "Others see what is posted to GitHub."


def make_posting_toolset(github: GitHub, job: str) -> FunctionToolset:
    """Return the tool that posts the review of a job."""
    posting = _ReviewPosting(github, mark_of(job))
    make = tool(retry="checkable", reconcile=posting.was_posted, preview=posting.to_post, sequential=True)
    return FunctionToolset([make(posting.post_review)], "github")


def posting_rules() -> Sequence[Any]:
    """Return the policy: a person is asked."""
    return (ask(TOOL, reason=_REASON),)


def plan_posting(request: Request, arguments: dict[str, Any]) -> Generator[PlanQuestion, str, PlanStep]:
    """Make the one call, and end with its result. No model is asked."""
    _, results = last_turn(request.history)
    return PlanStep(text=results[-1].content) if results else PlanStep(((TOOL, arguments),))
    yield  # a plan is a generator


def posting_arguments(
    reference: GitHubReference, commit: str, output: dict[str, Any], findings: Sequence[PlacedFinding], job: str
) -> dict[str, Any]:
    """Return the arguments of the call: findings at lines as comments, all others in the text of the review."""
    placed = [finding for finding in findings if finding.anchor == "line"]
    others = [finding for finding in findings if finding.anchor != "line"]
    listed = [f"- `{finding.path}`, code that was removed: {format_finding_text(finding)}" for finding in others]
    body = "\n\n".join(filter(None, [output["summary"], "\n".join(listed), f"Verdict: {output['verdict']}", mark_of(job)]))
    comments = [msgspec.to_builtins(_to_comment(finding)) for finding in placed]
    return {"repository": reference.repository, "number": reference.number, "commit": commit, "body": body, "comments": comments}


def mark_of(job: str) -> str:
    """Return the mark of a job in a review."""
    return f"<!-- treadle review {job} -->"


def _to_comment(finding: PlacedFinding) -> GitHubReviewComment:
    start = finding.line if finding.end_line > finding.line else 0
    return GitHubReviewComment(
        finding.path, finding.end_line, format_finding_text(finding), "RIGHT", start, "RIGHT" if start else ""
    )


class _ReviewPosting:
    def __init__(self, github: GitHub, mark: str) -> None:
        self._github = github
        self._mark = mark

    async def post_review(
        self, ctx: RunContext[Any], repository: str, number: int, commit: str, body: str, comments: list[dict[str, Any]]
    ) -> str:
        """Post a review with line comments to a pull request. The person is asked first.

        :param repository: the repository
        :param number: the pull request
        :param commit: the commit that was reviewed
        :param body: the text of the review
        :param comments: comments at lines
        """
        reference = GitHubReference(repository, number)
        there = await self._github.find_review(reference, self._mark)
        if there:
            return f"The review was posted already: {there}"
        url = await self._github.post_review(reference, commit, body, msgspec.convert(comments, tuple[GitHubReviewComment, ...]))
        return f"Posted the review: {url}"

    async def was_posted(
        self, ctx: RunContext[Any], repository: str, number: int, commit: str, body: str, comments: list[dict[str, Any]]
    ) -> str | None:
        """Return the result of a call that was interrupted, if the review is there."""
        there = await self._github.find_review(GitHubReference(repository, number), self._mark)
        return f"Posted the review: {there}" if there else None

    async def to_post(
        self, ctx: RunContext[Any], repository: str, number: int, commit: str, body: str, comments: list[dict[str, Any]]
    ) -> Preview:
        """Show exactly what is posted."""
        head = f"To pull request {number} of {repository}, at commit {commit[:10]}, as a comment:"
        placed = msgspec.convert(comments, tuple[GitHubReviewComment, ...])
        parts = [f"{each.path}:{each.start_line or each.line}\n{each.body}" for each in placed]
        return Preview("\n\n".join([head, body, *parts]))
