"""Review jobs: the diff, the model's findings, and which of them hold when they are compared with the diff.

Of a finding the file, the line and the quoted code are checked. What doesn't fit isn't shown to a user as if it did: it is rejected
with a reason, for the model to correct.
"""

import re
from asyncio import to_thread
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import ToolProblem
from treadle.assistant import JobContext, JobResult
from treadle.assistants.coding import prompts
from treadle.assistants.coding.answers import (
    FINDING_SEVERITIES,
    PlacedFinding,
    ReviewAnswer,
    ReviewFinding,
    correct_verdict,
    format_review,
)
from treadle.assistants.coding.inputs import ReviewInputs
from treadle.assistants.coding.job_environment import (
    JobEnvironment,
    build_job_agent,
    build_plan_agent,
    prepare_environment,
)
from treadle.assistants.coding.jobs import stopped_result, usage_output
from treadle.assistants.coding.patches import DiffHunk, DiffLine, FileDiff, format_numbered_diff, list_hunks, parse_diff
from treadle.assistants.coding.review_output import (
    make_posting_toolset,
    plan_posting,
    posting_arguments,
    posting_rules,
    to_sarif,
)
from treadle.assistants.coding.review_plan import MAX_HUNKS, plan_review
from treadle.workspace import GitHub, GitHubReference, read_repository, review_diff

_LEAST_PART = 4  # characters of a quote that is only a part of its line
_SIMILAR = 0.6  # share of words that two findings at one line have in common
_PREFIX = re.compile(r"^\s*\d{0,6}\s*[+\- ]")  # of a line as the diff shows it: number and sign
_MAX_DIFF = 60_000


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


async def run_review(desk: JobContext, given: ReviewInputs) -> JobResult:
    """Run a review job, and post its result to the pull request if requested."""
    room = await prepare_environment(desk, "review", keeps=given.keep_context, free=given.free)
    if "review" in desk.job.facts:  # resumed after the review was done, to post it
        return await _post(room, desk.job.facts["review"])
    files = parse_diff(await _read_diff(room, given))
    if given.diff.strip() and not list_hunks(files):
        return JobResult("failed", why="What was given is no diff with changed lines: use the output of `git diff` or `diff -u`.")
    if not files:
        return JobResult("completed", {**_EMPTY, "review_text": "There is nothing to review: nothing was changed."})
    found = await read_repository(room.folder, unsafe=room.unsafe) if given.branch else None
    if room.is_guided:
        files, left_out = _limit_hunks(files)
        asked, plan = "Review the change.", partial(plan_review, files=files, purpose=given.description)
    else:
        shown, left_out = format_numbered_diff(files, _MAX_DIFF)
        asked, plan = prompts.format_review_prompt(given.description, shown, given.branch, found.branch if found else ""), None
    agent = await build_job_agent(room, validators=(_FindingsValidator(desk, files),), plan=plan)
    result = await desk.ask(agent, asked)
    if result.stopped != "answered":
        return stopped_result(result, {})
    answer: ReviewAnswer = result.output
    output = _build_output(answer, check_findings(answer.findings, files), (*left_out, *answer.not_reviewed))
    output = {**output, "branch": given.branch, **await usage_output(desk)}
    if not given.post:
        return JobResult("completed", output)
    desk.note(review=output)
    return await _post(room, output)


async def _post(room: JobEnvironment, output: dict[str, Any]) -> JobResult:
    """Post a review: another turn of the run, with a call that needs approval."""
    desk, pull = room.desk, room.desk.job.facts["pull_request"]
    reference = GitHubReference(pull["repository"], pull["number"])
    arguments = posting_arguments(reference, pull["commit"], output, findings_of(output), desk.job.id)
    plan = partial(plan_posting, arguments=arguments)
    agent = build_plan_agent(room, plan, make_posting_toolset(_github(room), desk.job.id), posting_rules())
    result = await desk.ask(agent, f"Post the review to {pull['url']}.", turn=1)
    if result.stopped != "answered":
        return stopped_result(result, output)
    posted = result.calls[-1].result
    assert posted is not None, "a turn that was answered has the results of its calls"
    if posted.problem is not None:
        return JobResult("failed", output, f"The review is done, but it wasn't posted: {posted.content}")
    return JobResult("completed", {**output, "posted": posted.content})


def _github(room: JobEnvironment) -> GitHub:
    return GitHub(room.folder, remote=room.git.remote, unsafe=room.unsafe)


def _limit_hunks(files: Sequence[FileDiff]) -> tuple[tuple[FileDiff, ...], tuple[str, ...]]:
    """Return what a small model can look at in reasonable time, and the names of the hunks that are left out."""
    hunks = list_hunks(files)
    kept = set(hunks[:MAX_HUNKS])
    limited = [replace(file, hunks=tuple([hunk for hunk in file.hunks if hunk in kept])) for file in files]
    return tuple([file for file in limited if file.hunks]), tuple([hunk.name for hunk in hunks[MAX_HUNKS:]])


_EMPTY: dict[str, Any] = {
    "summary": "",
    "verdict": "COMMENT",
    "issues_found": 0,
    "findings": [],
    "dropped": [],
    "left_out": [],
}


async def _read_diff(room: JobEnvironment, given: ReviewInputs) -> str:
    """Return the diff to review. It is kept in the job's folder, so that a resumed job reviews the same one."""
    if given.diff.strip():
        return given.diff
    kept = room.desk.folder / "review.diff"
    if not kept.exists() and given.pr:
        reference = await _github(room).find(given.pr)
        pull, diff = await _github(room).read_pull_request(reference)
        facts = {"repository": reference.repository, "number": reference.number, "commit": pull.head_ref_oid, "url": pull.url}
        room.desk.note(pull_request=facts)
        await to_thread(_write_whole, kept, diff)
    if not kept.exists():
        diff = await review_diff(room.folder, given.base, given.branch, since=given.since, rules=room.git, unsafe=room.unsafe)
        await to_thread(_write_whole, kept, diff)
    return await to_thread(kept.read_text, "utf-8")


def _write_whole(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_suffix(".part")
    part.write_text(text, "utf-8", errors="replace")
    part.replace(path)


class _FindingsValidator:
    """Returns a review once to the model if a finding doesn't fit the diff. What doesn't fit the second time is dropped."""

    def __init__(self, desk: JobContext, files: Sequence[FileDiff]) -> None:
        self._desk = desk
        self._files = files

    def __call__(self, answer: ReviewAnswer) -> None:
        rejected = check_findings(answer.findings, self._files).rejected
        if rejected and not self._desk.job.facts.get("findings_returned"):
            self._desk.note(findings_returned=len(rejected))
            raise ToolProblem(format_rejections(rejected))


def _build_output(answer: ReviewAnswer, checked: CheckedFindings, left_out: Sequence[str]) -> dict[str, Any]:
    """Return a job's output. Findings that were dropped are listed with the reasons, not shown as findings."""
    dropped = [
        {"title": each.finding.title, "path": each.finding.path, "line": each.finding.line, "reason": each.reason}
        for each in checked.rejected
    ]
    verdict = correct_verdict(answer.verdict, checked.placed)
    text = format_review(answer.summary, verdict, checked.placed, review_notes({"left_out": left_out, "dropped": dropped}))
    return {
        "review_text": text,
        "summary": answer.summary,
        "verdict": verdict,
        "issues_found": len(checked.placed),
        "findings": [msgspec.to_builtins(finding) for finding in checked.placed],
        "dropped": dropped,
        "left_out": list(left_out),
    }


def review_notes(output: dict[str, Any]) -> list[str]:
    """Return sentences on what a review left out: parts of the diff, and findings that don't fit it."""
    notes: list[str] = []
    if output.get("left_out"):
        notes.append(f"Not reviewed: {', '.join(output['left_out'])}.")
    if output.get("dropped"):
        count = len(output["dropped"])
        notes.append(f"{count} {'finding was' if count == 1 else 'findings were'} dropped, since the diff has no such code.")
    return notes


def findings_of(output: dict[str, Any]) -> list[PlacedFinding]:
    """Return the findings of a job's output."""
    return msgspec.convert(output.get("findings", []), list[PlacedFinding])


def sarif_of(output: dict[str, Any], problem: str = "") -> dict[str, Any]:
    """Return the SARIF log of a review job's output; `problem` says why there is no review."""
    return to_sarif(findings_of(output), review_notes(output), problem=problem)
