"""Reviews and reports as people read them: the worst first, the verdict last, nothing critical approved."""

from treadle.assistants.coding.answers import (
    ReviewAnswer,
    ReviewFinding,
    TriageAnswer,
    correct_verdict,
    format_review,
    format_triage,
)


def test_a_review_tells_the_worst_first_and_ends_with_its_verdict() -> None:
    review = ReviewAnswer(
        "Adds a cache.", "COMMENT", (ReviewFinding("nit", "typo"), ReviewFinding("critical", "It loses data.", "a.py", 7))
    )
    assert format_review(review) == "Adds a cache.\n\n## Critical\n- `a.py:7`: It loses data.\n\n## Nit\n- typo\n\n**COMMENT**"


def test_what_is_critical_is_not_approved() -> None:
    critical = (ReviewFinding("critical", "It loses data.", "a.py"),)
    assert correct_verdict(ReviewAnswer("x", "APPROVE", critical)).verdict == "REQUEST_CHANGES"
    assert correct_verdict(ReviewAnswer("x", "COMMENT", critical)).verdict == "COMMENT"
    assert correct_verdict(ReviewAnswer("x", "APPROVE")).verdict == "APPROVE"
    assert "- `a.py`: It" in format_review(ReviewAnswer("x", "APPROVE", critical))


def test_a_report_has_eight_sections_and_says_what_is_not_known() -> None:
    text = format_triage(TriageAnswer("high", "bug", "It hangs.", "A lock is taken twice.", evidence=("a.py:3",)))
    assert text.count("## ") == 8
    assert "## Evidence\n- a.py:3" in text
    assert "## Proposed fix\nNot known." in text
