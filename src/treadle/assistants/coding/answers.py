"""Answers of each job kind, as the model gives them, and as Markdown for people."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

ReviewVerdict = Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]
FindingSeverity = Literal["critical", "warning", "suggestion", "nit"]
TriageSeverity = Literal["critical", "high", "medium", "low", "info"]
TriageCategory = Literal["bug", "performance", "security", "dependency", "infrastructure", "test", "documentation"]

COMPLETION_PHRASE = "task complete"
MAX_SILENT_REPLIES = 2  # replies without a call, one after the other, that end a task
FINDING_SEVERITIES: tuple[FindingSeverity, ...] = ("critical", "warning", "suggestion", "nit")


def _description(words: str) -> Meta:
    return Meta(description=words)


class WorkReport(Struct, frozen=True):
    """What was done."""

    summary: Annotated[str, _description("What you changed and why, in a few sentences. The first one is the commit's message.")]
    done: Annotated[bool, _description("True if the task is finished and the tests pass; false if you could not finish it.")]

    @staticmethod
    def from_words(text: str, silent: int) -> dict[str, Any] | None:
        """Return a claim made in words: that the task is complete, or two replies without a call.

        The tests decide whether it holds.
        """
        return (
            {"summary": text.strip(), "done": True} if COMPLETION_PHRASE in text.lower() or silent >= MAX_SILENT_REPLIES else None
        )


class ReviewFinding(Struct, frozen=True):
    """One thing to say about a change."""

    severity: FindingSeverity
    message: Annotated[str, _description("What is wrong, what follows from it, and what to do.")]
    path: str = ""
    line: int = 0


class ReviewAnswer(Struct, frozen=True):
    """A review."""

    summary: Annotated[str, _description("What the change does, and what you think of it, in a few sentences.")]
    verdict: ReviewVerdict
    findings: tuple[ReviewFinding, ...] = ()


class TriageAnswer(Struct, frozen=True):
    """A report on something that went wrong."""

    severity: TriageSeverity
    category: TriageCategory
    summary: Annotated[str, _description("What goes wrong, in a sentence or two.")]
    root_cause: Annotated[str, _description("Why, as far as the code shows it; say so where you aren't certain.")]
    evidence: Annotated[tuple[str, ...], _description("What shows it: places as path:line, lines of logs.")] = ()
    affected: Annotated[tuple[str, ...], _description("Parts and files that are affected.")] = ()
    reproduction: str = ""
    fix: Annotated[str, _description("What to change, and where. Change nothing yourself.")] = ""


def correct_verdict(review: ReviewAnswer) -> ReviewAnswer:
    """Return the review with a verdict that fits its findings: nothing critical is approved."""
    critical = any(finding.severity == "critical" for finding in review.findings)
    if critical and review.verdict == "APPROVE":
        return ReviewAnswer(review.summary, "REQUEST_CHANGES", review.findings)
    return review


def format_review(review: ReviewAnswer) -> str:
    """Format the review, worst finding first, verdict last."""
    parts = [review.summary.strip()]
    for weight in FINDING_SEVERITIES:
        found = [finding for finding in review.findings if finding.severity == weight]
        if found:
            parts.append(f"## {weight.capitalize()}\n" + "\n".join(map(_format_finding, found)))
    return "\n\n".join([*parts, f"**{review.verdict}**"])


def _format_finding(finding: ReviewFinding) -> str:
    place = f"{finding.path}:{finding.line}" if finding.path and finding.line else finding.path
    return f"- `{place}`: {finding.message}" if place else f"- {finding.message}"


def format_triage(triage: TriageAnswer) -> str:
    """Format the report in eight sections; unknown facts are stated as unknown."""
    sections = {
        "Summary": triage.summary,
        "Severity": triage.severity,
        "Category": triage.category,
        "Root cause": triage.root_cause,
        "Evidence": _to_bullets(triage.evidence),
        "Affected": _to_bullets(triage.affected),
        "Reproduction": triage.reproduction,
        "Proposed fix": triage.fix,
    }
    return "\n\n".join(f"## {name}\n{text.strip() or 'Not known.'}" for name, text in sections.items())


def _to_bullets(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)
