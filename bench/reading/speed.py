"""`python -m bench.reading.speed`: how long an outline of 10,000 lines takes, and whether 1,000 files leave memory behind.

Time is the CPU's, the best of five turns; beside it what the parser alone takes, which is the floor. The table goes to standard
output and to `bench/results/outline.md`.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.reading.files import files
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.languages import detect_language
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.parsing import parse_source
from treadle.assistants.reading.source_files import iter_source_files
from treadle.files import Workspace

RESULTS = Path(__file__).parents[1] / "results" / "outline.md"
LINES, FILES, EVERY = 10_000, 1_000, 250


def best(work: Callable[[str, str], object], text: str, language: str) -> float:
    """CPU seconds, of the fastest of five turns."""
    took: list[float] = []
    for _ in range(5):
        began = time.process_time()
        work(text, language)
        took.append(time.process_time() - began)
    return min(took)


def times(folder: Path) -> Iterator[str]:
    """A row for each language: about 10,000 lines of its real files."""
    texts: dict[str, str] = {}
    for path in files(folder):
        language = detect_language(path.name)
        assert language is not None
        texts[language] = f"{texts.get(language, '')}\n{path.read_text('utf-8')}"
    yield from ("| language | lines | outline | parser alone | |", "|---|--:|--:|--:|---|")
    for language, text in sorted(texts.items()):
        whole = text * max(1, round(LINES / text.count("\n")))
        lines = whole.count("\n")
        whole_time, floor = (best(work, whole, language) * LINES / lines for work in (build_outline, parse_source))
        verdict = "" if whole_time < 0.3 else "over 0.3 s"
        yield f"| {language} | {lines:,} | {whole_time:.2f} s | {floor:.2f} s | {verdict} |"


async def memory() -> Iterator[str]:
    """What this process and the parsing child take after so many files of what is installed here."""
    found = [path for place in sys.path if place.endswith("site-packages") for path in _python_files(Path(place))][:FILES]
    rows = ["| files | this process | the child |", "|--:|--:|--:|"]
    async with Outliner(most_files=FILES + 1) as outliner:
        for number, path in enumerate(found, 1):
            await outliner.outline(path.read_text("utf-8", "replace"), "python")
            if number % EVERY == 0:
                rows.append(f"| {number:,} | {_resident(os.getpid())} MB | {_resident(outliner.pid or 0)} MB |")
    return iter(rows)


def _python_files(place: Path) -> list[Path]:
    found = [
        path
        for child in sorted(place.iterdir())
        if child.is_dir()
        for path in (child / name for name in iter_source_files(Workspace(child)))
    ]
    return [path for path in found if path.suffix == ".py" and path.stat().st_size < 500_000]


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def main() -> None:
    """Measure, and write it down."""
    page = "\n".join([*times(Path(tempfile.gettempdir()) / "treadle-bench-reading"), "", *asyncio.run(memory()), ""])
    RESULTS.write_text(page, "utf-8")
    print(page)


if __name__ == "__main__":
    main()
