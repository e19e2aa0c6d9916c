"""`python -m bench.code_mode`: fifty tasks of several calls, as programs and one call at a time, and kills inside of programs.

With `--model`, a model does a sample of the tasks itself, in both ways. Each of the two writes its own part of the page.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.code_mode.kills import kill_processes, simulate_kills
from bench.code_mode.page import render_sample, render_scripted, write_part
from bench.code_mode.sample import draw_sample, run_sample
from bench.code_mode.scripted import measure_calls, measure_program
from bench.code_mode.tasks import make_tasks
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.models import resolve_model

TRIES = "tries.jsonl"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(prog="python -m bench.code_mode")
    parser.add_argument("--processes", type=int, default=40, help="how many processes are killed")
    parser.add_argument("--write", action="store_true", help="write the result to the page")
    parser.add_argument("-m", "--model", help="have this model do a sample, instead of the scripted one all tasks")
    parser.add_argument(
        "--sample", type=int, default=10, metavar="N", help="how many tasks the model does, half of them unseen ones"
    )
    parser.add_argument("--resume", action="store_true", help="go on where the last sample was interrupted")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-code_mode")
    wanted = parser.parse_args(arguments)
    if wanted.model:
        wanted.kept.mkdir(exist_ok=True)
        if not wanted.resume:
            (wanted.kept / TRIES).unlink(missing_ok=True)
        report = measure_sample(wanted.model, wanted.sample, wanted.kept / TRIES)
    else:
        report = measure_scripted(wanted.processes)
    print(report)
    if wanted.write:
        write_part(report)


def measure_scripted(processes: int) -> str:
    """Measure all tasks with a scripted model, and return that part of the page. Raises where the two ways differ."""
    tasks = make_tasks()
    pairs = [(measure_calls(task), measure_program(task)) for task in tasks]
    writing = [task for task, (_, program) in zip(tasks, pairs, strict=True) if program.effects]
    simulated = asyncio.run(simulate_kills(tasks))
    real = kill_processes(writing, processes)
    report = render_scripted(pairs, simulated, real)
    wrong = [one for one, program in pairs if one.answer != program.answer or one.effects != program.effects]
    if wrong or simulated.repeated or real.repeated:
        raise SystemExit(report)
    return report


def measure_sample(name: str, count: int, file: Path) -> str:
    """Have a model do a sample, and return that part of the page."""

    async def run() -> str:
        try:
            return render_sample(name, await run_sample(resolve_model(name), draw_sample(count), file))
        finally:
            await close_model_connections()

    try:
        return asyncio.run(run())
    finally:
        close_children()


if __name__ == "__main__":
    main()
