"""Review jobs: the diff, the model's findings, and which of them hold when they are compared with the diff."""

from asyncio import to_thread
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle import ToolProblem
from treadle.assistant import JobContext, JobResult
from treadle.assistants.coding import prompts
from treadle.assistants.coding.answers import PlacedFinding, ReviewAnswer, correct_verdict, format_review
from treadle.assistants.coding.findings import CheckedFindings, check_findings, format_rejections
from treadle.assistants.coding.inputs import ReviewInputs
from treadle.assistants.coding.job_environment import (
    JobEnvironment,
    build_job_agent,
    build_plan_agent,
    prepare_environment,
)
from treadle.assistants.coding.jobs import stopped_result, usage_output
from treadle.assistants.coding.review_diffs import FileDiff, format_numbered_diff, list_hunks, parse_diff
from treadle.assistants.coding.review_plan import MAX_HUNKS, plan_review
from treadle.assistants.coding.review_posting import (
    make_posting_toolset,
    plan_posting,
    posting_arguments,
    posting_rules,
)
from treadle.assistants.coding.sarif import to_sarif
from treadle.workspace import GitHub, GitHubReference, read_repository, review_diff

_MAX_DIFF = 60_000


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
