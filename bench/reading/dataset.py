"""Foreign files that a model reads, as datasets: `files` against the whole check-list, `folders` by what is said of each file.

treadle eval bench/reading/dataset.py:files -m MODEL

The check-list is in `checklist`, which checks sketches too: a sketch needs no model and is no run.
"""

import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.reading.checklist import FILES, FOLDERS, check_blocks, check_intent
from bench.reading.files import fetch_package
from treadle.agent.session import AssistantSession
from treadle.assistants.reading import assistant
from treadle.assistants.reading.analysis import AnalysisOutcome, finish_analysis
from treadle.assistants.reading.analysis_program import analysis_question, store_source
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.reading_types import FileReading
from treadle.assistants.reading.source_files import OutlinedSource, iter_source_files, open_source
from treadle.evals import Case, CaseRun, Dataset, Expectations, TaskContext
from treadle.files import Workspace

FOLDER = Path(tempfile.gettempdir()) / "treadle-bench-reading"
ANY_END = Expectations(stopped=("answered", "limit"))


def files() -> Dataset:
    """Return the files of the check-list, fetched where they aren't there yet."""
    homes = {package: home for package in FILES if (home := fetch_package(package, FOLDER))}
    return make_files([(name, home / name, words) for package, home in homes.items() for name, words in FILES[package].items()])


def folders() -> Dataset:
    """Return each file of the folders as a case."""
    homes = {package: home for package in FOLDERS if (home := fetch_package(package, FOLDER))}
    return make_folders([(package.partition(":")[2], home / FOLDERS[package]) for package, home in homes.items()])


def make_files(found: Sequence[tuple[str, Path, str]]) -> Dataset:
    """Return a dataset of files, each with its name, its path and the words of which its intent has to contain one."""
    return Dataset("reading-files", tuple([_to_case(name, path, _check_reading(path, words)) for name, path, words in found]))


def make_folders(found: Sequence[tuple[str, Path]]) -> Dataset:
    """Return a dataset of the files of folders."""
    cases = [
        _to_case(f"{title}/{path}", folder / path, intent_is_right)
        for title, folder in found
        for path in iter_source_files(Workspace(folder))
    ]
    return Dataset("reading-folders", tuple(cases))


Check = Callable[[CaseRun], str | None] | Callable[[CaseRun], Coroutine[Any, Any, str | None]]


def _to_case(name: str, path: Path, check: Check) -> Case:
    about = {"file": str(path)}
    return Case(name=name, input=analysis_question(path.name), task=read_by_model, context=about, expected=ANY_END, checks=(check,))


async def _open(path: str | Path) -> OutlinedSource:
    async with Outliner() as outliner:
        return await open_source(Path(path), outliner)


async def read_by_model(context: TaskContext) -> FileReading:
    """Read a file as `treadle read` does, as the run of a case."""
    host, began = context.host, time.monotonic()
    about, model = await store_source(host, await _open(context.case.context["file"]), "auto"), await host.model()
    session = AssistantSession(assistant, host, msgspec.to_builtins(about))
    result = await context.run(session.agent(model, priced=True), context.case.input)
    return await finish_analysis(host, about, AnalysisOutcome.of(result, model.name, time.monotonic() - began))


def _check_reading(path: Path, wanted: str) -> Callable[[CaseRun], Coroutine[Any, Any, str | None]]:
    async def check_list(run: CaseRun) -> str | None:
        reading: FileReading = run.data
        if reading.metadata.execution_path == "sketch":
            return reading.metadata.label
        blocks = check_blocks(await _open(path), reading.responsibilities, by_model=True)
        return "; ".join([*check_intent(reading.file_intent, wanted), *blocks]) or None

    return check_list


def intent_is_right(run: CaseRun) -> str | None:
    """Return what is wrong with what is said of a file."""
    return "; ".join(check_intent(run.data.file_intent, "")) or None
