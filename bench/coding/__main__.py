"""`python -m bench.coding`: bugs mended by `treadle debug`, beside the same model asked once without tools.

Every outcome is stored at once: `--resume` continues an interrupted run.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.coding.judge import solved
from bench.coding.once import once
from bench.coding.tasks import MODULE, TESTS, Task, tasks
from bench.reading.__main__ import Metered
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.core.seams import Model
from treadle.home import close_home, open_home
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Jobs
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.assistant import Host
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parents[1] / "results" / "coding.md"
WINDOW = 8_192


class Tried(Struct, frozen=True):
    """The result of one task on one way."""

    task: str
    way: str
    solved: bool
    seconds: float
    tokens: int = 0
    changes: int = 0
    claimed: bool = False
    note: str = ""


async def by_asking(model: Model, task: Task) -> Tried:
    """The model asked once."""
    began, metered = time.perf_counter(), Metered(model)
    source = await once(metered, task)
    took = time.perf_counter() - began
    return Tried(task.name, "once", solved(task, source), took, metered.usage.total_tokens)


async def by_debugging(model: Model, task: Task) -> Tried:
    """`treadle debug` in a folder with the module and its tests."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        (folder / MODULE).write_text(task.buggy, "utf-8")
        (folder / TESTS).write_text(task.tests, "utf-8")
        home = open_home(Path(place) / "home")

        async def same() -> Model:
            return model

        began = time.perf_counter()
        job = Jobs(home.folder).create("coding", "debug", "failing tests", workspace=str(folder))
        done = await execute_job(job.id, find_coding_job_kind("debug").work, Host(home, same))
        took = time.perf_counter() - began
        source = (folder / MODULE).read_text("utf-8")
        entries = await home.journal.read(job.id)
        changes = sum(getattr(getattr(entry, "call", None), "name", "") == "write_file" for entry in entries)
        close_home(home)
    tokens = done.output.get("usage", {}).get("total_tokens", 0)
    return Tried(task.name, "debug", solved(task, source), took, tokens, changes, bool(done.output.get("verified")), done.why[:80])


WAYS = {"once": by_asking, "debug": by_debugging}


def _known(kept: Path) -> list[Tried]:
    return [msgspec.json.decode(line, type=Tried) for line in kept.read_bytes().splitlines()] if kept.exists() else []


async def work(wanted: argparse.Namespace, kept: Path) -> list[Tried]:
    """All tasks on all ways that aren't there yet."""
    known = _known(kept) if wanted.resume else []
    there = {(tried.task, tried.way) for tried in known}
    model = resolve_model(wanted.model, context=WINDOW)
    with kept.open("ab" if wanted.resume else "wb") as file:
        for task in tasks(most=wanted.most, longest=wanted.longest):
            for way in wanted.ways:
                if (task.name, way) not in there:
                    tried = await WAYS[way](model, task)
                    known.append(tried)
                    file.write(msgspec.json.encode(tried) + b"\n")
                    file.flush()
                    print(
                        f"{tried.way:6} {tried.task:32} {'solved' if tried.solved else '-':7} {tried.seconds:5.0f} s {tried.note}",
                        flush=True,
                    )
    return known


def page(known: list[Tried], wanted: argparse.Namespace) -> str:
    """The table, over the tasks that were tried on all ways."""
    names = set.intersection(*[{tried.task for tried in known if tried.way == way} for way in WAYS])
    about = f"{len(names)} tasks of HumanEvalFix (Python) with modules of at most {wanted.longest} characters"
    lines = [f"{about}, in a seeded order; {wanted.model}; hidden tests decide.\n"]
    lines += ["| way | solved | share | seconds a task | tokens a task |", "|---|--:|--:|--:|--:|"]
    shares: dict[str, float] = {}
    for way in WAYS:
        mine = [tried for tried in known if tried.way == way and tried.task in names]
        won = sum(tried.solved for tried in mine)
        shares[way] = won / max(1, len(mine))
        seconds = sum(tried.seconds for tried in mine) / max(1, len(mine))
        tokens = sum(tried.tokens for tried in mine) / max(1, len(mine))
        lines.append(f"| {way} | {won} | {shares[way]:.0%} | {seconds:.0f} | {tokens:,.0f} |")
    debug = [tried for tried in known if tried.way == "debug" and tried.task in names]
    wrong = sum(tried.claimed and not tried.solved for tried in debug)
    missed = sum(tried.solved and not tried.claimed for tried in debug)
    ratio = shares["debug"] / shares["once"] if shares["once"] else float("inf")
    lines.append(f"\n`treadle debug` by asking once: {ratio:.2f} × (goal: 1.5 ×).")
    claimed = sum(tried.claimed for tried in debug)
    lines.append(f"Of {claimed} jobs that called themselves verified, {wrong} fail a hidden test; {missed} solved ones didn't.")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.coding", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--most", type=int, default=40, help="how many tasks")
    parser.add_argument(
        "--longest", type=int, default=660, help="characters of a module: a small model on two cores writes ten a second"
    )
    parser.add_argument("--ways", nargs="*", choices=sorted(WAYS), default=list(WAYS))
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-coding.jsonl")
    parser.add_argument("--resume", action="store_true")
    wanted = parser.parse_args()

    async def all_of_it() -> list[Tried]:
        try:
            return await work(wanted, wanted.kept)
        finally:
            await close_model_connections()
            close_children()

    known = asyncio.run(all_of_it())
    if {tried.way for tried in known} == set(WAYS):
        names = {task.name for task in tasks(most=wanted.most, longest=wanted.longest)}
        written = page([tried for tried in known if tried.task in names], wanted)
        RESULTS.write_text(written, "utf-8")
        print(written)


if __name__ == "__main__":
    main()
