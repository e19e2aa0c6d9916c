"""Answers of each job kind, as the model gives them, and as Markdown for people."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

ReviewVerdict = Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]
FindingSeverity = Literal["critical", "warning", "suggestion", "nit"]
FindingAnchor = Literal["line", "hunk"]
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
    """One defect in a change, as a model reports it."""

    severity: FindingSeverity
    title: Annotated[str, _description("What is wrong, in one short sentence.")]
    explanation: Annotated[str, _description("Why it is wrong, what follows from it, and what to do.")]
    path: Annotated[str, _description("The file, as the diff names it.")]
    quote: Annotated[str, _description("The line or lines of code that are wrong, copied exactly from the diff.")]
    line: Annotated[int, _description("The first of these lines: its number in the new file, as the diff shows it.")] = 0
    suggestion: Annotated[str, _description("Code to replace exactly the quoted lines; empty if there is none.")] = ""


class PlacedFinding(Struct, frozen=True):
    """A finding whose place was checked.

    line, end_line  the quoted lines in the new file; 0 if the file was deleted
    anchor          `line` if the quoted code is there; `hunk` if it was removed, so that `line` is where it was
    """

    severity: FindingSeverity
    title: str
    explanation: str
    path: str
    line: int
    end_line: int
    quote: str
    suggestion: str = ""
    anchor: FindingAnchor = "line"


class ReviewAnswer(Struct, frozen=True):
    """A review."""

    summary: Annotated[str, _description("What the change does, and what you think of it, in a few sentences.")]
    verdict: ReviewVerdict
    findings: tuple[ReviewFinding, ...] = ()
    not_reviewed: Annotated[tuple[str, ...], _description("Places that you could not review, as path:line; usually none.")] = ()


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


def correct_verdict(verdict: ReviewVerdict, findings: Sequence[PlacedFinding]) -> ReviewVerdict:
    """Return a verdict that fits the findings: nothing critical is approved, and changes are requested only for a finding."""
    if verdict == "APPROVE" and any(finding.severity == "critical" for finding in findings):
        return "REQUEST_CHANGES"
    return "COMMENT" if verdict == "REQUEST_CHANGES" and not findings else verdict


def is_at_least(severity: FindingSeverity, least: FindingSeverity) -> bool:
    """Return whether a severity is as bad as another one, or worse."""
    return FINDING_SEVERITIES.index(severity) <= FINDING_SEVERITIES.index(least)


def format_review(summary: str, verdict: ReviewVerdict, findings: Sequence[PlacedFinding], notes: Sequence[str] = ()) -> str:
    """Format a review, worst finding first, then notes on what was left out of it, verdict last."""
    parts = [summary.strip()]
    for weight in FINDING_SEVERITIES:
        found = [finding for finding in findings if finding.severity == weight]
        if found:
            parts.append(f"## {weight.capitalize()}\n" + "\n".join(map(_format_finding, found)))
    return "\n\n".join([*parts, *notes, f"**{verdict}**"])


def _format_finding(finding: PlacedFinding) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    removed = " (code that was removed there)" if finding.anchor == "hunk" else ""
    return f"- `{place}`{removed}: {format_finding_text(finding)}"


def format_finding_text(finding: PlacedFinding) -> str:
    """Return a finding's title, explanation and suggestion as Markdown."""
    title = finding.title.strip()
    words = " ".join(filter(None, [title if title.endswith((".", "!", "?")) else f"{title}.", finding.explanation.strip()]))
    return words if not finding.suggestion else f"{words}\n\n```suggestion\n{finding.suggestion}\n```"


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
