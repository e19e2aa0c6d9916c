"""Liveness (`GET /health`) and readiness (`GET /ready`) of the server."""

import os
import shutil
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle.core.errors import TreadleError
from treadle.guard.redaction import Redactor
from treadle.home import Home
from treadle.plugins.assistant import Host
from treadle.routes import Returns, get, json_response, routes_of

MIN_FREE_BYTES = 50 * 1024 * 1024  # bytes that have to be free


class HealthStatus(Struct, frozen=True):
    """The server is running."""

    status: Literal["ok"] = "ok"


class Readiness(Struct, frozen=True):
    """Whether the server is ready; and what is missing, a sentence each."""

    ready: bool
    reasons: list[str]


async def check_readiness(host: Host) -> Readiness:
    """Check whether runs can be stored and a model is available."""
    found = [await _check_store(host.home), await _check_model(host)]
    reasons = [reason for reason in found if reason]
    return Readiness(not reasons, reasons)


async def _check_store(home: Home) -> str:
    """Return what prevents runs from being stored. Where nothing was written yet, nothing is created."""
    folder = _nearest_existing(home.folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return "The folder that runs are kept in can't be written to."
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
        return "The disk that runs are kept on is full."
    if not home.database.exists():
        return ""
    try:
        await home.database.submit(lambda connection: connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone())
    except TreadleError:
        return "The store that runs are kept in can't be used; the log says why."
    return ""


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


async def _check_model(host: Host) -> str:
    try:
        await host.model()
    except TreadleError as error:
        return Redactor().text(str(error))
    return ""


def health_routes(host: Host) -> list[BaseRoute]:
    """Return the routes."""

    @get("/health", public=True)
    async def health() -> HealthStatus:
        """Check that the server is running."""
        return HealthStatus()

    @get("/ready", public=True, returns="everything is there")
    async def ready() -> Readiness | Annotated[Response, Returns(503, "something isn't", body=Readiness)]:
        """Check that runs can be stored and a model is available."""
        found = await check_readiness(host)
        return found if found.ready else json_response(found, 503)

    return routes_of(health, ready)
