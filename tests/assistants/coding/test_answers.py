"""Reviews and reports as people read them: the worst first, the verdict last, nothing critical approved."""

from typing import Any

from treadle.assistants.coding.answers import (
    FindingSeverity,
    PlacedFinding,
    TriageAnswer,
    correct_verdict,
    format_review,
    format_triage,
)


def finding(severity: FindingSeverity, title: str, line: int = 7, **more: Any) -> PlacedFinding:
    return PlacedFinding(severity, title, "So.", "a.py", line, line, "x = 1", **more)


def test_a_review_tells_the_worst_first_and_ends_with_its_verdict() -> None:
    found = [finding("nit", "Typo."), finding("critical", "It loses data", anchor="hunk"), finding("nit", "Gone", 0)]
    assert format_review("Adds a cache.", "COMMENT", found, ["2 findings were dropped."]) == (
        "Adds a cache.\n\n## Critical\n- `a.py:7` (code that was removed there): It loses data. So.\n\n"
        "## Nit\n- `a.py:7`: Typo. So.\n- `a.py`: Gone. So.\n\n2 findings were dropped.\n\n**COMMENT**"
    )
    assert "```suggestion\nx = 2\n```" in format_review("", "COMMENT", [finding("nit", "Typo", suggestion="x = 2")])


def test_what_is_critical_is_not_approved() -> None:
    critical = (finding("critical", "It loses data"),)
    assert correct_verdict("APPROVE", critical) == "REQUEST_CHANGES"
    assert correct_verdict("COMMENT", critical) == "COMMENT"
    assert correct_verdict("APPROVE", ()) == "APPROVE"
    assert correct_verdict("REQUEST_CHANGES", ()) == "COMMENT"


def test_a_report_has_eight_sections_and_says_what_is_not_known() -> None:
    text = format_triage(TriageAnswer("high", "bug", "It hangs.", "A lock is taken twice.", evidence=("a.py:3",)))
    assert text.count("## ") == 8
    assert "## Evidence\n- a.py:3" in text
    assert "## Proposed fix\nNot known." in text
