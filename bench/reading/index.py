"""`python -m bench.reading.index`: the symbol index of a repository of 3,000 files, made of what is installed here.

Read the multiples: each is of a floor that was measured in the same run. The table goes to standard output and to
`bench/results/symbol-index.md`.
"""

import asyncio
import os
import shutil
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from bench.machine import describe
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.parsing import parse_source
from treadle.assistants.reading.repository_search import find_references, map_repository
from treadle.assistants.reading.symbols.index import SymbolIndex
from treadle.assistants.reading.symbols.store import FILE
from treadle.files import Workspace

RESULTS = Path(__file__).parents[1] / "results" / "symbol-index.md"
FILES, SAMPLE, CHANGED = 3_000, 300, 10
NAME = "Request"

T = TypeVar("T")


def make_repository(folder: Path) -> list[Path]:
    """Copy Python files that are installed here, every fourth, so that many packages are among them."""
    place = Path(sysconfig.get_paths()["purelib"])
    found = [path for path in sorted(place.rglob("*.py")) if "node_modules" not in path.parts and "vendor" not in path.parts]
    made: list[Path] = []
    for path in found[:: max(1, len(found) // FILES)][:FILES]:
        copy = folder / path.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        os.utime(copy, (1_600_000_000, 1_600_000_000))
        made.append(copy)
    return made


class Cost(Struct, frozen=True):
    """Seconds by the clock, and of CPU time, the child process included."""

    seconds: float
    cpu: float


def timed(work: Awaitable[T]) -> tuple[Cost, T]:
    """What a task costs, and its result."""

    async def run() -> T:
        return await work

    began, used = time.perf_counter(), _cpu()
    result = asyncio.run(run())
    return Cost(time.perf_counter() - began, _cpu() - used), result


def _cpu() -> float:
    return sum(sum(os.times()[at : at + 2]) for at in (0, 2))


class Memory:
    """The resident memory of this process, looked at again and again: its maximum, and how it grew."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.samples.append(resident())

    def stop(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join()


def resident() -> int:
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def measure(folder: Path) -> str:
    """Measure, and return the page."""
    repository = folder / "repository"
    paths = make_repository(repository)
    texts = [path.read_text("utf-8", "replace") for path in paths[:: len(paths) // SAMPLE]]
    used = _cpu()
    for text in texts:
        parse_source(text, "python")
    parser = (_cpu() - used) / len(texts) * len(paths)
    used = _cpu()
    with Outliner() as outliner:
        for text in texts:
            outliner.outline_sync(text, "python")
    outlines = (_cpu() - used) / len(texts) * len(paths)
    del texts
    workspace, data = Workspace(repository), folder / "data"
    first, found = timed(find_references(SymbolIndex(workspace, data), NAME, kind="definition"))
    shutil.rmtree(data)
    index = SymbolIndex(workspace, data)
    start, partial = timed(map_repository(index))
    index.close()
    shutil.rmtree(data)
    memory = Memory()
    index = SymbolIndex(workspace, data, seconds=3_600)
    whole, state = timed(index.refresh())
    memory.stop()
    part = max(1, len(memory.samples) // 4)
    quarters = [max(memory.samples[at : at + part]) for at in range(0, part * 4, part)]
    graph, _ = timed(map_repository(index))
    mapped, _ = timed(map_repository(SymbolIndex(workspace, data), task="parse the header of a cookie"))
    again, _ = timed(SymbolIndex(workspace, data).refresh())
    for path in paths[:: len(paths) // CHANGED][:CHANGED]:
        path.write_text(path.read_text("utf-8", "replace") + "\n\ndef added_by_the_bench(): ...\n", "utf-8")
    few, _ = timed(SymbolIndex(workspace, data).refresh())
    warm, references = timed(find_references(SymbolIndex(workspace, data), NAME))
    size = (data / FILE).stat().st_size
    source = sum(path.stat().st_size for path in paths)
    machine = describe()
    rows = [
        f"# Symbol index: {state.files:,} files, {source / 1e6:.0f} MB",
        "",
        (
            "Read the multiples, not the seconds: each is of the CPU time of a floor in the same run, child processes included. "
            f"{machine.cpu}, {machine.cores} cores, load average {machine.load_average_before} while it ran, {machine.date}."
        ),
        "",
        "| | seconds | CPU | of parsing alone | of outlining all files |",
        "|---|--:|--:|--:|--:|",
        *[
            f"| {name} | {cost.seconds:.2f} | {cost.cpu:.2f} | {cost.cpu / parser:.2f}x | {cost.cpu / outlines:.2f}x |"
            for name, cost in (
                (f"where `{NAME}` is defined, without an index ({found.total} definitions)", first),
                (f"a map, without an index ({partial.pending_files:,} files still to be parsed)", start),
                ("the whole index", whole),
                ("the first map: references are counted", graph),
                ("a map for a task", mapped),
                ("opened again, nothing changed", again),
                (f"opened again, {CHANGED} files changed", few),
                (f"all references to `{NAME}` ({references.total:,})", warm),
            )
        ],
        "",
        (
            f"Floors in CPU time, from {SAMPLE} of the files: parsing by tree-sitter in this process {parser:.1f} s; "
            f"outlining in the child process, as every map and question did before, {outlines:.1f} s."
        ),
        "",
        (
            f"Memory of this process while the index was built, by quarters: {', '.join(f'{each} MB' for each in quarters)}. "
            f"The database has {size / 1e6:.0f} MB, {size / source:.2f} of the source."
        ),
        "",
    ]
    return "\n".join(rows)


def main() -> None:
    """Measure, and write it down."""
    with tempfile.TemporaryDirectory() as folder:
        page = measure(Path(folder))
    RESULTS.write_text(page, "utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
