"""`python -m bench.review`: planted defects that `treadle review` finds at the right line, and false alarms on clean changes.

Every outcome is stored at once: `--resume` continues an interrupted run. Results are published
only of a run over all tasks.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.review.tasks import ReviewTask, make_tasks
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Jobs
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.assistant import Host
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parents[1] / "results" / "review.md"
WINDOW = 8_192
NEAR = 2  # lines


class Outcome(Struct, frozen=True):
    """The review of one task: the lines of its findings, and how the job ended."""

    task: str
    line: int
    state: str
    found: tuple[int, ...] = ()
    dropped: int = 0
    left_out: int = 0
    seconds: float = 0.0
    tokens: int = 0
    why: str = ""

    @property
    def is_found(self) -> bool:
        """Whether the planted defect was found at its line."""
        return bool(self.line) and self.line in self.found

    @property
    def is_near(self) -> bool:
        """Whether a finding is at the defect's line or beside it."""
        return bool(self.line) and any(abs(each - self.line) <= NEAR for each in self.found)


async def review_task(model: Model, task: ReviewTask) -> Outcome:
    """Review a task's diff in a folder that has the new file."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        file = folder / task.path
        file.parent.mkdir(parents=True)
        file.write_text(task.after, "utf-8")
        home = open_home(Path(place) / "home")

        async def same() -> Model:
            return model

        began = time.perf_counter()
        try:
            job = Jobs(home.folder).create("coding", "review", task.name, given={"diff": task.diff}, workspace=str(folder))
            done = await execute_job(job.id, find_coding_job_kind("review").work, Host(home, same))
        finally:
            close_home(home)
    output = done.output
    return Outcome(
        task.name,
        task.line,
        done.state,
        tuple([each["line"] for each in output.get("findings", ()) if each["path"] == task.path]),
        len(output.get("dropped", ())),
        len(output.get("left_out", ())),
        time.perf_counter() - began,
        output.get("usage", {}).get("total_tokens", 0),
        done.why[:80],
    )


def _read_known(kept: Path) -> list[Outcome]:
    return [msgspec.json.decode(line, type=Outcome) for line in kept.read_bytes().splitlines()] if kept.exists() else []


async def measure(model: Model, tasks: Sequence[ReviewTask], kept: Path, *, resume: bool = False) -> list[Outcome]:
    """Review all tasks whose outcome isn't there yet."""
    known = _read_known(kept) if resume else []
    names = {outcome.task for outcome in known}
    with kept.open("ab" if resume else "wb") as file:
        for task in tasks:
            if task.name not in names:
                outcome = await review_task(model, task)
                known.append(outcome)
                file.write(msgspec.json.encode(outcome) + b"\n")
                file.flush()
                print(f"{outcome.task:60} {_describe(outcome):12} {outcome.seconds:5.0f} s {outcome.why}", flush=True)
    return known


def _describe(outcome: Outcome) -> str:
    if outcome.state != "completed":
        return outcome.state
    if outcome.line:
        return "found" if outcome.is_found else "near" if outcome.is_near else "missed"
    return "false alarm" if outcome.found else "clean"


def format_page(known: Sequence[Outcome], model: str) -> str:
    """Return the results as Markdown. A job that failed has found nothing, and is counted as failed too."""
    planted, clean = [each for each in known if each.line], [each for each in known if not each.line]
    alarms = sum(len(each.found) for each in clean)
    extra = sum(line != each.line for each in planted for line in each.found)
    count = max(1, len(known))
    rows = {
        "planted defects": str(len(planted)),
        "found at the right line": str(sum(each.is_found for each in planted)),
        f"found within {NEAR} lines": str(sum(each.is_near for each in planted)),
        "other findings in these diffs": str(extra),
        "clean diffs": str(len(clean)),
        "clean diffs with a false alarm": str(sum(bool(each.found) for each in clean)),
        "false alarms in all": str(alarms),
        "findings dropped, since they didn't fit the diff": str(sum(each.dropped for each in known)),
        "reviews that failed": str(sum(each.state != "completed" for each in known)),
        "seconds a diff": f"{sum(each.seconds for each in known) / count:.0f}",
        "tokens a diff": f"{sum(each.tokens for each in known) / count:,.0f}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return f"`treadle review` with {model}; `python -m bench.review` repeats it.\n\n| | |\n|---|--:|\n{table}\n"


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.review", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--most", type=int, default=30, help="how many tasks of each kind")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-review.jsonl")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the tasks and their diffs, and ask no model")
    wanted = parser.parse_args()
    tasks = make_tasks(wanted.most)
    if wanted.list:
        for task in tasks:
            print(f"# {task.name}: {f'line {task.line}, {task.defect}' if task.line else 'clean'}\n{task.diff}")
        return

    async def all_of_it() -> list[Outcome]:
        try:
            return await measure(resolve_model(wanted.model, context=WINDOW), tasks, wanted.kept, resume=wanted.resume)
        finally:
            await close_model_connections()
            close_children()

    written = format_page(asyncio.run(all_of_it()), wanted.model)
    print(written)
    if wanted.most >= 30 and not wanted.model.startswith("scripted:"):
        RESULTS.write_text(written, "utf-8")


if __name__ == "__main__":
    main()
