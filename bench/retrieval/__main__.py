"""`python -m bench.retrieval`: 10,000 documents: how fast they are indexed, how large the file is, how long a search takes.

Beside each figure stands the least that the same work can cost, measured in the same run: a bare FTS5 table for words, all vectors
in memory under numpy for meaning. The table goes to standard output and to `bench/results/retrieval.md`.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.machine import describe
from bench.report import figure, table, times
from bench.retrieval.corpus import paragraphs, questions, write
from treadle.core.seams import Embedder
from treadle.passages import BuiltinEmbedder, IndexProgress, Passages, index_folders
from treadle.retrieval.connections import load_sqlite
from treadle.retrieval.query import TagFilter, split_query
from treadle.retrieval.rows import format_for_embedding

RESULTS = Path(__file__).parents[1] / "results" / "retrieval.md"
GOAL = 25.0  # milliseconds at the 95th percentile
RANKED = 10  # how many of the nearest are compared with the exact ones


class Spread(Struct, frozen=True):
    """Milliseconds of many searches; `cpu` is what the process worked at p95: a busy machine changes that least."""

    middle: float
    p95: float
    worst: float
    cpu: float


class Found(Struct, frozen=True):
    """What one run found."""

    documents: int
    passages: int
    text_bytes: int
    file_bytes: int
    vectors_by: str
    index_s: float
    words_index_s: float
    again_s: float
    resident: dict[int, int]
    after_searches: int
    searches: dict[str, Spread]
    exact: float


def spread(took: list[float], worked: list[float]) -> Spread:
    """Of seconds, in milliseconds."""
    ordered, cpu = (sorted(one * 1000 for one in times) for times in (took, worked))
    late = int(len(ordered) * 0.95)
    return Spread(ordered[len(ordered) // 2], ordered[late], ordered[-1], cpu[late])


def resident() -> int:
    """Megabytes that this process holds in memory of its own."""
    fields = Path("/proc/self/statm").read_text("ascii").split()
    return round((int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE") / 1e6)


Search = Callable[[str], Awaitable[object]]


async def in_turns(asked: list[str], ways: dict[str, Search]) -> dict[str, Spread]:
    """How long each way takes; for every question all of them take turns, so that a busy machine is busy for all."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    worked: dict[str, list[float]] = {name: [] for name in ways}
    for query in asked:
        for name, search in ways.items():
            began, before = time.perf_counter(), time.process_time()
            await search(query)
            took[name].append(time.perf_counter() - began)
            worked[name].append(time.process_time() - before)
    return {name: spread(took[name], worked[name]) for name in ways}


class Bare:
    """The floor of words: one FTS5 table with the texts, and the same words asked of it."""

    def __init__(self, path: Path) -> None:
        self._connection = load_sqlite().connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='porter unicode61')")

    def fill(self, texts: list[str]) -> float:
        """Put all texts in; seconds."""
        began = time.perf_counter()
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO words VALUES (?)", ((text,) for text in texts))
        self._connection.execute("COMMIT")
        return time.perf_counter() - began

    async def search(self, query: str) -> object:
        """The ten best."""
        match = " OR ".join(f'"{word}"' for word in split_query(query))
        return self._connection.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10", (match,)).fetchall()

    def close(self) -> None:
        """Let go."""
        self._connection.close()


class Matrix:
    """The floor of meaning: every vector in memory, multiplied at once."""

    def __init__(self, ids: list[int], vectors: list[bytes], embedder: Embedder) -> None:
        import numpy as np

        self._np, self._ids, self._embedder = np, ids, embedder
        self._matrix = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(len(ids), -1)

    def nearest(self, vector: bytes, most: int) -> list[int]:
        """The nearest, exactly."""
        cosines = self._matrix @ self._np.frombuffer(vector, dtype=self._np.float32)
        best = self._np.argpartition(-cosines, most)[:most]
        return [self._ids[one] for one in best[self._np.argsort(-cosines[best])]]

    async def search(self, query: str) -> object:
        """The ten nearest."""
        return self.nearest((await self._embedder.embed([query]))[0], 10)


async def run(folder: Path, documents: int, searches: int) -> Found:
    """Index, index again, search."""
    pages, texts = folder / "pages", paragraphs()
    pages.mkdir()
    text_bytes = write(pages, documents, texts)
    path, embedder, memory = folder / "passages.db", BuiltinEmbedder(), dict[int, int]()
    await embedder.embed(["loaded"])

    def watch(told: IndexProgress) -> None:
        if told.done % 2048 == 0 or told.done == told.total:
            memory[told.done] = resident()

    async with Passages(path, embedder) as store:
        began = time.perf_counter()
        await index_folders(store, [pages], progress=watch)
        index_s = time.perf_counter() - began
        began = time.perf_counter()
        await index_folders(store, [pages])
        again_s = time.perf_counter() - began
        found = await _searches(store, folder, embedder, questions(searches, texts))
        state = await store.state()
    return Found(
        documents, state.passages, text_bytes, path.stat().st_size, state.vectors_by, index_s, found[1], again_s, memory, found[2],
        found[0], found[3],
    )  # fmt: skip


async def _searches(
    store: Passages, folder: Path, embedder: Embedder, asked: list[str]
) -> tuple[dict[str, Spread], float, int, float]:
    await in_turns(asked, {"both": lambda query: store.search(query, limit=10)})
    after = resident()
    rows: list[Any] = await store._file.read(lambda c: c.execute("SELECT id, heading, text FROM passages").fetchall())
    bare = Bare(folder / "bare.db")
    words_index_s = bare.fill([text for _, _, text in rows])
    vectors = await embedder.embed([format_for_embedding(heading, text) for _, heading, text in rows])
    matrix = Matrix([row[0] for row in rows], vectors, embedder)
    ways: dict[str, Search] = {
        "both": lambda query: store.search(query, limit=10),
        "words": lambda query: store.search(query, limit=10, how="words"),
        "bare FTS5": bare.search,
        "meaning": lambda query: store.search(query, limit=10, how="meaning"),
        "numpy": matrix.search,
    }
    found = await in_turns(asked, ways)
    found |= await in_turns([" ".join(asked[:400])] * 20, {"long": lambda query: store.search(query, limit=10)})
    bare.close()
    return found, words_index_s, after, await _exact(store, matrix, embedder, asked[:200])


async def _exact(store: Passages, matrix: Matrix, embedder: Embedder, asked: list[str]) -> float:
    """The share of the nearest passages that isn't lost by keeping vectors as small numbers."""
    kept = 0
    for vector in await embedder.embed(asked):
        near = await store._file.read(lambda c, v=vector: store._vectors.seen_by(c).nearest(v, RANKED, TagFilter()))
        kept += len({one for one, _ in near} & set(matrix.nearest(vector, RANKED)))
    return kept / (RANKED * len(asked))


def _circumstances() -> str:
    machine = describe()
    return f"{machine.cpu}, {machine.cores} cores, load average {os.getloadavg()[0]:.1f} while it ran, {machine.date}."


def page(found: Found) -> Iterator[str]:
    """The report."""
    both = found.searches["both"]
    yield f"# Retrieval: {found.documents:,} documents, {found.passages:,} passages, vectors by {found.vectors_by}\n"
    yield f"Read the multiples, not the milliseconds: each is of a floor that was measured in the same run. {_circumstances()}\n"
    speed, size, share = found.documents / found.index_s, found.file_bytes / found.passages, found.file_bytes / found.text_bytes
    rows = [
        ["indexing", f"{found.index_s:.1f} s", f"{speed:,.0f} documents/s", times(found.index_s / found.words_index_s)],
        ["indexing again, nothing changed", f"{found.again_s:.1f} s", f"{found.documents / found.again_s:,.0f} documents/s", "-"],
        [
            "size on disk",
            f"{found.file_bytes / 1e6:.0f} MB",
            f"{size:,.0f} bytes a passage",
            times(share),
        ],
    ]
    yield table(["", "whole", "each", "of the floor"], rows)
    yield "\nFloors: all passages into a bare FTS5 table in one transaction; the bytes of the files.\n"
    floors = {"words": found.searches["bare FTS5"], "meaning": found.searches["numpy"]}
    lines = [
        [
            name,
            *map(figure, (one.middle, one.p95, one.worst, one.cpu)),
            times(one.cpu / floors[name].cpu) if name in floors else "-",
        ]
        for name, one in found.searches.items()
    ]
    yield table(["search, ms", "median", "p95", "worst", "CPU, p95", "CPU of the floor"], lines)
    yield "\n`both`, `words` and `meaning` are whole searches of the store, embedding included; `long` asks 8,000 characters."
    yield "Floors: `bare FTS5` the same words in the bare table; `numpy` all vectors in memory, embedding included.\n"
    yield f"Of the {RANKED} nearest passages by vectors of full length, {found.exact:.1%} are found.\n"
    memory = [[f"{done:,}", str(size)] for done, size in found.resident.items()]
    yield table(["documents indexed", "memory, MB"], [*memory, ["after all searches", str(found.after_searches)]])
    verdict = "reached" if both.p95 < GOAL else "missed"
    yield f"\nGoal: a search in under {GOAL:.0f} ms at p95: {verdict} ({both.p95:.1f} ms)."


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--searches", type=int, default=500)
    wanted = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait for more work would be measured with whoever comes next
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(run(Path(folder), wanted.documents, wanted.searches))
    text = "\n".join(page(found)) + "\n"
    if wanted.documents >= 10_000:
        RESULTS.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
