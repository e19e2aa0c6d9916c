"""The reading assistant over HTTP: `/api/iris/…` as clients of the original know it, and the files of a folder for the panel."""

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

from treadle import Host, RunNotFound, TreadleError
from treadle.assistants.reading.analyse import Analysis, How, analyse, conclude, latest_run, run_read, without_asking
from treadle.assistants.reading.files import LARGEST, Gone, load_from, source_from, walk
from treadle.assistants.reading.outline.languages import language_of
from treadle.assistants.reading.outline.source import read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.program import Wanted, keep_source, question_about
from treadle.assistants.reading.report import filed, summary
from treadle.assistants.reading.repository_routes import RepositoryApi, readable, while_wanted
from treadle.assistants.reading.source import hash_of
from treadle.assistants.reading.values import Block, Metadata, Reading
from treadle.files import workspace_at
from treadle.routes import Returns, get, json_response, post, routes_of

MOST_FILES = 2000
MOST_BYTES = 6 * LARGEST  # of a request: JSON may write a character of a file with six


# What is sent


class SourceAsked(Struct, frozen=True):
    """Source code to be read. `metadata` comes back with the answer; `fresh` asks anew where an answer is kept."""

    filename: Annotated[str, Meta(min_length=1, examples=["shop.js"])]
    source_code: Annotated[str, Meta(min_length=1, examples=["export const price = () => 3;\n"])]
    language: Annotated[str, Meta(examples=["javascript"])] = ""  # as the name or the content tells
    metadata: dict[str, Any] | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        if empty := [name for name in ("filename", "source_code") if not getattr(self, name).strip()]:
            raise ValueError(f"{' and '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty")


class SwitchesSet(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Switches to set, at least one."""

    debug_mode: bool | UnsetType = UNSET
    force_fast_path: bool | UnsetType = UNSET
    use_raw_source: bool | UnsetType = UNSET
    use_tool_calling: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not self.given():
            raise ValueError(f"set at least one of {', '.join(self.__struct_fields__)}")

    def given(self) -> dict[str, bool]:
        """Those that are to be set."""
        return {name: on for name, on in msgspec.structs.asdict(self).items() if on is not UNSET}


class FileAsked(Struct, frozen=True):
    """A file by its path; `unless` it still has this hash."""

    path: str = ""
    unless: str | None = None


# What comes back


class DebugStats(Struct, frozen=True):
    """How good the outline was, of which a report was filed."""

    integrity_score: float
    has_quality_warning: bool
    node_reduction_ratio: float
    context_compression_ratio: float
    comment_retention_score: float


class ReadingMetadata(Metadata, frozen=True, kw_only=True):
    """How a reading was made, among what came with the request."""

    debug_stats: DebugStats | UnsetType = UNSET


class Read(Struct, frozen=True):
    """What a file is for, and which of its parts belong together."""

    success: Literal[True]
    file_intent: str
    responsibilities: tuple[Block, ...]
    metadata: ReadingMetadata


class Switches(Struct, frozen=True):
    """How answers are made."""

    debug_mode: bool = True
    force_fast_path: bool = False
    use_raw_source: bool = False
    use_tool_calling: bool = True


class Health(Switches, frozen=True, kw_only=True):
    """Whether a model can be had, and the switches."""

    status: Literal["ok"] = "ok"
    agent_ready: bool
    agent_error: str | None


class SwitchesShown(Switches, frozen=True, kw_only=True):
    """The switches, twice: as they are, and in words."""

    status: dict[str, Literal["enabled", "disabled"]]


class SwitchesTold(Switches, frozen=True, kw_only=True):
    """The switches, after some were set."""

    success: Literal[True]
    message: str


class FilesListed(Struct, frozen=True):
    """The source files of a folder."""

    folder: str
    files: list[str]
    truncated: bool


class Prepared(Struct, frozen=True):
    """A reading for which no model has to be asked; or, without one, what to begin a run with: POST /api/runs."""

    success: Literal[True]
    reading: Reading | None
    message: str
    context: dict[str, Any]


class FileTold(Struct, frozen=True, omit_defaults=True):
    """A file. One that is still the same has its hash only, one that is gone not even that.

    `run_id` is the latest analysis of just this text, under way or over.
    """

    success: Literal[True]
    gone: bool = False
    path: str = ""
    language: str | UnsetType | None = UNSET
    content_hash: str = ""
    text: str | UnsetType = UNSET
    run_id: str = ""


# The handlers


class Service:
    """The handlers. One set of switches for all requests."""

    def __init__(self, host: Host, folder: Path, outliner: Outliner) -> None:
        self._host = host
        self._folder = folder
        self._outliner = outliner
        self._switches = Switches()

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
    async def analyze(self, request: Request, body: SourceAsked) -> Annotated[Response, Returns(200, "the reading", body=Read)]:
        """Read source code: what it is for, and which of its parts belong together."""
        with readable():
            source = await source_from(body.source_code, body.filename, body.language, self._outliner)
        found = await while_wanted(request, analyse(source, How(self._host, self._path(), body.fresh)))
        answer = _read(found.reading, body.metadata or {}, await self._debugged(found))
        if not found.reading.metadata.is_failed:
            return json_response(answer)
        label = found.reading.metadata.label
        return json_response({**answer, "success": False, "error": label, "detail": label}, 502)

    @post("/api/reading/readings", errors={400: "something is missing, or can't be read"}, most=MOST_BYTES)
    async def prepare(self, body: SourceAsked) -> Prepared:
        """What is needed to have source code read as a run: nothing, where its reading is kept or no model can be had."""
        with readable():
            source = await source_from(body.source_code, body.filename, body.language, self._outliner)
        found = await without_asking(source, How(self._host, self._path(), body.fresh))
        if found is not None:
            return Prepared(True, found.reading, "", {})
        about: dict[str, Any] = msgspec.to_builtins(await keep_source(self._host, source, self._path()))
        return Prepared(True, None, question_about(source.filename), about)

    @get(
        "/api/reading/readings/{run_id}",
        errors={404: "there is no such run, or it is no analysis", 409: "it isn't over, or was cancelled"},
    )
    async def run(self, run_id: str) -> Annotated[Response, Returns(200, "the reading", body=Read)]:
        """The reading that a run came to."""
        try:
            found = await run_read(self._host, run_id)
        except RunNotFound as error:
            raise HTTPException(404, str(error)) from error
        if found is None:
            raise HTTPException(404, f"Run {run_id} is no analysis of a file.")
        if found.ended is None or found.status == "cancelled":
            raise HTTPException(409, f"Run {run_id} {'was cancelled' if found.ended else 'is not over yet'}.")
        return json_response(_read(await conclude(self._host, found.about, found.ended)))

    def _path(self) -> Wanted:
        if self._switches.force_fast_path or self._switches.use_raw_source:
            return "fast-path"
        return "auto" if self._switches.use_tool_calling else "two-stage"

    async def _debugged(self, found: Analysis) -> dict[str, Any]:
        """With debugging on, a report on disk, and its figures for the response."""
        if not self._switches.debug_mode:
            return {}
        folder = self._host.home.folder / "debug_reports"
        _, metrics = await filed(folder, found, self._outliner, raw_source=self._switches.use_raw_source)
        return {"debug_stats": summary(metrics)}

    @get("/api/iris/health")
    async def health(self) -> Health:
        """Whether a model can be had."""
        try:
            await self._host.model()
            error = None
        except TreadleError as problem:
            error = str(problem)
        return Health(**msgspec.structs.asdict(self._switches), agent_ready=error is None, agent_error=error)

    @get("/api/iris/debug")
    async def switches(self) -> SwitchesShown:
        """How answers are made."""
        switches: dict[str, bool] = msgspec.structs.asdict(self._switches)
        return SwitchesShown(**switches, status={name: "enabled" if on else "disabled" for name, on in switches.items()})

    @post("/api/iris/debug", errors={400: "there is no such switch"})
    async def set(self, body: SwitchesSet) -> SwitchesTold:
        """Set how answers are made."""
        self._switches = replace(self._switches, **body.given())
        said = ", ".join([f"{name} {'enabled' if on else 'disabled'}" for name, on in body.given().items()])
        return SwitchesTold(**msgspec.structs.asdict(self._switches), success=True, message=f"Set: {said}.")

    @get("/api/reading/files")
    async def files(self) -> FilesListed:
        """The source files of the folder that the server was started in."""
        with readable():
            paths = await asyncio.to_thread(lambda: list(islice(walk(workspace_at(self._folder)), MOST_FILES + 1)))
        found = [path for path in paths[:MOST_FILES] if path.isprintable()]  # what can be asked for by a query string
        return FilesListed(self._folder.name, found, len(paths) > MOST_FILES)

    @get("/api/reading/file", errors={400: "it can't be read"})
    async def file(self, query: FileAsked) -> FileTold:
        """One of them, with its text."""
        with readable():
            try:
                text = read_source(await asyncio.to_thread(self._load, query.path)).text
            except Gone:
                if query.unless is None:
                    raise
                return FileTold(True, gone=True)
        tag = hash_of(text)
        if query.unless == tag:
            return FileTold(True, content_hash=tag)
        run_id = await latest_run(self._host, query.path, tag)
        language = language_of(query.path, text)
        return FileTold(True, path=query.path, language=language, content_hash=tag, text=text, run_id=run_id)

    def _load(self, path: str) -> bytes:
        return load_from(workspace_at(self._folder), path)


def _read(reading: Reading, sent: Mapping[str, Any] = {}, more: Mapping[str, Any] = {}) -> dict[str, Any]:
    """A reading as JSON; among how it was made is what was `sent` with the request."""
    answer = msgspec.to_builtins(reading)
    answer["metadata"] = {**sent, **answer["metadata"], **more}
    return {"success": True, **answer}


def routes(host: Host) -> list[BaseRoute]:
    """The routes, for files beneath the folder that the server was started in."""
    outliner = Outliner()
    host.at_end(outliner.close)
    return routes_of(Service(host, host.workspace, outliner), RepositoryApi(host, host.workspace, outliner))
