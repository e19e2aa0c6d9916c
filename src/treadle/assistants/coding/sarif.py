"""A review as SARIF 2.1.0, the format of code scanning services and editors. Pure."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from treadle import __version__
from treadle.assistants.coding.answers import FINDING_SEVERITIES, PlacedFinding, format_finding_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"critical": "error", "warning": "warning", "suggestion": "note", "nit": "note"}
_RULES = {
    "critical": "A defect with which the change must not be merged",
    "warning": "A defect that should be fixed",
    "suggestion": "An improvement",
    "nit": "A detail",
}


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
