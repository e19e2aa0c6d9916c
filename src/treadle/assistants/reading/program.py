"""An analysis as a run: a program that leads any model through the paths, in their order, and answers with the reading.

The run is about a source that is kept under its hash (`About`), so that any process can take it up again. Where no path works, the
answer is a sketch. Why a path was taken is always said.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import (
    BadPrompt,
    Functions,
    Host,
    Limits,
    ModelError,
    Move,
    Options,
    Program,
    Question,
    Request,
    Results,
    Toolset,
    TreadleError,
    tool,
)
from treadle.assistants.reading.files import NotReadable, source_from
from treadle.assistants.reading.outline.values import Outline
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.paths import TOOL, Asked, PathSteps, View, fast, tool_calling, two_stage
from treadle.assistants.reading.settings import load_settings
from treadle.assistants.reading.sketch import sketch
from treadle.assistants.reading.source import Reads, Source, hash_of, source_of
from treadle.assistants.reading.values import Fallback, Metadata, Reading, Stage

KEPT = 30 * 24 * 3600.0  # seconds that sources and readings are kept
GROUP = "reading"
log = logging.getLogger("treadle.reading")
CHARS_A_LINE = 100  # what a result may hold for each line that a call may read

Wanted = Literal["auto", "fast-path", "tool-calling", "two-stage", "sketch"]
Steps = Generator[Question, str, Move]


class About(Struct, frozen=True):
    """What an analysis is about: a file whose text is kept under its hash. Kept with the run."""

    source: str
    filename: str
    language: str
    path: Wanted = "auto"
    notes: tuple[str, ...] = ()


def about_of(context: Mapping[str, Any]) -> About | None:
    """What the analysis of a run is about; None for a conversation."""
    if not context.get("source"):
        return None
    try:
        return msgspec.convert(context, About)
    except msgspec.ValidationError as error:
        raise BadPrompt(f"What is to be read isn't said so that it can be understood: {error}.") from error


def question_about(filename: str) -> str:
    """What a person is taken to ask who has a file analysed: the title of the run."""
    return f"What is {filename} for, and which of its parts belong together?"


async def keep_source(host: Host, source: Source, path: Wanted) -> About:
    """Keep a file's text for the run that reads it, and say what that is about."""
    key = hash_of(source.text)
    await host.home.cache.put(f"source-{key}", GROUP, source.text, time.time() + KEPT)
    return About(key, source.filename, source.language, path, source.notes)


async def kept_source(host: Host, about: About) -> Source:
    """The file that a run is about, outlined; `NotReadable` where it isn't kept any more."""
    async with Outliner() as outliner:
        found = await source_from(await _kept_text(host, about), about.filename, about.language, outliner)
    return replace(found, notes=about.notes)


async def _kept_text(host: Host, about: About) -> str:
    text = await host.home.cache.get(f"source-{about.source}", time.time())
    if text is None:
        raise NotReadable(f"What {about.filename} said when it was to be read isn't kept any more; have it read again.")
    return text


def analysis_tools(host: Host, about: About) -> Sequence[Toolset]:
    """The tool that reads lines of the file."""
    most = load_settings(host).max_lines

    async def refer_to_source_code(start_line: int, end_line: int) -> str:
        """Read lines of the file.

        :param start_line: the first line, from 1
        :param end_line: the last line
        """
        plain = source_of(about.filename, await _kept_text(host, about), Outline(about.language, 0))
        return await Reads(plain, most).refer_to_source_code(start_line, end_line)

    return (Functions([tool(refer_to_source_code, effect="read")], name="reading"),)


def analysis_parts(host: Host) -> dict[str, Any]:
    """How the agent of an analysis differs from that of a conversation: nobody is asked anything, and its answer is a reading."""
    settings = load_settings(host)
    return {
        "output_type": Reading,
        "output_mode": "tool",
        "limits": Limits(rounds=settings.max_tool_calls + 1, per_tool={TOOL: settings.max_tool_calls}, tries=3),
        "results": Results(max(Results().limit, settings.max_lines * CHARS_A_LINE)),
        "options": Options(temperature=0.1, max_tokens=2000),
        "attended": False,
    }


def analysis(host: Host, about: About, source: Source | None = None, stages: list[Stage] | None = None) -> Program:
    """The program. `source` is what it is about, where that is at hand; `stages` hear what was asked, for the debug report."""
    loaded = [] if source is None else [source]

    async def plan(request: Request) -> Steps:
        model = await host.model()
        try:
            loaded[:] = loaded or [await kept_source(host, about)]
        except TreadleError as error:
            raise ModelError(str(error)) from error  # so that the run ends, and says why
        view = View(model.traits, request, load_settings(host).max_tool_calls, [] if stages is None else stages)
        return _steps(loaded[0], about.path, view, model.name)

    return Program(plan)


def _steps(source: Source, wanted: Wanted, view: View, model: str) -> Steps:
    asked, why, failed = yield from _ask(view, source, wanted)
    reading = reading_of(source, asked, why, model)
    found = replace(reading, metadata=replace(reading.metadata, fallbacks=failed))
    return Move((("give_answer", msgspec.to_builtins(found)),))


def _ask(view: View, source: Source, wanted: Wanted) -> Generator[Question, str, tuple[Asked, str, tuple[Fallback, ...]]]:
    """What the first path that works comes to, why it was that one, and which failed before it."""
    paths, why = _order(source, wanted)
    failed: list[Fallback] = []
    for name, path in paths:
        try:
            asked = yield from path(view, source)
            return asked, _reason(failed, why, f"so {name} was tried"), tuple(failed)
        except TreadleError as error:
            failed.append(Fallback(name, _short(str(error))))
            log.error("[FALLBACK] %s: %s failed: %s", source.filename, name, error)  # noqa: TRY400 - no bug of ours
    return sketched(source), _reason(failed, why, "so this is a sketch"), tuple(failed)


def _reason(failed: Sequence[Fallback], why: str, then: str) -> str:
    return "; ".join([*[f"{each.path} failed ({each.reason})" for each in failed], then]) if failed else why


def _order(source: Source, wanted: Wanted) -> tuple[list[tuple[str, Callable[[View, Source], PathSteps]]], str]:
    fast_path, tools, stages = ("fast-path", fast), ("tool-calling", tool_calling), ("two-stage", two_stage)
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


def sketched(source: Source) -> Asked:
    """What can be said without a model."""
    return Asked("sketch", sketch(source.outline, source.parts))


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"


def reading_of(source: Source, asked: Asked, why: str, model: str = "") -> Reading:
    """What came of a path, as a reading. What it cost is known when its run is over."""
    settled = asked.settled
    metadata = Metadata(
        execution_path=asked.path,
        why=why,
        tool_reads=asked.reads,
        tool_call_count=len(asked.reads),
        model=model if asked.path not in ("sketch", "empty") else "",
        language=source.language,
        content_hash=hash_of(source.text),
        coverage=round(settled.coverage, 3),
        notes=" ".join([*source.notes, *settled.notes]),
    )
    return Reading(settled.file_intent, settled.blocks, metadata)
