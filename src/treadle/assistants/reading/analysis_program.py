"""An analysis as a run: a program that takes any model through the execution paths in order, and answers with the reading.

The run refers to a source stored under its hash (`AnalysisSubject`), so that any process can resume it. The reason for a path is
always given. If no path works, the answer is a sketch: a reading without a model, whose units are grouped by references and
described in the file's own words.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import FunctionToolset, Limits, Options, ResultOptions, Toolset, TreadleError, tool
from treadle.assistant import Host
from treadle.assistants.reading.answer_validation import CheckedAnswer
from treadle.assistants.reading.execution_paths import (
    TOOL,
    PathContext,
    PathResult,
    PathSteps,
    run_fast_path,
    run_tool_calling,
    run_two_stage,
)
from treadle.assistants.reading.file_parts import FilePart, collect_elements, find_names_elsewhere, part_ranges
from treadle.assistants.reading.file_units import FileUnit, describe_largest, describe_units, find_units, group_units, label_units
from treadle.assistants.reading.grouping import build_affinity_graph, to_kebab_case
from treadle.assistants.reading.outline.comments import as_sentence, first_sentence
from treadle.assistants.reading.outline.nodes import Outline
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.reading_types import AnalysisMetadata, FailedPath, FileReading, ResponsibilityBlock, Stage
from treadle.assistants.reading.settings import load_settings
from treadle.assistants.reading.source_files import (
    NotReadable,
    OutlinedSource,
    SourceReader,
    build_source,
    hash_text,
    outline_source,
)
from treadle.errors import BadPrompt, ModelError
from treadle.models import Request
from treadle.plans import FixedPlan, PlanQuestion, PlanStep

SKETCH_NOTE = "A sketch, made without a model: grouped by what uses what, in the file's own words."
RETENTION_SECONDS = 30 * 24 * 3600.0  # seconds that sources and readings are kept
GROUP = "reading"
log = logging.getLogger("treadle.reading")
CHARS_PER_LINE = 100  # what a result may hold for each line that a call may read

RequestedPath = Literal["auto", "fast-path", "tool-calling", "two-stage", "sketch"]
Steps = Generator[PlanQuestion, str, PlanStep]


def sketch_outline(outline: Outline, parts: Sequence[FilePart]) -> CheckedAnswer:
    """Describe a file without a model."""
    units = find_units(parts, outline.language, opened=True)
    groups = group_units(parts, units, build_affinity_graph(parts))
    blocks: list[ResponsibilityBlock] = []
    elsewhere = find_names_elsewhere(parts, groups)
    for group in dict.fromkeys(groups):
        chosen = [part for part in parts if groups[part.number] == group]
        mine = [unit for unit in units if groups[unit.parts[0]] == group]
        label = _unused_label(label_units(mine, units), blocks)
        elements = collect_elements(chosen, taken=elsewhere[group])
        blocks.append(
            ResponsibilityBlock(to_kebab_case(label), label, describe_units(mine, label), elements, part_ranges(parts, chosen))
        )
    return CheckedAnswer(_derive_intent(outline, find_units(parts, outline.language)), tuple(blocks), notes=(SKETCH_NOTE,))


def _derive_intent(outline: Outline, units: Sequence[FileUnit]) -> str:
    """Return the first sentence of the file's own documentation, else what its largest public definition says."""
    said = as_sentence(first_sentence(outline.doc)) or describe_largest(units)
    return said or f"Runs top-level code in {outline.language}; it defines nothing."


def _unused_label(label: str, blocks: Sequence[ResponsibilityBlock]) -> str:
    """Return a label that no block has yet."""
    taken = {block.label for block in blocks}
    return next(found for found in (label, *[f"{label} {number}" for number in range(2, 99)]) if found not in taken)


class AnalysisSubject(Struct, frozen=True):
    """Subject of an analysis: a file whose text is stored under its hash. Stored with the run."""

    source: str
    filename: str
    language: str
    path: RequestedPath = "auto"
    notes: tuple[str, ...] = ()


def analysis_subject(context: Mapping[str, Any]) -> AnalysisSubject | None:
    """Return the subject of a run's analysis; None for a conversation."""
    if not context.get("source"):
        return None
    try:
        return msgspec.convert(context, AnalysisSubject)
    except msgspec.ValidationError as error:
        raise BadPrompt(f"What is to be read isn't said so that it can be understood: {error}.") from error


def analysis_question(filename: str) -> str:
    """Return the question that an analysis answers: the title of its run."""
    return f"What is {filename} for, and which of its parts belong together?"


async def store_source(host: Host, source: OutlinedSource, path: RequestedPath) -> AnalysisSubject:
    """Store a file's text for the run that analyses it, and return the run's subject."""
    key = hash_text(source.text)
    await host.home.cache.put(f"source-{key}", GROUP, source.text, time.time() + RETENTION_SECONDS)
    return AnalysisSubject(key, source.filename, source.language, path, source.notes)


async def load_stored_source(host: Host, about: AnalysisSubject) -> OutlinedSource:
    """Load and outline the file of a run; raises `NotReadable` if it is no longer stored."""
    async with Outliner() as outliner:
        found = await outline_source(await _load_stored_text(host, about), about.filename, about.language, outliner)
    return replace(found, notes=about.notes)


async def _load_stored_text(host: Host, about: AnalysisSubject) -> str:
    text = await host.home.cache.get(f"source-{about.source}", time.time())
    if text is None:
        raise NotReadable(f"What {about.filename} said when it was to be read isn't kept any more; have it read again.")
    return text


def build_analysis_tools(host: Host, about: AnalysisSubject) -> Sequence[Toolset]:
    """Return the toolset that reads lines of the file."""
    most = load_settings(host).max_lines

    async def refer_to_source_code(start_line: int, end_line: int) -> str:
        """Read lines of the file.

        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        plain = build_source(about.filename, await _load_stored_text(host, about), Outline(about.language, 0))
        return await SourceReader(plain, most).refer_to_source_code(start_line, end_line)

    return (FunctionToolset([tool(refer_to_source_code, effect="read")], name="reading"),)


def analysis_agent_options(host: Host) -> dict[str, Any]:
    """Return how an analysis agent differs from that of a conversation: no questions to the user, and a reading as its output."""
    settings = load_settings(host)
    return {
        "output_type": FileReading,
        "output_mode": "tool",
        "limits": Limits(rounds=settings.max_tool_calls + 1, per_tool={TOOL: settings.max_tool_calls}, tries=3),
        "results": ResultOptions(max(ResultOptions().limit, settings.max_lines * CHARS_PER_LINE)),
        "options": Options(temperature=0.1, max_tokens=2000),
        "attended": False,
    }


def build_analysis_program(
    host: Host, about: AnalysisSubject, source: OutlinedSource | None = None, stages: list[Stage] | None = None
) -> FixedPlan:
    """Build the program. `source` is its subject, if already loaded; `stages` records the requests for the debug report."""
    loaded = [] if source is None else [source]

    async def plan(request: Request) -> Steps:
        model = await host.model()
        try:
            loaded[:] = loaded or [await load_stored_source(host, about)]
        except TreadleError as error:
            raise ModelError(str(error)) from error  # so that the run ends, and says why
        view = PathContext(model.traits, request, load_settings(host).max_tool_calls, [] if stages is None else stages)
        return _run_steps(loaded[0], about.path, view, model.name)

    return FixedPlan(plan)


def _run_steps(source: OutlinedSource, wanted: RequestedPath, view: PathContext, model: str) -> Steps:
    asked, why, failed = yield from _try_paths(view, source, wanted)
    reading = build_reading(source, asked, why, model)
    found = replace(reading, metadata=replace(reading.metadata, fallbacks=failed))
    return PlanStep((("give_answer", msgspec.to_builtins(found)),))


def _try_paths(
    view: PathContext, source: OutlinedSource, wanted: RequestedPath
) -> Generator[PlanQuestion, str, tuple[PathResult, str, tuple[FailedPath, ...]]]:
    """Return the result of the first path that works, why that one was taken, and which failed before it."""
    paths, why = _order_paths(source, wanted)
    failed: list[FailedPath] = []
    for name, path in paths:
        try:
            asked = yield from path(view, source)
            return asked, _format_reason(failed, why, f"so {name} was tried"), tuple(failed)
        except TreadleError as error:
            failed.append(FailedPath(name, _shorten(str(error))))
            log.error("[FALLBACK] %s: %s failed: %s", source.filename, name, error)  # noqa: TRY400 - no bug of ours
    return sketch_source(source), _format_reason(failed, why, "so this is a sketch"), tuple(failed)


def _format_reason(failed: Sequence[FailedPath], why: str, then: str) -> str:
    return "; ".join([*[f"{each.path} failed ({each.reason})" for each in failed], then]) if failed else why


def _order_paths(
    source: OutlinedSource, wanted: RequestedPath
) -> tuple[list[tuple[str, Callable[[PathContext, OutlinedSource], PathSteps]]], str]:
    fast_path, tools, stages = ("fast-path", run_fast_path), ("tool-calling", run_tool_calling), ("two-stage", run_two_stage)
    match wanted:
        case "fast-path":
            return [fast_path, stages], "it was asked for"
        case "tool-calling":
            return [tools, stages], "it was asked for"
        case "two-stage":
            return [stages], "it was asked for"
        case _ if source.is_small:
            return [fast_path, stages], "the file is small"
        case _:
            return [tools, stages], "the file is larger than what is sent whole"


def sketch_source(source: OutlinedSource) -> PathResult:
    """Sketch a source without a model."""
    return PathResult("sketch", sketch_outline(source.outline, source.parts))


def _shorten(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"


def build_reading(source: OutlinedSource, asked: PathResult, why: str, model: str = "") -> FileReading:
    """Build a reading from the result of a path. Its cost is known when the run has ended."""
    settled = asked.settled
    metadata = AnalysisMetadata(
        execution_path=asked.path,
        why=why,
        tool_reads=asked.reads,
        tool_call_count=len(asked.reads),
        model=model if asked.path not in ("sketch", "empty") else "",
        language=source.language,
        content_hash=hash_text(source.text),
        coverage=round(settled.coverage, 3),
        notes=" ".join([*source.notes, *settled.notes]),
    )
    return FileReading(settled.file_intent, settled.blocks, metadata)
