"""Questions over a repository over HTTP: text search, references to a name, the map, and what has changed since a commit."""

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

from treadle import Host, TreadleError
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.repository_map import BUDGET, BUDGETS, RepositoryMap, map_repository
from treadle.assistants.reading.repository_search import References, TextHits, WantedKind, find_references, search_text
from treadle.assistants.reading.since import ChangeReading, read_change
from treadle.files import Workspace, workspace_at
from treadle.routes import Returns, get, json_response, post

T = TypeVar("T")

_LOOK = 0.5  # seconds between two looks whether the client is still there
_UNREADABLE = {400: "something is missing, or can't be read"}
_Name = Annotated[str, Meta(min_length=1, max_length=200)]


class SearchQuery(Struct, frozen=True):
    """A regular expression, perhaps for files beneath a folder or with such names (`*.py`) only."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000, examples=["def price"])]
    under: str = ""
    file_pattern: Annotated[str, Meta(max_length=200)] = ""
    case_insensitive: bool = False


class ReferencesQuery(Struct, frozen=True):
    """A name without its class; `kind` "call" is for its callers only."""

    name: Annotated[_Name, Meta(examples=["price"])]
    under: str = ""
    kind: WantedKind = "any"


class MapQuery(Struct, frozen=True):
    """A folder, and how long the map of it may be."""

    under: str = ""
    max_characters: Annotated[int, Meta(ge=BUDGETS[0], le=BUDGETS[1])] = BUDGET


class ChangeQuery(Struct, frozen=True):
    """A commit, a branch or a tag; and the file or folder whose change it is, without one all. `explain` asks a model."""

    since: Annotated[_Name, Meta(examples=["main"])]
    path: str = ""
    explain: bool = True


class ChangeRead(ChangeReading, frozen=True, kw_only=True):
    """A change, by its files and definitions, and what it is for."""

    success: Literal[True]


class RepositoryApi:
    """The handlers."""

    def __init__(self, host: Host, folder: Path, outliner: Outliner) -> None:
        self._host = host
        self._folder = folder
        self._outliner = outliner

    @get("/api/reading/search", errors=_UNREADABLE)
    async def search(self, query: SearchQuery) -> TextHits:
        """Lines that fit a regular expression."""
        with readable():
            workspace = await self._workspace()
            return await search_text(workspace, query.pattern, query.under, query.file_pattern, ignore_case=query.case_insensitive)

    @get("/api/reading/references", errors=_UNREADABLE)
    async def references(self, query: ReferencesQuery) -> References:
        """Where a name is defined, called or mentioned."""
        with readable():
            return await find_references(await self._workspace(), self._outliner, query.name, query.under, query.kind)

    @get("/api/reading/map", errors=_UNREADABLE)
    async def map(self, query: MapQuery) -> RepositoryMap:
        """The source files with their definitions, those first that other files refer to most."""
        with readable():
            return await map_repository(await self._workspace(), self._outliner, query.under or ".", query.max_characters)

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
    ) -> Annotated[Response, Returns(200, "the change", body=ChangeRead)]:
        """What has changed since a commit, and what the change is for."""
        with readable():
            where = (await self._workspace()).real(body.path or ".")
            work = read_change(self._host, body.since, self._folder / where, self._outliner, ask=body.explain)
            found = await while_wanted(request, work)
        answer: dict[str, Any] = msgspec.to_builtins(found)
        if not found.fallback:
            return json_response({"success": True, **answer})
        return json_response({**answer, "success": False, "error": found.fallback, "detail": found.fallback}, 502)

    async def _workspace(self) -> Workspace:
        return await asyncio.to_thread(workspace_at, self._folder)


async def while_wanted(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work; cancel it when the client has disconnected, since a model's time costs something."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=_LOOK))[0]:
            if await request.is_disconnected():
                raise HTTPException(499, "The client has disconnected.")
        return task.result()
    finally:
        task.cancel()


@contextmanager
def readable() -> Generator[None]:
    """400 for what can't be read."""
    try:
        yield
    except TreadleError as error:
        raise HTTPException(400, str(error)) from error
