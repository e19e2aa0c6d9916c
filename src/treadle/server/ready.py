"""Whether the server runs (`GET /health`), and whether it can do its work (`GET /ready`)."""

import os
import shutil
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle.app.assistant import Host
from treadle.app.home import Home
from treadle.core.errors import TreadleError
from treadle.guard.redaction import Redactor
from treadle.routes import Returns, get, json_response, routes_of

ROOM = 50 * 1024 * 1024  # bytes that have to be free


class Health(Struct, frozen=True):
    """That the server runs."""

    status: Literal["ok"] = "ok"


class Ready(Struct, frozen=True):
    """Whether everything is there; and what isn't, a sentence each."""

    ready: bool
    reasons: list[str]


async def readiness(host: Host) -> Ready:
    """Whether runs can be kept and a model is known."""
    found = [await _store(host.home), await _model(host)]
    reasons = [reason for reason in found if reason]
    return Ready(not reasons, reasons)


async def _store(home: Home) -> str:
    """What keeps runs from being written. Where nothing was written yet, nothing is now."""
    folder = _there(home.folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return "The folder that runs are kept in can't be written to."
    if shutil.disk_usage(folder).free < ROOM:
        return "The disk that runs are kept on is full."
    if not home.database.exists():
        return ""
    try:
        await home.database.submit(lambda connection: connection.execute("SELECT count(*) FROM runs").fetchone())
    except TreadleError:
        return "The store that runs are kept in can't be used; the log says why."
    return ""


def _there(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


async def _model(host: Host) -> str:
    try:
        await host.model()
    except TreadleError as error:
        return Redactor().text(str(error))
    return ""


def ready_routes(host: Host) -> list[BaseRoute]:
    """The routes."""

    @get("/health", public=True)
    async def health() -> Health:
        """Whether the server runs."""
        return Health()

    @get("/ready", public=True, returns="everything is there")
    async def ready() -> Ready | Annotated[Response, Returns(503, "something isn't", body=Ready)]:
        """Whether runs can be kept and a model is known."""
        found = await readiness(host)
        return found if found.ready else json_response(found, 503)

    return routes_of(health, ready)
