"""Analyse one file: from the cache, without a model, or as a run of `analysis_program`, whose answer is then cached.

An analysis that needs a model is an ordinary run; one that needs no model needs no run, and the reading says so.
"""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Model, RunResult, Runs, Usage
from treadle.assistant import AssistantSession, Host
from treadle.assistants.reading.analysis_program import (
    GROUP,
    RETENTION_SECONDS,
    AnalysisSubject,
    RequestedPath,
    analysis_question,
    analysis_subject,
    build_analysis_program,
    build_reading,
    load_stored_source,
    log,
    sketch_source,
    store_source,
)
from treadle.assistants.reading.answer_validation import CheckedAnswer
from treadle.assistants.reading.execution_paths import TOOL, PathResult
from treadle.assistants.reading.reading_types import FailedPath, FailedRequest, FileReading, Stage, TokenUsage, ToolCall
from treadle.assistants.reading.source_files import OutlinedSource, hash_text
from treadle.errors import UnknownModel
from treadle.plans import FixedPlan

VERSION = "2"  # of what is asked and how answers are mended; another one makes kept answers void
EMPTY = "Empty file"
RECENT_RUNS = 5  # runs of a file among which the latest of a text is looked for


class AnalysisOptions(Struct, frozen=True):
    """Options of an analysis: the host, the execution path, and whether to ignore a cached answer."""

    host: Host
    path: RequestedPath = "auto"
    fresh: bool = False


class Analysis(Struct, frozen=True):
    """A reading and how it was made, for the debug report: every request, including failed paths, and every call."""

    reading: FileReading
    source: OutlinedSource
    stages: tuple[Stage, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    failed: tuple[FailedRequest, ...] = ()


async def analyse(source: OutlinedSource, how: AnalysisOptions) -> Analysis:
    """Analyse a file."""
    began = time.monotonic()
    found = await analyse_without_model(source, how)
    if found is not None:
        return found
    model = await how.host.model()
    about, stages, failed = await store_source(how.host, source, how.path), list[Stage](), list[FailedRequest]()
    result = await _run_analysis(how.host, model, about, source, stages, failed)
    reading = await finish_analysis(how.host, about, AnalysisOutcome.of(result, model.name, time.monotonic() - began))
    return Analysis(reading, source, tuple(stages), tuple(_collect_calls(result)), tuple(failed))


async def analyse_without_model(source: OutlinedSource, how: AnalysisOptions) -> Analysis | None:
    """Return the reading if no model is needed (an empty file, a sketch, or a cached answer), else None."""
    if not source.text.strip():
        return Analysis(build_reading(source, PathResult("empty", CheckedAnswer(EMPTY, ())), "there is nothing in it"), source)
    if how.path == "sketch":
        return Analysis(build_reading(source, sketch_source(source), "no model was wanted"), source)
    try:
        model = await how.host.model()
    except UnknownModel as error:
        return Analysis(build_reading(source, sketch_source(source), str(error)), source)
    key = _cache_key(hash_text(source.text), source.language, model.name, how.path)
    kept = None if how.fresh else await _load_cached_reading(how.host, key)
    return None if kept is None else Analysis(replace(kept, metadata=replace(kept.metadata, cached=True)), source)


def _cache_key(text: str, language: str, model: str, path: RequestedPath) -> str:
    return hash_text(f"{VERSION}\0{text}\0{language}\0{model}\0{path}")


async def _load_cached_reading(host: Host, key: str) -> FileReading | None:
    content = await host.home.cache.get(key, time.time())
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=FileReading)
    except msgspec.DecodeError:
        return None  # written by another version


# the run


async def _run_analysis(
    host: Host, model: Model, about: AnalysisSubject, source: OutlinedSource, stages: list[Stage], failed: list[FailedRequest]
) -> RunResult[Any]:
    """Run the analysis in this process. It is cancelled when the caller leaves: a model's time costs something."""
    from treadle.assistants.reading import assistant

    async def same() -> Model:
        return model

    def lead(host: Host) -> FixedPlan:
        return build_analysis_program(host, about, source, stages)

    told: dict[str, Any] = msgspec.to_builtins(about)
    session = AssistantSession(replace(assistant, lead=lead), replace(host, model=same), told)
    agent = session.agent(model, priced=True)
    kept: dict[str, Any] = {"journal": host.home.services(), "user": host.user, "origin": host.remember(told)}
    result: Any = None
    async with session.observe_turn(agent) as watchers:
        stream = agent.stream(analysis_question(about.filename), watchers=watchers, **kept)
        async with aclosing(cast("AsyncGenerator[Any]", stream)) as events:
            async for event in events:
                result = getattr(event, "result", None)
                if hasattr(event, "attempt"):  # a request is tried again
                    failed.append(FailedRequest(time.time(), event.reason))
    assert isinstance(result, RunResult), "the last event carries it"
    if result.stopped == "failed":
        failed.append(FailedRequest(time.time(), result.reason))
    return cast("RunResult[Any]", result)


def _collect_calls(result: RunResult[Any]) -> Iterator[ToolCall]:
    """Yield the run's calls except the answer, from its journal, including those that failed."""
    entries: list[dict[str, Any]] = [msgspec.to_builtins(entry) for entry in result.entries]
    returned = {entry["result"]["call_id"]: entry["result"] for entry in entries if entry["kind"] == "returned"}
    for entry in entries:
        if entry["kind"] == "judged" and entry["call"]["name"] == TOOL:
            call, came = entry["call"], returned.get(entry["call"]["id"], {})
            yield ToolCall(TOOL, call["arguments"], entry["at"], came.get("content", ""), came.get("problem") or "")


class AnalysisOutcome(Struct, frozen=True):
    """Outcome of an analysis run: its answer, or why there is none, and what it cost."""

    run_id: str
    output: Any
    reason: str
    model: str
    usage: Usage
    seconds: float

    @classmethod
    def of(cls, result: RunResult[Any], model: str, seconds: float) -> "AnalysisOutcome":
        """Build the outcome of a run that was executed in this process."""
        output = result.output_or_none or result.answer_at_limit
        return cls(result.run_id, output, result.reason or f"it stopped: {result.stopped}", model, result.usage, seconds)


async def finish_analysis(host: Host, about: AnalysisSubject, ended: AnalysisOutcome) -> FileReading:
    """Return the reading that a run produced, and cache it; a sketch if the run failed."""
    output: Any = ended.output
    if isinstance(output, FileReading):
        found = output
    elif isinstance(output, dict):
        found = msgspec.convert(output, FileReading)
    else:
        source = await load_stored_source(host, about)
        found = build_reading(source, sketch_source(source), f"the model's run failed ({ended.reason}); so this is a sketch")
        found = replace(found, metadata=replace(found.metadata, fallbacks=(FailedPath("run", ended.reason),)))
        log.error("[FALLBACK] %s: the model's run %s failed: %s", about.filename, ended.run_id, ended.reason)
    figures = {"tokens": TokenUsage.of(ended.usage), "seconds": round(ended.seconds, 3), "run_id": ended.run_id}
    reading = replace(found, metadata=replace(found.metadata, **figures))
    if found.metadata.execution_path != "sketch":
        key = _cache_key(about.source, about.language, ended.model, about.path)
        await host.home.cache.put(key, GROUP, msgspec.json.encode(reading).decode(), time.time() + RETENTION_SECONDS)
    return reading


async def find_latest_run(host: Host, filename: str, source: str) -> str:
    """Return the id of the latest analysis of a file with exactly this text, running or finished; empty if there is none."""
    if not host.home.database.exists():
        return ""
    for info in await Runs(host.home).list(RECENT_RUNS, agent=GROUP, search=analysis_question(filename)):
        if info.status in ("open", "answered"):
            found = await load_analysis_run(host, info.run_id)
            if found is not None and found.about.source == source:
                return info.run_id
    return ""


class AnalysisRun(Struct, frozen=True):
    """An analysis run as its journal records it: its status, its subject, and its outcome."""

    status: str
    about: AnalysisSubject
    ended: AnalysisOutcome | None = None


async def load_analysis_run(host: Host, run_id: str) -> AnalysisRun | None:
    """Load an analysis run from the journal; None if the run is not an analysis."""
    info = await host.home.journal.info(run_id)
    entries: list[dict[str, Any]] = [msgspec.to_builtins(entry) for entry in await host.home.journal.read(run_id)]
    about = analysis_subject(entries[0].get("origin", {}).get("about") or {})
    if about is None:
        return None
    last = entries[-1]
    if info.status == "open":
        return AnalysisRun(info.status, about)
    used = [msgspec.convert(each["usage"], Usage) for each in entries if each.get("usage")]
    seconds = last["at"] - entries[0]["at"]
    reason = last.get("reason") or f"it stopped: {info.status}"
    return AnalysisRun(
        info.status, about, AnalysisOutcome(run_id, last.get("output"), reason, info.model, sum(used, Usage()), seconds)
    )
