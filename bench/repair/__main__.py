"""`python -m bench.repair`: planted bugs that `treadle debug` fixes and verifies, beside the same model asked once.

Whether a bug is fixed is decided by the package's own tests with the module as it was left, in a fresh workspace: changed tests
don't count. Every outcome is written at once to `bench/results/repair.jsonl`, with the commit it was measured on; `--resume`
continues from there, so that a bench of hours can be measured in several sittings.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from bench.machine import describe
from bench.repair.tasks import RepairTask, fetch_packages, make_tasks, run_tests, write_workspace
from treadle.assistants.coding.code import extract_code, splice_code
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.core.messages import History, person_message
from treadle.core.requests import Options, Request, TextDelta
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Jobs
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.assistant import Host
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parents[1] / "results" / "repair.md"
WINDOW = 8_192
MAX_SOURCE, MAX_TESTS = 15_000, 5_000  # characters that a model is shown when it is asked once: what fits the window
ONCE = """\
A module has a bug, so that its tests fail:

```python
{source}
```

Its tests:

```python
{tests}
```

Give the function that is wrong, corrected, in a fenced block."""


class RepairOutcome(Struct, frozen=True):
    """The result of one task on one way. `claimed` says that the job called it verified."""

    task: str
    way: str
    fixed: bool
    claimed: bool = False
    seconds: float = 0.0
    tokens: int = 0
    why: str = ""
    commit: str = ""


async def by_asking(model: Model, task: RepairTask) -> RepairOutcome:
    """Ask the model once."""
    began = time.perf_counter()
    tests = "\n".join((task.root / name).read_text("utf-8") for name in task.tests)
    text = ONCE.format(source=task.buggy[:MAX_SOURCE], tests=tests[:MAX_TESTS])
    request = Request("", History([person_message(text)]), options=Options(temperature=0, max_tokens=2_048))
    words = "".join([delta.text async for delta in model.reply(request) if isinstance(delta, TextDelta)])
    source = splice_code(task.buggy, extract_code(words), task.module)
    fixed = bool(source) and await asyncio.to_thread(run_tests, task.root, task.module, task.tests, source)
    return RepairOutcome(task.name, "once", fixed, seconds=time.perf_counter() - began)


async def by_debugging(model: Model, task: RepairTask) -> RepairOutcome:
    """Let `treadle debug` work in a folder with the package and its tests."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        write_workspace(folder, task.root, task.module, task.tests, task.buggy)
        home = open_home(Path(place) / "home")

        async def same() -> Model:
            return model

        began = time.perf_counter()
        try:
            job = Jobs(home.folder).create("coding", "debug", "failing tests", workspace=str(folder))
            done = await execute_job(job.id, find_coding_job_kind("debug").work, Host(home, same))
        finally:
            close_home(home)
        took, source = time.perf_counter() - began, (folder / task.module).read_text("utf-8")
    fixed = await asyncio.to_thread(run_tests, task.root, task.module, task.tests, source)
    tokens = done.output.get("usage", {}).get("total_tokens", 0)
    claimed = done.state == "completed" and bool(done.output.get("verified"))
    return RepairOutcome(task.name, "debug", fixed, claimed, took, tokens, done.why[:80])


WAYS = {"once": by_asking, "debug": by_debugging}


def _read_known(kept: Path) -> list[RepairOutcome]:
    return [msgspec.json.decode(line, type=RepairOutcome) for line in kept.read_bytes().splitlines()] if kept.exists() else []


async def measure(
    model: Model, tasks: Iterable[RepairTask], kept: Path, *, ways: Sequence[str] = tuple(WAYS), resume: bool = False
) -> list[RepairOutcome]:
    """Try all tasks in all ways whose outcome isn't there yet."""
    known, commit = _read_known(kept) if resume else [], describe().commit
    there = {(each.task, each.way) for each in known}
    with kept.open("ab" if resume else "wb") as file:
        for task in tasks:
            for way in ways:
                if (task.name, way) not in there:
                    outcome = structs.replace(await WAYS[way](model, task), commit=commit)
                    known.append(outcome)
                    file.write(msgspec.json.encode(outcome) + b"\n")
                    file.flush()
                    said = "fixed" if outcome.fixed else "claimed wrongly" if outcome.claimed else "not fixed"
                    print(f"{way:6} {outcome.task:60} {said:15} {outcome.seconds:5.0f} s {outcome.why}", flush=True)
    return known


def format_page(known: Sequence[RepairOutcome], model: str) -> str:
    """Return the results as Markdown."""
    commits = ", ".join(dict.fromkeys([each.commit for each in known]))
    debug, once = [each for each in known if each.way == "debug"], [each for each in known if each.way == "once"]
    rows = {
        "tasks": f"{len(once)} | {len(debug)}",
        "fixed": f"{sum(each.fixed for each in once)} | {sum(each.fixed for each in debug)}",
        "fixed and verified": f" | {sum(each.fixed and each.claimed for each in debug)}",
        "claimed wrongly": f" | {sum(each.claimed and not each.fixed for each in debug)}",
        "given up honestly": f" | {sum(not each.claimed and not each.fixed for each in debug)}",
        "seconds a task": f"{_mean([each.seconds for each in once])} | {_mean([each.seconds for each in debug])}",
    }
    table = "\n".join(f"| {name} | {values} |" for name, values in rows.items())
    head = f"Planted bugs with {model}; `python -m bench.repair` repeats it. Measured at {commits}."
    return f"{head}\n\n| | once | `treadle debug` |\n|---|--:|--:|\n{table}\n"


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.0f}" if values else ""


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--most", type=int, default=40, help="how many tasks")
    parser.add_argument("--ways", nargs="*", choices=sorted(WAYS), default=list(WAYS))
    parser.add_argument("--kept", type=Path, default=RESULTS.with_suffix(".jsonl"))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the tasks, and ask no model")
    wanted = parser.parse_args()
    tasks = make_tasks(fetch_packages(), wanted.most)
    if wanted.list:
        for task in tasks:
            print(f"{task.name} line {task.line}: {task.defect}", flush=True)
        return

    async def all_of_it() -> list[RepairOutcome]:
        model = resolve_model(wanted.model, context=WINDOW)
        try:
            return await measure(model, tasks, wanted.kept, ways=wanted.ways, resume=wanted.resume)
        finally:
            await close_model_connections()
            close_children()

    written = format_page(asyncio.run(all_of_it()), wanted.model)
    print(written)
    if wanted.most >= 40 and not wanted.model.startswith("scripted:"):
        RESULTS.write_text(written, "utf-8")


if __name__ == "__main__":
    main()
