"""What each kind of work answers, as its model gives it, and as Markdown for people."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Verdict = Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]
Weight = Literal["critical", "warning", "suggestion", "nit"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Category = Literal["bug", "performance", "security", "dependency", "infrastructure", "test", "documentation"]

COMPLETE = "task complete"
MOST_SILENT = 2  # replies without a call, one after the other, that end a task
WEIGHTS: tuple[Weight, ...] = ("critical", "warning", "suggestion", "nit")


def _about(words: str) -> Meta:
    return Meta(description=words)


class Report(Struct, frozen=True):
    """What was done."""

    summary: Annotated[str, _about("What you changed and why, in a few sentences. The first one is the commit's message.")]
    done: Annotated[bool, _about("True if the task is finished and the tests pass; false if you could not finish it.")]

    @staticmethod
    def from_words(text: str, silent: int) -> dict[str, Any] | None:
        """A claim in words: that the task is complete, or two replies without a call. Whether it holds is for the tests to say."""
        return {"summary": text.strip(), "done": True} if COMPLETE in text.lower() or silent >= MOST_SILENT else None


class Finding(Struct, frozen=True):
    """One thing to say about a change."""

    severity: Weight
    message: Annotated[str, _about("What is wrong, what follows from it, and what to do.")]
    path: str = ""
    line: int = 0


class ReviewAnswer(Struct, frozen=True):
    """A review."""

    summary: Annotated[str, _about("What the change does, and what you think of it, in a few sentences.")]
    verdict: Verdict
    findings: tuple[Finding, ...] = ()


class TriageAnswer(Struct, frozen=True):
    """A report on something that went wrong."""

    severity: Severity
    category: Category
    summary: Annotated[str, _about("What goes wrong, in a sentence or two.")]
    root_cause: Annotated[str, _about("Why, as far as the code shows it; say so where you aren't certain.")]
    evidence: Annotated[tuple[str, ...], _about("What shows it: places as path:line, lines of logs.")] = ()
    affected: Annotated[tuple[str, ...], _about("Parts and files that are affected.")] = ()
    reproduction: str = ""
    fix: Annotated[str, _about("What to change, and where. Change nothing yourself.")] = ""


def sound(review: ReviewAnswer) -> ReviewAnswer:
    """A review whose verdict fits its findings: nothing critical is approved."""
    critical = any(finding.severity == "critical" for finding in review.findings)
    if critical and review.verdict == "APPROVE":
        return ReviewAnswer(review.summary, "REQUEST_CHANGES", review.findings)
    return review


def review_text(review: ReviewAnswer) -> str:
    """The review, the worst first, the verdict last."""
    parts = [review.summary.strip()]
    for weight in WEIGHTS:
        found = [finding for finding in review.findings if finding.severity == weight]
        if found:
            parts.append(f"## {weight.capitalize()}\n" + "\n".join(map(_finding_line, found)))
    return "\n\n".join([*parts, f"**{review.verdict}**"])


def _finding_line(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line}" if finding.path and finding.line else finding.path
    return f"- `{place}`: {finding.message}" if place else f"- {finding.message}"


def triage_text(triage: TriageAnswer) -> str:
    """The report, in eight sections; what isn't known is said."""
    sections = {
        "Summary": triage.summary,
        "Severity": triage.severity,
        "Category": triage.category,
        "Root cause": triage.root_cause,
        "Evidence": _listed(triage.evidence),
        "Affected": _listed(triage.affected),
        "Reproduction": triage.reproduction,
        "Proposed fix": triage.fix,
    }
    return "\n\n".join(f"## {name}\n{text.strip() or 'Not known.'}" for name, text in sections.items())


def _listed(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)
