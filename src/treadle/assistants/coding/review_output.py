"""Output of a review: as SARIF 2.1.0 for code scanning services and editors, and as comments on a pull request.

A review is posted by one call of a tool that shows exactly what is posted, needs approval, and is made at most once: a mark in the
review, which readers don't see, says which job made it, so that a call that was interrupted is found by it.
"""

from collections.abc import Generator, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import msgspec

from treadle import Preview, RunContext, __version__, ask, tool
from treadle.assistants.coding.answers import FINDING_SEVERITIES, PlacedFinding, format_finding_text
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep, last_turn
from treadle.toolsets import FunctionToolset
from treadle.workspace import GitHub, GitHubReference, GitHubReviewComment

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"critical": "error", "warning": "warning", "suggestion": "note", "nit": "note"}
_RULES = {
    "critical": "A defect with which the change must not be merged",
    "warning": "A defect that should be fixed",
    "suggestion": "An improvement",
    "nit": "A detail",
}
TOOL = "post_review"
_REASON = "Others see what is posted to GitHub."


def to_sarif(findings: Sequence[PlacedFinding], notes: Sequence[str], *, problem: str = "") -> dict[str, Any]:
    """Return a SARIF log.

    notes    what the review left out, each a sentence
    problem  why there is no review
    """
    said = [_to_notification("warning", note) for note in notes] + ([_to_notification("error", problem)] if problem else [])
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "Treadle", "version": __version__, "rules": [_to_rule(name) for name in FINDING_SEVERITIES]}},
        "invocations": [{"executionSuccessful": not problem, "toolExecutionNotifications": said}],
        "results": [_to_result(finding) for finding in findings],
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _to_rule(severity: str) -> dict[str, Any]:
    words = {"shortDescription": {"text": _RULES[severity]}, "defaultConfiguration": {"level": _LEVELS[severity]}}
    return {"id": f"review/{severity}", "name": severity.capitalize(), **words}


def _to_notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}


def _to_result(finding: PlacedFinding) -> dict[str, Any]:
    file = {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": finding.line, "endLine": finding.end_line}
    snippet = {} if finding.anchor == "hunk" else {"snippet": {"text": finding.quote}}
    place = {"artifactLocation": file, **({"region": {**region, **snippet}} if finding.line else {})}
    result: dict[str, Any] = {
        "ruleId": f"review/{finding.severity}",
        "ruleIndex": FINDING_SEVERITIES.index(finding.severity),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.title}\n\n{finding.explanation}".strip(), "markdown": format_finding_text(finding)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"treadleFinding/v1": _fingerprint(finding)},
        "properties": {"anchor": finding.anchor, "severity": finding.severity},
    }
    if finding.suggestion:
        change = {"deletedRegion": region, "insertedContent": {"text": f"{finding.suggestion}\n"}}
        fix = {"description": {"text": finding.title}, "artifactChanges": [{"artifactLocation": file, "replacements": [change]}]}
        result["fixes"] = [fix]
    return result


def _fingerprint(finding: PlacedFinding) -> str:
    """Return what stays the same when lines above the finding move."""
    text = "\0".join([finding.path, "".join(finding.quote.split()), finding.severity])
    return sha256(text.encode(errors="replace")).hexdigest()[:32]


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
