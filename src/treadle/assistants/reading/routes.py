"""The reading assistant over HTTP: `/api/iris/…` as clients of the original know it, and the files of a folder for the panel."""

import asyncio
from collections.abc import Coroutine
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from treadle import Host, TreadleError
from treadle.assistants.reading.analyse import Analysis, How, Wanted, analyse
from treadle.assistants.reading.files import load, source_from, walk
from treadle.assistants.reading.outline.languages import language_of
from treadle.assistants.reading.outline.source import read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.report import filed, summary
from treadle.assistants.reading.source import hash_of
from treadle.assistants.reading.tools import beneath
from treadle.routes import body_of

MOST_FILES = 2000
_LOOK = 0.5  # seconds between two looks whether the client is still there


class Switches(Struct, frozen=True):
    """What `/api/iris/debug` sets."""

    debug_mode: bool = True
    force_fast_path: bool = False
    use_raw_source: bool = False
    use_tool_calling: bool = True


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
        body = await body_of(request, dict[str, Any])
        missing = [name for name in ("filename", "source_code") if not isinstance(body.get(name), str) or not body[name].strip()]
        if missing:
            return _refused(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing or empty.")
        language = body.get("language", "javascript")
        extra: Any = body.get("metadata") or {}
        if not isinstance(language, str) or not isinstance(extra, dict):
            return _refused("language has to be text, and metadata an object.")
        try:
            source = await source_from(body["source_code"], body["filename"], language, self._outliner)
        except TreadleError as error:
            return _refused(str(error))
        how = How(self._host.model, self._host.home.cache, self._path(), fresh=body.get("fresh") is True)
        found = await _while_wanted(request, analyse(source, how))
        answer = msgspec.to_builtins(found.reading)
        answer["metadata"] = {**extra, **answer["metadata"], **await self._debugged(found)}
        return JSONResponse({"success": True, **answer})

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

    async def debug(self, request: Request) -> JSONResponse:
        """Show the switches, or set some."""
        if request.method != "POST":
            switches = msgspec.to_builtins(self._switches)
            return JSONResponse({**switches, "status": {name: "enabled" if on else "disabled" for name, on in switches.items()}})
        body = await body_of(request, dict[str, Any])
        wrong = [name for name, value in body.items() if name not in Switches.__struct_fields__ or not isinstance(value, bool)]
        if wrong or not body:
            known = ", ".join(Switches.__struct_fields__)
            return _refused(f"Switches are {known}, each true or false; {', '.join(wrong) or 'nothing'} can't be set.")
        self._switches = replace(self._switches, **body)
        said = ", ".join([f"{name} {'enabled' if on else 'disabled'}" for name, on in body.items()])
        return JSONResponse({"success": True, **msgspec.to_builtins(self._switches), "message": f"Set: {said}."})

    async def files(self, request: Request) -> JSONResponse:
        """The source files of the folder that the server was started in."""
        paths = await asyncio.to_thread(lambda: list(islice(walk(self._folder), MOST_FILES + 1)))
        found = [path.relative_to(self._folder).as_posix() for path in paths[:MOST_FILES]]
        return JSONResponse({"folder": self._folder.name, "files": found, "truncated": len(paths) > MOST_FILES})

    async def file(self, request: Request) -> JSONResponse:
        """One of them: its text, what it is written in, and the hash by which a change is noticed."""
        name = request.query_params.get("path", "")
        if "unless" in request.query_params and not beneath(self._folder, name).exists():
            return JSONResponse({"success": True, "gone": True})
        try:
            text = read_source(load(beneath(self._folder, name), name or "The folder itself")).text
        except TreadleError as error:
            return _refused(str(error))
        tag = hash_of(text)
        if request.query_params.get("unless") == tag:
            return JSONResponse({"success": True, "content_hash": tag})
        return JSONResponse({"success": True, "path": name, "language": language_of(name, text), "content_hash": tag, "text": text})


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


def _refused(why: str) -> JSONResponse:
    return JSONResponse({"success": False, "error": why}, 400)


def routes(host: Host) -> list[Route]:
    """The routes, for files beneath the folder that the server was started in."""
    service = Service(host, host.workspace.resolve())
    return [
        Route("/api/iris/analyze", service.analyze, methods=["POST"]),
        Route("/api/iris/health", service.health),
        Route("/api/iris/debug", service.debug, methods=["GET", "POST"]),
        Route("/api/reading/files", service.files),
        Route("/api/reading/file", service.file),
    ]
