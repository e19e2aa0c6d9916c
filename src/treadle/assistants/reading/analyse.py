"""Reads one file: outlines it, picks a path, falls back where one fails, and keeps the answer.

The order is fast path (small files), tool calling, two stages, sketch. Why a path was taken is always said.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Model, TreadleError, UnknownModel
from treadle.assistants.reading.check import Settled
from treadle.assistants.reading.outline.source import lines_of
from treadle.assistants.reading.outline.values import Outline
from treadle.assistants.reading.parts import parts_of
from treadle.assistants.reading.paths import Asked, fast, tool_calling, two_stage
from treadle.assistants.reading.sketch import sketch
from treadle.assistants.reading.source import Source, hash_of
from treadle.assistants.reading.values import Metadata, Reading, Stage, Tokens

VERSION = "1"  # of what is asked and how answers are mended; another one makes kept answers void
KEPT = 30 * 24 * 3600.0  # seconds an answer is kept
GROUP = "reading"
EMPTY = "Empty file"

Wanted = Literal["auto", "fast-path", "tool-calling", "two-stage", "sketch"]


class Keeper(Protocol):
    """Where answers are kept."""

    async def get(self, key: str, now: float) -> str | None:
        """What was kept, unless its time is over."""
        ...

    async def put(self, key: str, group: str, content: str, until: float) -> None:
        """Keep it until then."""
        ...


class How(Struct, frozen=True):
    """How to read. `model` gives the model, or raises `UnknownModel`; `keeper` None keeps nothing."""

    model: Callable[[], Awaitable[Model]]
    keeper: Keeper | None = None
    path: Wanted = "auto"
    fresh: bool = False  # ask again even where an answer is kept


class Analysis(Struct, frozen=True):
    """A reading, and how it came about, for the debug report."""

    reading: Reading
    source: Source
    stages: tuple[Stage, ...] = ()


def source_of(filename: str, text: str, outline: Outline, notes: Sequence[str] = ()) -> Source:
    """A file that can be read."""
    broken = ("Parts of it couldn't be parsed, so its outline may miss something.",) if outline.broken else ()
    return Source(filename, outline.language, text, lines_of(text), outline, tuple(parts_of(outline)), (*notes, *broken))


async def analyse(source: Source, how: How) -> Analysis:
    """Read a file."""
    began = time.monotonic()
    if not source.text.strip():
        return _made(source, Asked("empty", Settled(EMPTY, ()), ()), "there is nothing in it", "", began)
    if how.path == "sketch":
        return _made(source, _sketched(source), "no model was wanted", "", began)
    try:
        model = await how.model()
    except UnknownModel as error:
        return _made(source, _sketched(source), str(error), "", began)
    key = _key(source, model.name, how.path)
    kept = None if how.fresh else await _kept(key, how.keeper)
    if kept is not None:
        return Analysis(replace(kept, metadata=replace(kept.metadata, cached=True)), source)
    asked, why = await _ask(model, source, how.path)
    found = _made(source, asked, why, model.name, began)
    if how.keeper is not None and asked.path != "sketch":
        await how.keeper.put(key, GROUP, msgspec.json.encode(found.reading).decode(), time.time() + KEPT)
    return found


def _key(source: Source, model: str, path: Wanted) -> str:
    return hash_of(f"{VERSION}\0{hash_of(source.text)}\0{source.language}\0{model}\0{path}")


async def _kept(key: str, keeper: Keeper | None) -> Reading | None:
    content = None if keeper is None else await keeper.get(key, time.time())
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=Reading)
    except msgspec.DecodeError:
        return None  # written by another version


Ask = Callable[[Model, Source], Awaitable[Asked]]


async def _ask(model: Model, source: Source, wanted: Wanted) -> tuple[Asked, str]:
    """The first path that works, and why it was that one."""
    paths, why = _order(source, wanted)
    failed: list[str] = []
    for name, ask in paths:
        try:
            return await ask(model, source), "; ".join([*failed, why if not failed else f"so {name} was tried"])
        except TreadleError as error:
            failed.append(f"{name} failed ({_short(str(error))})")
    return _sketched(source), "; ".join([*failed, "so this is a sketch"])


def _order(source: Source, wanted: Wanted) -> tuple[list[tuple[str, Ask]], str]:
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


def _sketched(source: Source) -> Asked:
    return Asked("sketch", sketch(source.outline, source.parts), ())


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"


def _made(source: Source, asked: Asked, why: str, model: str, began: float) -> Analysis:
    settled = asked.settled
    metadata = Metadata(
        execution_path=asked.path,
        why=why,
        tool_reads=asked.reads,
        tool_call_count=len(asked.reads),
        tokens=sum([stage.tokens for stage in asked.stages], Tokens()),
        seconds=round(time.monotonic() - began, 3),
        model=model if asked.path != "sketch" else "",
        language=source.language,
        content_hash=hash_of(source.text),
        coverage=round(settled.coverage, 3),
        notes=" ".join([*source.notes, *settled.notes]),
    )
    return Analysis(Reading(settled.file_intent, settled.blocks, metadata), source, asked.stages)
