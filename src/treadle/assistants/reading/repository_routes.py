"""HTTP API for questions about a repository: text search, references to a name, the map, and changes since a commit."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from treadle import TreadleError
from treadle.assistant import Host
from treadle.assistants.reading.change_reading import ChangeReading, read_change
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.repository_search import (
    MAP_BUDGET,
    MAP_BUDGETS,
    References,
    RepositoryMap,
    TextHits,
    find_references,
    map_repository,
    search_text,
)
from treadle.assistants.reading.symbols.index import RequestedKind, SymbolIndex
from treadle.files import Workspace, workspace_at
from treadle.routes import Returns, get, json_response, post

T = TypeVar("T")

_POLL_SECONDS = 0.5  # seconds between two looks whether the client is still there
_UNREADABLE = {400: "something is missing, or can't be read"}
_Name = Annotated[str, Meta(min_length=1, max_length=200)]


class SearchQuery(Struct, frozen=True):
    """A regular expression, optionally only for files below a folder or with matching names (`*.py`)."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000, examples=["def price"])]
    under: str = ""
    file_pattern: Annotated[str, Meta(max_length=200)] = ""
    case_insensitive: bool = False


class ReferencesQuery(Struct, frozen=True):
    """A name without its class; `kind` "call" restricts to callers."""

    name: Annotated[_Name, Meta(examples=["price"])]
    under: str = ""
    kind: RequestedKind = "any"


class MapQuery(Struct, frozen=True):
    """A folder, the maximum length of its map, and what it is for: files and names in `task` come first."""

    under: str = ""
    max_characters: Annotated[int, Meta(ge=MAP_BUDGETS[0], le=MAP_BUDGETS[1])] = MAP_BUDGET
    task: Annotated[str, Meta(max_length=4000)] = ""


class ChangeQuery(Struct, frozen=True):
    """A commit, a branch or a tag, and optionally the file or folder to restrict to. `explain` asks a model."""

    since: Annotated[_Name, Meta(examples=["main"])]
    path: str = ""
    explain: bool = True


class ChangeResponse(ChangeReading, frozen=True, kw_only=True):
    """A change by files and definitions, and its purpose."""

    success: Literal[True]


class RepositoryApi:
    """HTTP handlers for questions about a repository."""

    def __init__(self, host: Host, folder: Path, outliner: Outliner) -> None:
        self._host = host
        self._folder = folder
        self._outliner = outliner
        self._index: SymbolIndex | None = None

    @get("/api/reading/search", errors=_UNREADABLE)
    async def search(self, query: SearchQuery) -> TextHits:
        """Search files for a regular expression."""
        with report_unreadable():
            workspace = await self._workspace()
            return await search_text(workspace, query.pattern, query.under, query.file_pattern, ignore_case=query.case_insensitive)

    @get("/api/reading/references", errors=_UNREADABLE)
    async def references(self, query: ReferencesQuery) -> References:
        """Find where a name is defined, called or mentioned."""
        with report_unreadable():
            return await find_references(await asyncio.to_thread(self._open_index), query.name, query.under, query.kind)

    @get("/api/reading/map", errors=_UNREADABLE)
    async def map(self, query: MapQuery) -> RepositoryMap:
        """List the source files with their definitions, the most referenced first."""
        with report_unreadable():
            index = await asyncio.to_thread(self._open_index)
            return await map_repository(index, query.under, query.max_characters, query.task)

    @post(
        "/api/reading/changes",
        errors={
            **_UNREADABLE,
            499: "the client has disconnected",
            502: "the model failed; the list of changes comes with the error",
        },
        runs=True,
    )
    async def changes(
        self, request: Request, body: ChangeQuery
    ) -> Annotated[Response, Returns(200, "the change", body=ChangeResponse)]:
        """Describe what has changed since a commit, and why."""
        with report_unreadable():
            where = (await self._workspace()).real(body.path or ".")
            work = read_change(self._host, body.since, self._folder / where, self._outliner, ask=body.explain)
            found = await run_until_disconnect(request, work)
        answer: dict[str, Any] = msgspec.to_builtins(found)
        if not found.fallback:
            return json_response({"success": True, **answer})
        return json_response({**answer, "success": False, "error": found.fallback, "detail": found.fallback}, 502)

    def _open_index(self) -> SymbolIndex:
        """Open the index when it is first asked, since the folder is checked then."""
        workspace = workspace_at(self._folder)
        if self._index is None:
            self._index = SymbolIndex(workspace, self._host.home.folder)
            self._host.on_close(self._index.close)
        return self._index

    async def _workspace(self) -> Workspace:
        return await asyncio.to_thread(workspace_at, self._folder)


async def run_until_disconnect(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work; cancel it when the client has disconnected, since a model's time costs something."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=_POLL_SECONDS))[0]:
            if await request.is_disconnected():
                raise HTTPException(499, "The client has disconnected.")
        return task.result()
    finally:
        task.cancel()


@contextmanager
def report_unreadable() -> Generator[None]:
    """Respond with 400 if something can't be read."""
    try:
        yield
    except TreadleError as error:
        raise HTTPException(400, str(error)) from error
