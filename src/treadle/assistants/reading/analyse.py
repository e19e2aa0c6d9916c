"""Reads one file: from what is kept, without a model, or as a run of `program`, whose answer is then kept.

An analysis that asks a model is a run like everybody else's; what needs no model needs no run, and the reading says so.
"""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import AssistantSession, Host, Model, Program, RunResult, Runs, UnknownModel, Usage
from treadle.assistants.reading.check import Settled
from treadle.assistants.reading.paths import TOOL, Asked
from treadle.assistants.reading.program import (
    GROUP,
    KEPT,
    About,
    Wanted,
    about_of,
    analysis,
    keep_source,
    kept_source,
    log,
    question_about,
    reading_of,
    sketched,
)
from treadle.assistants.reading.source import Source, hash_of
from treadle.assistants.reading.values import FailedRequest, Fallback, Reading, Stage, Tokens, ToolCall

VERSION = "1"  # of what is asked and how answers are mended; another one makes kept answers void
EMPTY = "Empty file"
LATEST = 5  # runs of a file among which the latest of a text is looked for


class How(Struct, frozen=True):
    """How to read: for whom, by which path, and whether to ask again where an answer is kept."""

    host: Host
    path: Wanted = "auto"
    fresh: bool = False


class Analysis(Struct, frozen=True):
    """A reading, and how it came about, for the debug report: every request, also of paths that failed, and every call."""

    reading: Reading
    source: Source
    stages: tuple[Stage, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    failed: tuple[FailedRequest, ...] = ()


async def analyse(source: Source, how: How) -> Analysis:
    """Read a file."""
    began = time.monotonic()
    found = await without_asking(source, how)
    if found is not None:
        return found
    model = await how.host.model()
    about, stages, failed = await keep_source(how.host, source, how.path), list[Stage](), list[FailedRequest]()
    result = await _run(how.host, model, about, source, stages, failed)
    reading = await conclude(how.host, about, Ended.of(result, model.name, time.monotonic() - began))
    return Analysis(reading, source, tuple(stages), tuple(_calls(result)), tuple(failed))


async def without_asking(source: Source, how: How) -> Analysis | None:
    """The reading where no model has to be asked: of an empty file, a sketch, or what is kept; None where one has to be."""
    if not source.text.strip():
        return Analysis(reading_of(source, Asked("empty", Settled(EMPTY, ())), "there is nothing in it"), source)
    if how.path == "sketch":
        return Analysis(reading_of(source, sketched(source), "no model was wanted"), source)
    try:
        model = await how.host.model()
    except UnknownModel as error:
        return Analysis(reading_of(source, sketched(source), str(error)), source)
    key = _key(hash_of(source.text), source.language, model.name, how.path)
    kept = None if how.fresh else await _kept(how.host, key)
    return None if kept is None else Analysis(replace(kept, metadata=replace(kept.metadata, cached=True)), source)


def _key(text: str, language: str, model: str, path: Wanted) -> str:
    return hash_of(f"{VERSION}\0{text}\0{language}\0{model}\0{path}")


async def _kept(host: Host, key: str) -> Reading | None:
    content = await host.home.cache.get(key, time.time())
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=Reading)
    except msgspec.DecodeError:
        return None  # written by another version


# the run


async def _run(
    host: Host, model: Model, about: About, source: Source, stages: list[Stage], failed: list[FailedRequest]
) -> RunResult[Any]:
    """Have it carried out here. Whoever leaves cancels it: a model's time costs something."""
    from treadle.assistants.reading import assistant

    async def same() -> Model:
        return model

    def lead(host: Host) -> Program:
        return analysis(host, about, source, stages)

    told: dict[str, Any] = msgspec.to_builtins(about)
    session = AssistantSession(replace(assistant, lead=lead), replace(host, model=same), told)
    agent = session.agent(model, priced=True)
    kept: dict[str, Any] = {"journal": host.home.services(), "user": host.user, "origin": host.remember(told)}
    result: Any = None
    async with session.observed(agent) as watchers:
        stream = agent.stream(question_about(about.filename), watchers=watchers, **kept)
        async with aclosing(cast("AsyncGenerator[Any]", stream)) as events:
            async for event in events:
                result = getattr(event, "result", None)
                if hasattr(event, "attempt"):  # a request is tried again
                    failed.append(FailedRequest(time.time(), event.reason))
    assert isinstance(result, RunResult), "the last event carries it"
    if result.stopped == "failed":
        failed.append(FailedRequest(time.time(), result.reason))
    return cast("RunResult[Any]", result)


def _calls(result: RunResult[Any]) -> Iterator[ToolCall]:
    """The calls of a run but the answer, as its journal has them: also those that failed."""
    entries: list[dict[str, Any]] = [msgspec.to_builtins(entry) for entry in result.entries]
    returned = {entry["result"]["call_id"]: entry["result"] for entry in entries if entry["kind"] == "returned"}
    for entry in entries:
        if entry["kind"] == "judged" and entry["call"]["name"] == TOOL:
            call, came = entry["call"], returned.get(entry["call"]["id"], {})
            yield ToolCall(TOOL, call["arguments"], entry["at"], came.get("content", ""), came.get("problem") or "")


class Ended(Struct, frozen=True):
    """How the run of an analysis ended: its answer, or why there is none, and what it cost."""

    run_id: str
    output: Any
    reason: str
    model: str
    usage: Usage
    seconds: float

    @classmethod
    def of(cls, result: RunResult[Any], model: str, seconds: float) -> "Ended":
        """That of a run that was carried out here."""
        output = None if result.stopped == "failed" else result.output
        return cls(result.run_id, output, result.reason or f"it stopped: {result.stopped}", model, result.usage, seconds)


async def conclude(host: Host, about: About, ended: Ended) -> Reading:
    """The reading that a run came to, which is kept; a sketch where it came to none."""
    output: Any = ended.output
    if isinstance(output, Reading):
        found = output
    elif output is not None:
        found = msgspec.convert(output, Reading)
    else:
        source = await kept_source(host, about)
        found = reading_of(source, sketched(source), f"the model's run failed ({ended.reason}); so this is a sketch")
        found = replace(found, metadata=replace(found.metadata, fallbacks=(Fallback("run", ended.reason),)))
        log.error("[FALLBACK] %s: the model's run %s failed: %s", about.filename, ended.run_id, ended.reason)
    figures = {"tokens": Tokens.of(ended.usage), "seconds": round(ended.seconds, 3), "run_id": ended.run_id}
    reading = replace(found, metadata=replace(found.metadata, **figures))
    if found.metadata.execution_path != "sketch":
        key = _key(about.source, about.language, ended.model, about.path)
        await host.home.cache.put(key, GROUP, msgspec.json.encode(reading).decode(), time.time() + KEPT)
    return reading


async def latest_run(host: Host, filename: str, source: str) -> str:
    """The latest analysis of a file with just this text, under way or over; empty where there is none."""
    if not host.home.database.exists():
        return ""
    for info in await Runs(host.home).list(LATEST, agent=GROUP, search=question_about(filename)):
        if info.status in ("open", "answered"):
            found = await run_read(host, info.run_id)
            if found is not None and found.about.source == source:
                return info.run_id
    return ""


class RunRead(Struct, frozen=True):
    """A run of an analysis, as its journal has it: how it stands, what it is about, and how it ended."""

    status: str
    about: About
    ended: Ended | None = None


async def run_read(host: Host, run_id: str) -> RunRead | None:
    """The analysis that a run is; None where it is none."""
    info = await host.home.journal.info(run_id)
    entries: list[dict[str, Any]] = [msgspec.to_builtins(entry) for entry in await host.home.journal.read(run_id)]
    about = about_of(entries[0].get("origin", {}).get("about") or {})
    if about is None:
        return None
    last = entries[-1]
    if info.status == "open":
        return RunRead(info.status, about)
    used = [msgspec.convert(each["usage"], Usage) for each in entries if each.get("usage")]
    seconds = last["at"] - entries[0]["at"]
    reason = last.get("reason") or f"it stopped: {info.status}"
    return RunRead(info.status, about, Ended(run_id, last.get("output"), reason, info.model, sum(used, Usage()), seconds))
