"""HTTP API of the reading assistant: `/api/iris/…` compatible with the original, and a folder's files for the panel."""

import asyncio
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle import TreadleError
from treadle.assistant import Host
from treadle.assistants.reading.analysis import (
    Analysis,
    AnalysisOptions,
    analyse,
    analyse_without_model,
    find_latest_run,
    finish_analysis,
    load_analysis_run,
)
from treadle.assistants.reading.analysis_program import RequestedPath, analysis_question, store_source
from treadle.assistants.reading.debug_report import file_report, summarize_metrics
from treadle.assistants.reading.outline.languages import detect_language
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source
from treadle.assistants.reading.reading_types import AnalysisMetadata, FileReading, ResponsibilityBlock
from treadle.assistants.reading.repository_routes import RepositoryApi, report_unreadable, run_until_disconnect
from treadle.assistants.reading.source_files import (
    MAX_SOURCE_BYTES,
    SourceFileGone,
    hash_text,
    iter_source_files,
    load_workspace_file,
    outline_source,
)
from treadle.errors import RunNotFound
from treadle.files import workspace_at
from treadle.routes import Returns, get, json_response, post, routes_of

MOST_FILES = 2000
MOST_BYTES = 6 * MAX_SOURCE_BYTES  # of a request: JSON may write a character of a file with six


# What is sent


class AnalyzeRequest(Struct, frozen=True):
    """Source code to analyse. `metadata` is returned with the answer; `fresh` ignores a cached answer."""

    filename: Annotated[str, Meta(min_length=1, examples=["shop.js"])]
    source_code: Annotated[str, Meta(min_length=1, examples=["export const price = () => 3;\n"])]
    language: Annotated[str, Meta(examples=["javascript"])] = ""  # as the name or the content tells
    metadata: dict[str, Any] | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        if empty := [name for name in ("filename", "source_code") if not getattr(self, name).strip()]:
            raise ValueError(f"{' and '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty")


class SwitchesUpdate(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Switches to set, at least one."""

    debug_mode: bool | UnsetType = UNSET
    force_fast_path: bool | UnsetType = UNSET
    use_raw_source: bool | UnsetType = UNSET
    use_tool_calling: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not self.given():
            raise ValueError(f"set at least one of {', '.join(self.__struct_fields__)}")

    def given(self) -> dict[str, bool]:
        """Return the switches to set."""
        return {name: on for name, on in msgspec.structs.asdict(self).items() if on is not UNSET}


class SourceFileQuery(Struct, frozen=True):
    """A file by its path; `unless` it still has this hash."""

    path: str = ""
    unless: str | None = None


# What comes back


class DebugStats(Struct, frozen=True):
    """Quality metrics of the outline for which a report was written."""

    integrity_score: float
    has_quality_warning: bool
    node_reduction_ratio: float
    context_compression_ratio: float
    comment_retention_score: float


class ReadingMetadata(AnalysisMetadata, frozen=True, kw_only=True):
    """How a reading was made, merged with the request's metadata."""

    debug_stats: DebugStats | UnsetType = UNSET


class AnalyzeResponse(Struct, frozen=True):
    """A file's purpose, and which of its parts belong together."""

    success: Literal[True]
    file_intent: str
    responsibilities: tuple[ResponsibilityBlock, ...]
    metadata: ReadingMetadata


class ReadingSwitches(Struct, frozen=True):
    """Switches that control how answers are made."""

    debug_mode: bool = True
    force_fast_path: bool = False
    use_raw_source: bool = False
    use_tool_calling: bool = True


class ReadingHealth(ReadingSwitches, frozen=True, kw_only=True):
    """Whether a model is available, and the switches."""

    status: Literal["ok"] = "ok"
    agent_ready: bool
    agent_error: str | None


class SwitchesResponse(ReadingSwitches, frozen=True, kw_only=True):
    """The switches, as booleans and as text."""

    status: dict[str, Literal["enabled", "disabled"]]


class SwitchesUpdateResponse(ReadingSwitches, frozen=True, kw_only=True):
    """The switches after an update."""

    success: Literal[True]
    message: str


class SourceFileList(Struct, frozen=True):
    """The source files of a folder."""

    folder: str
    files: list[str]
    truncated: bool


class PrepareResponse(Struct, frozen=True):
    """A reading that needs no model; or, without one, the arguments of a run: POST /api/runs."""

    success: Literal[True]
    reading: FileReading | None
    message: str
    context: dict[str, Any]


class SourceFileResponse(Struct, frozen=True, omit_defaults=True):
    """A file. An unchanged one has its hash only, a deleted one not even that.

    `run_id` is the latest analysis of exactly this text, running or finished.
    """

    success: Literal[True]
    gone: bool = False
    path: str = ""
    language: str | UnsetType | None = UNSET
    content_hash: str = ""
    text: str | UnsetType = UNSET
    run_id: str = ""


# The handlers


class ReadingApi:
    """HTTP handlers of the reading assistant. One set of switches for all requests."""

    def __init__(self, host: Host, folder: Path, outliner: Outliner) -> None:
        self._host = host
        self._folder = folder
        self._outliner = outliner
        self._switches = ReadingSwitches()

    @post(
        "/api/iris/analyze",
        errors={
            400: "something is missing, or can't be read",
            499: "the client has disconnected",
            502: "the model failed, or nothing it answered can be used; a sketch comes with the error",
            503: "the model can't be had; the sentence says what to do",
        },
        runs=True,
        most=MOST_BYTES,
    )
    async def analyze(
        self, request: Request, body: AnalyzeRequest
    ) -> Annotated[Response, Returns(200, "the reading", body=AnalyzeResponse)]:
        """Analyse source code: its purpose, and which of its parts belong together."""
        with report_unreadable():
            source = await outline_source(body.source_code, body.filename, body.language, self._outliner)
        found = await run_until_disconnect(
            request, analyse(source, AnalysisOptions(self._host, self._requested_path(), body.fresh))
        )
        answer = _reading_to_json(found.reading, body.metadata or {}, await self._debug_stats(found))
        if not found.reading.metadata.is_failed:
            return json_response(answer)
        label = found.reading.metadata.label
        return json_response({**answer, "success": False, "error": label, "detail": label}, 502)

    @post("/api/reading/readings", errors={400: "something is missing, or can't be read"}, most=MOST_BYTES)
    async def prepare(self, body: AnalyzeRequest) -> PrepareResponse:
        """Prepare a run that analyses source code; no run is needed if its reading is cached or no model is available."""
        with report_unreadable():
            source = await outline_source(body.source_code, body.filename, body.language, self._outliner)
        found = await analyse_without_model(source, AnalysisOptions(self._host, self._requested_path(), body.fresh))
        if found is not None:
            return PrepareResponse(True, found.reading, "", {})
        about: dict[str, Any] = msgspec.to_builtins(await store_source(self._host, source, self._requested_path()))
        return PrepareResponse(True, None, analysis_question(source.filename), about)

    @get(
        "/api/reading/readings/{run_id}",
        errors={404: "there is no such run, or it is no analysis", 409: "it isn't over, or was cancelled"},
    )
    async def run(self, run_id: str) -> Annotated[Response, Returns(200, "the reading", body=AnalyzeResponse)]:
        """Return the reading that a run produced."""
        try:
            found = await load_analysis_run(self._host, run_id)
        except RunNotFound as error:
            raise HTTPException(404, str(error)) from error
        if found is None:
            raise HTTPException(404, f"Run {run_id} is no analysis of a file.")
        if found.ended is None or found.status == "cancelled":
            raise HTTPException(409, f"Run {run_id} {'was cancelled' if found.ended else 'is not over yet'}.")
        return json_response(_reading_to_json(await finish_analysis(self._host, found.about, found.ended)))

    def _requested_path(self) -> RequestedPath:
        if self._switches.force_fast_path or self._switches.use_raw_source:
            return "fast-path"
        return "auto" if self._switches.use_tool_calling else "two-stage"

    async def _debug_stats(self, found: Analysis) -> dict[str, Any]:
        """Write a report if debugging is on, and return its metrics for the response."""
        if not self._switches.debug_mode:
            return {}
        folder = self._host.home.folder / "debug_reports"
        _, metrics = await file_report(folder, found, self._outliner, raw_source=self._switches.use_raw_source)
        return {"debug_stats": summarize_metrics(metrics)}

    @get("/api/iris/health")
    async def health(self) -> ReadingHealth:
        """Return whether a model is available."""
        try:
            await self._host.model()
            error = None
        except TreadleError as problem:
            error = str(problem)
        return ReadingHealth(**msgspec.structs.asdict(self._switches), agent_ready=error is None, agent_error=error)

    @get("/api/iris/debug")
    async def switches(self) -> SwitchesResponse:
        """Return the switches that control how answers are made."""
        switches: dict[str, bool] = msgspec.structs.asdict(self._switches)
        return SwitchesResponse(**switches, status={name: "enabled" if on else "disabled" for name, on in switches.items()})

    @post("/api/iris/debug", errors={400: "there is no such switch"})
    async def set(self, body: SwitchesUpdate) -> SwitchesUpdateResponse:
        """Set the switches that control how answers are made."""
        self._switches = replace(self._switches, **body.given())
        said = ", ".join([f"{name} {'enabled' if on else 'disabled'}" for name, on in body.given().items()])
        return SwitchesUpdateResponse(**msgspec.structs.asdict(self._switches), success=True, message=f"Set: {said}.")

    @get("/api/reading/files")
    async def files(self) -> SourceFileList:
        """List the source files of the folder that the server was started in."""
        with report_unreadable():
            paths = await asyncio.to_thread(lambda: list(islice(iter_source_files(workspace_at(self._folder)), MOST_FILES + 1)))
        found = [path for path in paths[:MOST_FILES] if path.isprintable()]  # what can be asked for by a query string
        return SourceFileList(self._folder.name, found, len(paths) > MOST_FILES)

    @get("/api/reading/file", errors={400: "it can't be read"})
    async def file(self, query: SourceFileQuery) -> SourceFileResponse:
        """Return one source file with its text."""
        with report_unreadable():
            try:
                text = decode_source(await asyncio.to_thread(self._load, query.path)).text
            except SourceFileGone:
                if query.unless is None:
                    raise
                return SourceFileResponse(True, gone=True)
        tag = hash_text(text)
        if query.unless == tag:
            return SourceFileResponse(True, content_hash=tag)
        run_id = await find_latest_run(self._host, query.path, tag)
        language = detect_language(query.path, text)
        return SourceFileResponse(True, path=query.path, language=language, content_hash=tag, text=text, run_id=run_id)

    def _load(self, path: str) -> bytes:
        return load_workspace_file(workspace_at(self._folder), path)


def _reading_to_json(reading: FileReading, sent: Mapping[str, Any] = {}, more: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Serialize a reading to JSON; its metadata includes what was `sent` with the request."""
    answer = msgspec.to_builtins(reading)
    answer["metadata"] = {**sent, **answer["metadata"], **more}
    return {"success": True, **answer}


def routes(host: Host) -> list[BaseRoute]:
    """Build the routes, for files below the folder that the server was started in."""
    outliner = Outliner()
    host.on_close(outliner.close)
    return routes_of(ReadingApi(host, host.workspace, outliner), RepositoryApi(host, host.workspace, outliner))
