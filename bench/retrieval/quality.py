"""`python -m bench.retrieval.quality`: whether the right pages are found, and whether the floor keeps out what no page answers.

The pages are this repository's own documentation, the questions those of `questions`. The table goes to standard output and to
`bench/results/retrieval-quality.md`.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns

from bench.report import table
from bench.retrieval.questions import ANSWERED, NOT_ANSWERED
from treadle.passages import BuiltinEmbedder, Passages, index_folders

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "retrieval-quality.md"
WAYS = ("words", "meaning", "both")
DEPTHS = (1, 3, 5)


async def recall(store: Passages, way: str, depth: int) -> float:
    """The share of questions for which a page that answers is among the first passages; no floor."""
    right = 0
    for question, pages in ANSWERED:
        found = await store.search(question, limit=depth, floor=0, how=way)  # pyright: ignore[reportArgumentType] - one of WAYS
        right += any(one.passage.source.endswith(pages) for one in found)
    return right / len(ANSWERED)


async def kept(store: Passages) -> tuple[float, float, float]:
    """With three passages and the usual floor: answered questions with a right page, with any, and others with any."""
    answered = [(await store.search(question), pages) for question, pages in ANSWERED]
    right = sum(any(one.passage.source.endswith(pages) for one in found) for found, pages in answered)
    wrong = [await store.search(question) for question in NOT_ANSWERED]
    return right / len(ANSWERED), sum(bool(found) for found, _ in answered) / len(ANSWERED), sum(map(bool, wrong)) / len(wrong)


async def page(folder: Path) -> Iterator[str]:
    """The report."""
    async with Passages(folder / "passages.db", BuiltinEmbedder()) as store:
        # The page about retrieval quotes questions, and would answer them.
        pages = copytree(ROOT / "docs", folder / "docs", ignore=ignore_patterns("retrieval.md"))
        report = await index_folders(store, [pages])
        rows = [[way, *[f"{await recall(store, way, depth):.2f}" for depth in DEPTHS]] for way in WAYS]
        right, some, wrong = await kept(store)
    return iter(
        (
            f"{len(ANSWERED)} questions on {report.added} pages, {report.passages} passages: a right page is among the first\n",
            table(["", *(str(depth) for depth in DEPTHS)], rows),
            f"\nThree passages above the usual floor: a right page for {right:.0%} of them, some page for {some:.0%};",
            f"some page for {wrong:.0%} of {len(NOT_ANSWERED)} questions that no page answers.\n",
        )
    )


def main() -> None:
    """Measure, and write it down."""
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(asyncio.run(page(Path(folder))))
    RESULTS.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
