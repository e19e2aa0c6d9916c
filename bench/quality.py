"""Questions to an assistant as datasets of `treadle.evals`: asked, checked, written down. Behind the benches of all assistants.

`treadle eval bench/platform/dataset.py:seen -m MODEL` runs the same cases. What has been asked stays until the next time:
`--resume` continues a bench that was interrupted.
"""

import argparse
import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from treadle.core.calls import Ask
from treadle.core.seams import Model
from treadle.evals import Attempt, Case, CaseResult, CaseRun, Dataset, EvalReport
from treadle.evals.agents import EvalOptions
from treadle.evals.runner import run_dataset
from treadle.home import close_home, open_home
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parent / "results"
WINDOW = 8_192
HOME = "home"  # where runs are kept, in the folder of a bench
SHOWN = 300  # characters of an answer in a table


def names_of_asked(run: CaseRun) -> list[str]:
    """Return the tools whose calls needed approval."""
    return [call.name for call in run.calls if isinstance(call.verdict, Ask)]


async def ask_all(datasets: Mapping[str, Dataset], model: Model, folder: Path) -> dict[str, EvalReport]:
    """Run the cases of all datasets, one after the other; what this folder has already isn't asked again."""
    home = open_home(folder / HOME)
    try:
        reports: dict[str, EvalReport] = {}
        for title, dataset in datasets.items():
            options = EvalOptions(
                model=model,
                user="ann",
                parallel=1,
                home=home,
                evaluation="bench",
                folder=folder / "workspaces",
                on_attempt=_print_attempt,
            )
            reports[title] = await run_dataset(dataset, options)
        return reports
    finally:
        close_home(home)


def _print_attempt(case: Case, attempt: Attempt) -> None:
    calls = " ".join([call.tool for call in attempt.calls])
    print(f"{'right' if attempt.passed else '-':6} {attempt.seconds:4.0f} s  {_first_line(case.name)[:60]:60} {calls}", flush=True)


def write_page(about: str, reports: Mapping[str, EvalReport]) -> str:
    """Return the tables."""
    return f"{about}\n\n" + "\n".join([_table(title, report) for title, report in reports.items()])


def _table(title: str, report: EvalReport) -> str:
    right, many = sum(case.passed for case in report.cases), max(1, len(report.cases))
    seconds = sum(case.attempts[0].seconds for case in report.cases) / many
    lines = [
        f"**{right} of {len(report.cases)} right ({right / many:.0%})**, {seconds:.0f} s a question: {title}.\n",
        "| question | right | s | calls | answer |",
        "|---|---|---:|---|---|",
    ]
    return "\n".join([*lines, *map(_row, report.cases)]) + "\n"


def _row(case: CaseResult) -> str:
    attempt = case.attempts[0]
    wrong = [f"{check.name}: {check.detail}" if check.detail else check.name for check in attempt.checks if not check.passed]
    verdict = f"**no**: {'; '.join(wrong)}" if wrong else "yes"
    calls = ", ".join([call.tool for call in attempt.calls])
    cells = (_first_line(case.name), verdict, f"{attempt.seconds:.0f}", calls, attempt.output)
    return "| " + " | ".join(map(format_cell, cells)) + " |"


def format_cell(text: str) -> str:
    """Return a text for a cell of a table: on one line, shortened."""
    text = re.sub(r"\s+", " ", text)
    return (text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…").replace("|", "\\|")


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


Summary = Callable[[Mapping[str, EvalReport], Path], str]


def main(name: str, about: str, datasets: Mapping[str, Dataset], summary: Summary | None = None) -> None:
    """Ask everything, and write the page of a bench. `summary` writes what it begins with, from the reports and the folder."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{name}")
    parser.add_argument("-m", "--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--first", type=int, metavar="N", help="ask the first N of each dataset alone; no page is written")
    parser.add_argument("--resume", action="store_true", help="go on where the last one was interrupted")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / f"treadle-bench-{name}")
    wanted = parser.parse_args()
    if not wanted.resume:
        shutil.rmtree(wanted.kept, ignore_errors=True)
    chosen = {title: Dataset(each.name, each.cases[: wanted.first], each.folder, each.setup) for title, each in datasets.items()}
    page = measure(about, chosen, wanted.model, wanted.kept, summary)
    print(page)
    if wanted.first is None:
        (RESULTS / f"{name.replace('.', '-')}.md").write_text(page, "utf-8")


def measure(about: str, datasets: Mapping[str, Dataset], model: str, kept: Path, summary: Summary | None = None) -> str:
    """Ask everything of a model, and return the page."""

    async def ask() -> dict[str, EvalReport]:
        try:
            return await ask_all(datasets, resolve_model(model, context=WINDOW), kept)
        finally:
            await close_model_connections()

    try:
        reports = asyncio.run(ask())
    finally:
        close_children()
    page = write_page(f"{about}; {model}.", reports)
    return page if summary is None else f"{summary(reports, kept)}\n{page}"
