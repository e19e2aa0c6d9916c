"""The reading assistant over HTTP: `/api/iris/…` as clients of the original know it, and the files of a folder for the panel."""

import asyncio
from collections.abc import Coroutine, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute

from treadle import Host, RunNotFound, TreadleError
from treadle.assistants.reading.analyse import Analysis, How, analyse, conclude, latest_run, run_read, without_asking
from treadle.assistants.reading.files import LARGEST, Gone, load_from, source_from, walk
from treadle.assistants.reading.operations import (
    ANALYZE,
    FILE,
    FILES,
    HEALTH,
    PREPARE,
    RUN,
    SET,
    SWITCHES,
    FileAsked,
    FileTold,
    Prepared,
    SourceAsked,
    Switches,
    SwitchesSet,
)
from treadle.assistants.reading.outline.languages import language_of
from treadle.assistants.reading.outline.source import read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.program import Wanted, keep_source, question_about
from treadle.assistants.reading.report import filed, summary
from treadle.assistants.reading.source import Source, hash_of
from treadle.assistants.reading.values import Reading
from treadle.files import workspace_at
from treadle.routes import Described, body_of, query_of, together

MOST_FILES = 2000
MOST_BYTES = 6 * LARGEST  # of a request: JSON may write a character of a file with six
_LOOK = 0.5  # seconds between two looks whether the client is still there


class Service:
    """The endpoints. One outliner and one set of switches for all requests."""

    def __init__(self, host: Host, folder: Path) -> None:
        self._host = host
        self._folder = folder
        self._outliner = Outliner()
        host.at_end(self._outliner.close)
        self._switches = Switches()

    async def analyze(self, request: Request) -> JSONResponse:
        """Read the source code in the request."""
        given = await self._given(request)
        if isinstance(given, JSONResponse):
            return given
        asked, source = given
        found = await _while_wanted(request, analyse(source, How(self._host, self._path(), asked.fresh)))
        return _read(found.reading, asked.metadata or {}, await self._debugged(found))

    async def prepare(self, request: Request) -> JSONResponse:
        """The reading of the source code in the request, where no model has to be asked; else what to begin a run with."""
        given = await self._given(request)
        if isinstance(given, JSONResponse):
            return given
        asked, source = given
        found = await without_asking(source, How(self._host, self._path(), asked.fresh))
        if found is not None:
            return JSONResponse(msgspec.to_builtins(Prepared(True, found.reading, "", {})))
        about: dict[str, Any] = msgspec.to_builtins(await keep_source(self._host, source, self._path()))
        return JSONResponse(msgspec.to_builtins(Prepared(True, None, question_about(source.filename), about)))

    async def run(self, request: Request) -> JSONResponse:
        """The reading that a run came to."""
        run_id = request.path_params["run_id"]
        try:
            found = await run_read(self._host, run_id)
        except RunNotFound as error:
            return _refused(str(error), 404)
        if found is None:
            return _refused(f"Run {run_id} is no analysis of a file.", 404)
        if found.ended is None or found.status == "cancelled":
            return _refused(f"Run {run_id} {'was cancelled' if found.ended else 'is not over yet'}.", 409)
        return _read(await conclude(self._host, found.about, found.ended))

    async def _given(self, request: Request) -> tuple[SourceAsked, Source] | JSONResponse:
        """What is to be read, or why it can't be."""
        asked = _source(await body_of(request, dict[str, Any], most=MOST_BYTES))
        if isinstance(asked, JSONResponse):
            return asked
        try:
            return asked, await source_from(asked.source_code, asked.filename, asked.language, self._outliner)
        except TreadleError as error:
            return _refused(str(error))

    def _path(self) -> Wanted:
        if self._switches.force_fast_path or self._switches.use_raw_source:
            return "fast-path"
        return "auto" if self._switches.use_tool_calling else "two-stage"

    async def _debugged(self, found: Analysis) -> dict[str, Any]:
        """With debugging on, a report on disk, and its figures for the answer."""
        if not self._switches.debug_mode:
            return {}
        folder = self._host.home.folder / "debug_reports"
        _, metrics = await filed(folder, found, self._outliner, raw_source=self._switches.use_raw_source)
        return {"debug_stats": summary(metrics)}

    async def health(self, request: Request) -> JSONResponse:
        """Whether a model can be had, and how the switches stand."""
        try:
            await self._host.model()
            error = None
        except TreadleError as problem:
            error = str(problem)
        state = {"status": "ok", "agent_ready": error is None, "agent_error": error}
        return JSONResponse({**state, **msgspec.to_builtins(self._switches)})

    async def switches(self, request: Request) -> JSONResponse:
        """Show the switches."""
        switches = msgspec.to_builtins(self._switches)
        return JSONResponse({**switches, "status": {name: "enabled" if on else "disabled" for name, on in switches.items()}})

    async def set(self, request: Request) -> JSONResponse:
        """Set some of them."""
        body = await body_of(request, dict[str, Any])
        wrong = [name for name, value in body.items() if name not in SwitchesSet.__struct_fields__ or not isinstance(value, bool)]
        if wrong or not body:
            known = ", ".join(SwitchesSet.__struct_fields__)
            named = ", ".join(wrong[:10]) or "nothing"
            return _refused(f"Switches are {known}, each true or false; {named} can't be set.")
        self._switches = replace(self._switches, **body)
        said = ", ".join([f"{name} {'enabled' if on else 'disabled'}" for name, on in body.items()])
        return JSONResponse({"success": True, **msgspec.to_builtins(self._switches), "message": f"Set: {said}."})

    async def files(self, request: Request) -> JSONResponse:
        """The source files of the folder that the server was started in."""
        try:
            paths = await asyncio.to_thread(lambda: list(islice(walk(workspace_at(self._folder)), MOST_FILES + 1)))
        except TreadleError as error:
            return _refused(str(error))
        found = [path for path in paths[:MOST_FILES] if path.isprintable()]  # what can be asked for by a query string
        return JSONResponse({"folder": self._folder.name, "files": found, "truncated": len(paths) > MOST_FILES})

    async def file(self, request: Request) -> JSONResponse:
        """One of them: its text, what it is written in, and the hash by which a change is noticed."""
        asked = query_of(request, FileAsked)
        try:
            text = read_source(await asyncio.to_thread(self._load, asked.path)).text
        except Gone as error:
            return _refused(str(error)) if asked.unless is None else _told(FileTold(True, gone=True))
        except TreadleError as error:
            return _refused(str(error))
        tag = hash_of(text)
        if asked.unless == tag:
            return _told(FileTold(True, content_hash=tag))
        run_id = await latest_run(self._host, asked.path, tag)
        language = language_of(asked.path, text)
        return _told(FileTold(True, path=asked.path, language=language, content_hash=tag, text=text, run_id=run_id))

    def _load(self, path: str) -> bytes:
        return load_from(workspace_at(self._folder), path)


async def _while_wanted(request: Request, work: Coroutine[Any, Any, Analysis]) -> Analysis:
    """What the work comes to; stopped when nobody waits for it any more, since a model's time costs something."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=_LOOK))[0]:
            if await request.is_disconnected():
                raise HTTPException(499, "Nobody waits for this any more.")
        return task.result()
    finally:
        task.cancel()


def _source(body: dict[str, Any]) -> SourceAsked | JSONResponse:
    """What is to be read, or why it can't be: what is missing is named first."""
    missing = [name for name in ("filename", "source_code") if not isinstance(body.get(name), str) or not body[name].strip()]
    if missing:
        return _refused(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing or empty.")
    try:
        return msgspec.convert(body, SourceAsked)
    except msgspec.ValidationError as error:
        return _refused(f"language has to be text, metadata an object, and fresh true or false: {error}.")


def _told(file: FileTold) -> JSONResponse:
    return JSONResponse(msgspec.to_builtins(file))


def _read(reading: Reading, sent: Mapping[str, Any] = {}, more: Mapping[str, Any] = {}) -> JSONResponse:
    """A reading; among how it was made is what was `sent` with the request."""
    answer = msgspec.to_builtins(reading)
    answer["metadata"] = {**sent, **answer["metadata"], **more}
    return JSONResponse({"success": True, **answer})


def _refused(why: str, status: int = 400) -> JSONResponse:
    return JSONResponse({"success": False, "error": why}, status)


def routes(host: Host) -> list[BaseRoute]:
    """The routes, for files beneath the folder that the server was started in."""
    service = Service(host, host.workspace)
    return together(
        [
            Described("/api/iris/analyze", service.analyze, ANALYZE, "POST"),
            Described("/api/iris/health", service.health, HEALTH),
            Described("/api/iris/debug", service.switches, SWITCHES),
            Described("/api/iris/debug", service.set, SET, "POST"),
            Described("/api/reading/readings", service.prepare, PREPARE, "POST"),
            Described("/api/reading/readings/{run_id}", service.run, RUN),
            Described("/api/reading/files", service.files, FILES),
            Described("/api/reading/file", service.file, FILE),
        ]
    )
