"""`python -m bench.reading`: what each path costs on real files; `--live MODEL` also asks a real model, where its context allows.

The table goes to standard output and to `bench/results/reading.md`.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.reading.counting import Count, Counting
from bench.reading.files import files
from treadle import Agent, Limits, Options, tool
from treadle.assistants.reading.execution_paths import (
    PathContext,
    PathResult,
    PathSteps,
    run_fast_path,
    run_tool_calling,
    run_two_stage,
)
from treadle.assistants.reading.outline.formatter import format_outline
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree
from treadle.assistants.reading.settings import MAX_TOOL_CALLS
from treadle.assistants.reading.source_files import OutlinedSource, SourceReader, open_source
from treadle.core.errors import TreadleError
from treadle.core.requests import Delta, ReplyEnded, Request, Usage
from treadle.core.seams import Model
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.models.llamacpp.model import LlamaCpp
from treadle.plans import GuidedModel, PlanQuestion, PlanStep
from treadle.plugins.models import resolve_model
from treadle.settings.calling_modes import enable_tool_calls

RESULTS = Path(__file__).parents[1] / "results" / "reading.md"
LARGE = 500  # lines above which the goal about raw source holds
WINDOW = 16_384  # tokens; what needs more is refused, and told as it is


class Cost(Struct, frozen=True):
    """Tokens of one path, all requests together, and seconds where a real model was asked."""

    tokens: int
    seconds: float = 0.0
    note: str = ""


class Row(Struct, frozen=True):
    """One file on all paths."""

    name: str
    language: str
    lines: int
    source: int
    outline: int
    raw: Cost
    single: Cost
    two: Cost
    two_compact: Cost


Way = Callable[[PathContext, OutlinedSource], PathSteps]


def _two_json(view: PathContext, source: OutlinedSource) -> PathSteps:
    """Two stages as the original has them: the syntax tree is sent twice, as indented JSON."""
    tree = msgspec.json.encode(build_shallow_tree(source.text, source.language))
    return run_two_stage(view, source, msgspec.json.format(tree, indent=2).decode())


async def _asked(way: Way, model: Model, source: OutlinedSource) -> PathResult:
    """What one path comes to, in a run that is kept nowhere."""
    found: list[PathResult] = []

    def plan(request: Request) -> Generator[PlanQuestion, str, PlanStep]:
        found.append((yield from way(PathContext(model.traits, request), source)))
        return PlanStep(text="Done.")

    tools, limits = (
        [tool(SourceReader(source).refer_to_source_code, effect="read")],
        Limits(rounds=12, calls=MAX_TOOL_CALLS, tries=3),
    )
    options = Options(temperature=0.1, max_tokens=2000)
    is_held = model.traits.holds and not model.traits.native_calls
    led = GuidedModel(model if is_held else enable_tool_calls(model), plan)
    result = await Agent(led, tools=tools, limits=limits, options=options, dialect="native").run("What is it for?")
    if not found:
        raise TreadleError(result.reason)
    return found[-1]


async def _counted(source: OutlinedSource, way: Way, count: Count) -> Cost:
    model = Counting(source, count)
    await _asked(way, model, source)
    return Cost(model.input + model.output)


async def _row(source: OutlinedSource, count: Count) -> Row:
    return Row(
        source.filename,
        source.language,
        len(source.lines),
        count(source.text),
        count(format_outline(source.outline)),
        await _counted(source, run_fast_path, count),
        await _counted(source, run_tool_calling, count),
        await _counted(source, _two_json, count),
        await _counted(source, run_two_stage, count),
    )


class Metered:
    """A model, with a count of what it has read and written, also in answers that were of no use."""

    def __init__(self, model: Model) -> None:
        self.name, self.traits = model.name, model.traits
        self.usage = Usage()
        self._model = model

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """What the model replies."""
        async for delta in self._model.reply(request):
            if isinstance(delta, ReplyEnded):
                self.usage = self.usage + delta.usage
            yield delta


async def _live(source: OutlinedSource, way: Way, model: Model) -> Cost:
    metered, began = Metered(model), time.perf_counter()
    try:
        note = f"{len((await _asked(way, metered, source)).reads)} reads"
    except TreadleError as error:
        note = " ".join(str(error).split())[:60]
    usage = metered.usage
    told = f"{usage.requests} requests, {usage.input_tokens:,} in, {usage.output_tokens:,} out; {note}"
    return Cost(usage.total_tokens, time.perf_counter() - began, told)


HEAD = (
    "file",
    "language",
    "lines",
    "source",
    "outline",
    "raw",
    "single",
    "two, JSON",
    "two, outline",
    "single : two",
    "single : raw",
)


def table(rows: list[Row]) -> str:
    """Tokens of every file on every path, and the shares that matter."""
    lines = [f"| {' | '.join(HEAD)} |", f"|---|---|{'--:|' * (len(HEAD) - 2)}"]
    for row in rows:
        outline = f"{row.outline:,} ({row.outline / row.source:.0%})"
        cells = [row.name, row.language, f"{row.lines:,}", f"{row.source:,}", outline]
        cells += [f"{cost.tokens:,}" for cost in (row.raw, row.single, row.two, row.two_compact)]
        cells += [f"{row.single.tokens / row.two.tokens:.0%}", f"{row.single.tokens / row.raw.tokens:.0%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(rows: list[Row]) -> str:
    """The goals, and the result of them."""
    large = [row for row in rows if row.lines > LARGE]
    by_two, by_compact = _shares(rows, lambda row: row.two.tokens), _shares(rows, lambda row: row.two_compact.tokens)
    by_raw, by_source = _shares(large, lambda row: row.raw.tokens), _shares(large, lambda row: row.source)
    outline = max((row.outline / row.source for row in large), default=0)
    return f"""\
- {len(rows)} files in {len({row.language for row in rows})} languages.
- Single stage by two stages: {by_two} (goal: at most 40 %). With our outline in place of the JSON tree: {by_compact}.
- Single stage by raw source in one request, files over {LARGE} lines: {by_raw} (goal: at most 60 %). By the bare source, without
  line numbers, instructions and answer: {by_source}.
- Outline by source, files over {LARGE} lines: {outline:.0%} at worst (goal: at most 25 %)."""


def _shares(rows: list[Row], of: Callable[[Row], int]) -> str:
    """What a single stage takes of that, over all files and in the worst of them."""
    if not rows:
        return "–"
    whole = sum(row.single.tokens for row in rows) / sum(of(row) for row in rows)
    return f"{whole:.0%} over all, {max(row.single.tokens / of(row) for row in rows):.0%} at worst"


async def _sources(folder: Path, only: list[str]) -> list[OutlinedSource]:
    async with Outliner() as outliner:
        return [await open_source(path, outliner) for path in files(folder) if not only or path.name in only]


async def _tokenizer(name: str) -> tuple[Callable[[str], Awaitable[int]], LlamaCpp]:
    model = LlamaCpp(name, context=512)
    caller, _ = await model._ready()

    async def count(text: str) -> int:
        return len((await caller.post("/tokenize", {"content": text}))["tokens"])

    return count, model


async def _run(wanted: argparse.Namespace) -> str:
    sources = await _sources(wanted.folder, wanted.only)
    asked: dict[str, int] = {}
    count, _ = await _tokenizer(wanted.tokenizer)

    def known(text: str) -> int:
        return asked.setdefault(text, 0)

    # A model that counts can't wait for a tokenizer in another process, so everything is asked for once, and then counted.
    for source in sources:
        await _row(source, known)
    for text in asked:
        asked[text] = await count(text)
    rows = [await _row(source, known) for source in sources]
    page = f"{table(rows)}\n\n{summary(rows)}\n"
    if wanted.live:
        page += await _live_page(sources, wanted)
    return page


async def _live_page(sources: list[OutlinedSource], wanted: argparse.Namespace) -> str:
    """The same with a real model, as far as its context allows."""
    model = (
        resolve_model(wanted.live, context=WINDOW, threads=os.cpu_count() or 1)
        if wanted.live.startswith("llamacpp:")
        else resolve_model(wanted.live)
    )
    lines = [f"\nWith {wanted.live}:\n", "| file | lines | path | tokens | seconds | |", "|---|--:|---|--:|--:|---|"]
    for source in sources:
        for name, way in (("single stage", run_tool_calling), ("raw source", run_fast_path), ("two stages, JSON tree", _two_json)):
            cost = await _live(source, way, model)
            lines.append(
                f"| {source.filename} | {len(source.lines)} | {name} | {cost.tokens:,} | {cost.seconds:.0f} | {cost.note} |"
            )
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.reading", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-reading", help="where files are kept"
    )
    parser.add_argument("--tokenizer", default="qwen2.5-coder-1.5b", help="a local model, whose tokenizer counts")
    parser.add_argument("--live", default="", metavar="MODEL", help="ask this model too")
    parser.add_argument("--only", nargs="*", default=[], metavar="FILE", help="only these files, by name")
    wanted = parser.parse_args()

    async def work() -> str:
        try:
            return await _run(wanted)
        finally:
            await close_model_connections()
            close_children()

    page = asyncio.run(work())
    RESULTS.write_text(page, "utf-8")
    print(page)


if __name__ == "__main__":
    main()
