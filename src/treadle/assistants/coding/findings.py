"""Checks the findings of a review against the diff: the file, the line, and whether the quoted code is really there. Pure.

What doesn't fit isn't shown to a user as if it did: it is rejected with a reason, for the model to correct.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle.assistants.coding.answers import FINDING_SEVERITIES, PlacedFinding, ReviewFinding
from treadle.assistants.coding.review_diffs import DiffHunk, DiffLine, FileDiff

_LEAST_PART = 4  # characters of a quote that is only a part of its line
_SIMILAR = 0.6  # share of words that two findings at one line have in common
_PREFIX = re.compile(r"^\s*\d{0,6}\s*[+\- ]")  # of a line as the diff shows it: number and sign


class RejectedFinding(Struct, frozen=True):
    """A finding that doesn't fit the diff, and the reason."""

    finding: ReviewFinding
    reason: str


class CheckedFindings(Struct, frozen=True):
    """Findings in the order of their severity, and those that were rejected."""

    placed: tuple[PlacedFinding, ...]
    rejected: tuple[RejectedFinding, ...]


def check_findings(findings: Sequence[ReviewFinding], files: Sequence[FileDiff]) -> CheckedFindings:
    """Check each finding against a diff; of several that say the same, the first stays."""
    placed: list[PlacedFinding] = []
    rejected: list[RejectedFinding] = []
    for finding in findings:
        found = place_finding(finding, files)
        if isinstance(found, str):
            rejected.append(RejectedFinding(finding, found))
        elif not any(_is_same(found, other) for other in placed):
            placed.append(found)
    placed.sort(key=lambda each: (FINDING_SEVERITIES.index(each.severity), each.path, each.line))
    return CheckedFindings(tuple(placed), tuple(rejected))


def place_finding(finding: ReviewFinding, files: Sequence[FileDiff]) -> PlacedFinding | str:
    """Return a finding at its place in the diff, or the reason why it has none."""
    file = _find_file(finding.path, files)
    if not finding.title.strip():
        return "it has no title"
    if file is None:
        return f"{finding.path or 'an empty path'} is no file of this diff"
    quoted = [line for line in finding.quote.splitlines() if line.strip()]
    if not quoted:
        at = [(hunk, line) for hunk in file.hunks for line in hunk.new_lines if line.number == finding.line]
        return _place(finding, file, [at[0][1]]) if at else f"line {finding.line} of {file.path} isn't in this diff"
    for lines in (quoted, [_PREFIX.sub("", line) for line in quoted]):
        spans = [span for hunk in file.hunks for span in _find_spans(lines, hunk.new_lines)]
        if spans:
            return _place(finding, file, min(spans, key=lambda span: _distance(finding.line, span)))
        gone = [span for hunk in file.hunks for span in _find_spans(lines, _removed_lines(hunk))]
        if gone:
            return _attach(finding, file, min(gone, key=lambda span: _distance(finding.line, span)))
    return f"the quoted code isn't in the diff of {file.path}"


def _find_file(path: str, files: Sequence[FileDiff]) -> FileDiff | None:
    """Return the file that a path names: as it is in the diff, with git's prefix, or by a shorter path that fits only one."""
    names = {path, path.removeprefix("./"), path.removeprefix("a/"), path.removeprefix("b/")}
    exact = [file for file in files if file.path in names]
    ends = [file for file in files if path and file.path.endswith(f"/{path}")]
    return exact[0] if exact else ends[0] if len(ends) == 1 else None


def _removed_lines(hunk: DiffHunk) -> list[DiffLine]:
    return [line for line in hunk.lines if line.sign == "-"]


def _find_spans(quoted: Sequence[str], lines: Sequence[DiffLine]) -> Iterator[list[DiffLine]]:
    """Yield the runs of lines that have the quoted ones; blank lines between them don't count."""
    solid = [line for line in lines if line.text.strip()]
    for start in range(len(solid) - len(quoted) + 1):
        span = solid[start : start + len(quoted)]
        if all(_has_code(line.text, code) for line, code in zip(span, quoted, strict=True)):
            yield span


def _has_code(text: str, code: str) -> bool:
    """Return whether a line is the quoted code, or has it as a part; white space doesn't count."""
    whole, part = "".join(text.split()), "".join(code.split())
    return bool(part) and (whole == part or (len(part) >= _LEAST_PART and part in whole))


def _distance(line: int, span: Sequence[DiffLine]) -> int:
    return 0 if span[0].number <= line <= span[-1].number else min(abs(line - each.number) for each in span)


def _place(finding: ReviewFinding, file: FileDiff, span: Sequence[DiffLine]) -> PlacedFinding:
    text = "\n".join(line.text for line in span)
    suggestion = finding.suggestion.strip("\n").rstrip()
    if "".join(suggestion.split()) == "".join(text.split()):  # it changes nothing
        suggestion = ""
    return PlacedFinding(
        finding.severity, finding.title, finding.explanation, file.path, span[0].number, span[-1].number, text, suggestion
    )


def _attach(finding: ReviewFinding, file: FileDiff, span: Sequence[DiffLine]) -> PlacedFinding:
    """Return a finding about removed code, at the line of the new file where it was."""
    last = max((hunk.end for hunk in file.hunks), default=0)
    line = 0 if file.kind == "deleted" else max(1, min(span[0].number, last))
    text = "\n".join(each.text for each in span)
    return PlacedFinding(finding.severity, finding.title, finding.explanation, file.path, line, line, text, anchor="hunk")


def _is_same(one: PlacedFinding, other: PlacedFinding) -> bool:
    """Return whether two findings say the same of the same line."""
    if (one.path, one.line) != (other.path, other.line):
        return False
    mine, theirs = (set(re.findall(r"\w+", each.title.lower())) for each in (one, other))
    return len(mine & theirs) >= _SIMILAR * max(1, min(len(mine), len(theirs)))


def format_rejections(rejected: Sequence[RejectedFinding]) -> str:
    """Return what a model has to correct."""
    listed = [f"- {each.finding.title.strip() or 'without a title'}: {each.reason}" for each in rejected]
    words = "These findings don't fit the diff:\n" + "\n".join(listed)
    return f"{words}\nGive the whole review again: quote code exactly as the diff has it, and leave out what isn't about this diff."
