"""`python -m bench.coding`: bugs fixed by `treadle debug`, beside the same model asked once without tools. See `dataset`."""

import os
from collections.abc import Mapping
from pathlib import Path

from bench import quality
from bench.coding.dataset import LONGEST, LONGEST_LONGER, debug, held_out, longer, once
from treadle.evals import EvalReport
from treadle.jobs.store import Jobs

ONCE, DEBUG = "asked once", "by `treadle debug`"
LONGER = f"by `treadle debug`: modules of {LONGEST + 1} to {LONGEST_LONGER} characters"
HELD_OUT = f"by `treadle debug`, held out: modules of at most {LONGEST_LONGER} characters"

# The environment of the projects that tests work on: pytest starts ten times as fast there as with our own plugins.
PROJECTS = Path(__file__).parents[2] / ".venv-projects"


def compare(reports: Mapping[str, EvalReport], kept: Path) -> str:
    """Return the two ways side by side, and how often a job's own claim is wrong."""
    lines = ["| way | solved | share | seconds a task | tokens a task |", "|---|--:|--:|--:|--:|"]
    for way, report in reports.items():
        tokens = sum(each.input_tokens + each.output_tokens for each in report.attempts) / max(1, len(report.attempts))
        seconds = sum(each.seconds for each in report.attempts) / max(1, len(report.attempts))
        won = sum(each.passed for each in report.attempts)
        lines.append(f"| {way} | {won} | {report.rate:.0%} | {seconds:.0f} | {tokens:,.0f} |")
    ratio = reports[DEBUG].rate / reports[ONCE].rate if reports[ONCE].rate else float("inf")
    jobs = [attempt for way, report in reports.items() if way != ONCE for attempt in report.attempts]
    claims = [(_is_verified(kept, attempt.run_id), attempt.passed) for attempt in jobs]
    wrong, missed = claims.count((True, False)), claims.count((False, True))
    claimed = sum(verified for verified, _ in claims)
    lines.append(f"\n`treadle debug` by asking once: {ratio:.2f} × (goal: 1.5 ×).")
    lines.append(f"Of {claimed} jobs that called themselves verified, {wrong} fail a hidden test; {missed} solved ones didn't.")
    return "\n".join(lines) + "\n"


def _is_verified(kept: Path, job_id: str) -> bool:
    jobs = Jobs(kept / quality.HOME)
    return jobs.has(job_id) and bool(jobs.get(job_id).output.get("verified"))


if __name__ == "__main__":
    if PROJECTS.is_dir():
        os.environ["VIRTUAL_ENV"] = str(PROJECTS)
    quality.main(
        "coding",
        f"HumanEvalFix (Python), modules of at most {LONGEST} characters in a seeded order; hidden tests decide",
        {DEBUG: debug(), LONGER: longer(), HELD_OUT: held_out(), ONCE: once()},
        compare,
    )
