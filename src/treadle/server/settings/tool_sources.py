"""MCP servers and OpenAPI documents over HTTP: list, add, remove and test those of the owner's treadle.toml.

Only the owner of a server without users may: an MCP server may be a program that is started, and users of a shared server
don't get these tools.
"""

import asyncio
import shlex
from contextlib import AsyncExitStack
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.core.errors import SettingsError, ToolProblem, TreadleError
from treadle.core.seams import Toolset
from treadle.guard.redaction import Redactor
from treadle.home import Home
from treadle.plugins.user_tools import load_user_tools
from treadle.routes import delete, get, post, put, routes_of
from treadle.server.settings.access import FORBIDDEN, SettingsAccess
from treadle.server.settings.providers import TestOutcome
from treadle.settings.editing import remove_table, set_settings
from treadle.settings.loader import user_settings

TEST_SECONDS = 30.0  # that a test may take
SHOWN = 5  # names of tools in a sentence
WHAT = "MCP servers and OpenAPI documents are named"
NOT_FOUND = {404: "there is no such source"}
SourceKind = Literal["mcp", "openapi"]
Text = Annotated[str, Meta(max_length=4_000)]
ShellCommand = Annotated[str, Meta(description="With words quoted as in a shell.", max_length=4_000)]


class ToolSourceView(Struct, frozen=True):
    """A source of tools. `address` is its URL, its document, or the command that starts it.

    Of headers and of the environment only the names are listed.
    """

    kind: SourceKind
    name: str
    address: str
    private: bool
    assistants: tuple[str, ...]
    variables: tuple[str, ...] = ()


class ToolSourceList(Struct, frozen=True):
    """The sources of tools. `locked` says why they can't be changed here; empty where they can."""

    sources: list[ToolSourceView]
    locked: str


class ToolSourceChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a source is: `url` or `command` of an MCP server, `document` of an OpenAPI source. Other keys stay as they are."""

    url: Text = ""
    command: (
        Annotated[list[Text], Meta(max_length=100)] | Annotated[str, Meta(description="Quoted as in a shell.", max_length=4_000)]
    ) = []
    document: Text = ""
    base_url: Text = ""
    private: Annotated[bool, Meta(description="Whether its host may be on this machine or its network.")] = False
    assistants: Annotated[list[Text], Meta(description="Those that get its tools; all where it is empty.", max_length=100)] = []


class ToolSourcesApi:
    """The handlers for one user."""

    def __init__(self, access: SettingsAccess, home: Home) -> None:
        self._access = access
        self._home = home

    @get("/api/settings/tools", errors=FORBIDDEN)
    async def list_sources(self) -> ToolSourceList:
        """List the MCP servers and OpenAPI documents."""
        if not self._access.is_owner:
            self._access.check_owner(WHAT)
        return ToolSourceList(await asyncio.to_thread(_list_sources), self._access.refusal)

    @put("/api/settings/tools/{kind}/{name}", errors={**FORBIDDEN, 422: "a value is invalid"}, returns="the source")
    async def store_source(self, kind: str, name: str, body: ToolSourceChange) -> ToolSourceView:
        """Add an MCP server or an OpenAPI document, or change where it is."""
        self._access.check_owner(WHAT)
        table = (_check_kind(kind), name)
        try:
            command = shlex.split(body.command) if isinstance(body.command, str) else body.command
        except ValueError as error:
            raise HTTPException(422, "The command has a quotation mark that isn't closed.") from error
        said = {field: getattr(replace(body, command=command), field) or None for field in _fields_of(kind)}
        try:
            await asyncio.to_thread(set_settings, {(*table, field): value for field, value in said.items()})
        except SettingsError as error:
            raise HTTPException(422, str(error)) from error
        return await self._find(kind, name)

    @delete(
        "/api/settings/tools/{kind}/{name}",
        errors={**FORBIDDEN, **NOT_FOUND, 422: "the file can't be changed"},
        returns="it is gone",
    )
    async def remove_source(self, kind: str, name: str) -> None:
        """Remove an MCP server or an OpenAPI document."""
        self._access.check_owner(WHAT)
        await self._find(kind, name)
        try:
            await asyncio.to_thread(remove_table, (kind, name))
        except SettingsError as error:
            raise HTTPException(422, str(error)) from error

    @post("/api/settings/tools/{kind}/{name}/test", errors={**FORBIDDEN, **NOT_FOUND})
    async def test_source(self, kind: str, name: str) -> TestOutcome:
        """Connect to a source, list its tools, and say how that went. No tool is called."""
        self._access.check_owner(WHAT)
        source = await self._find(kind, name)
        try:
            async with asyncio.timeout(TEST_SECONDS):
                names = await self._tool_names(source)
        except TimeoutError:
            return TestOutcome(False, f"{name} sent no list of tools within {TEST_SECONDS:.0f} s.")
        except (TreadleError, ToolProblem) as error:
            return TestOutcome(False, Redactor().text(str(error)))
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        return TestOutcome(
            True, f"It has {len(names)} {'tool' if len(names) == 1 else 'tools'}: {shown}." if names else "It has no tools."
        )

    async def _tool_names(self, source: ToolSourceView) -> list[str]:
        settings = await asyncio.to_thread(user_settings)
        alone = replace(
            settings,
            tools={},
            mcp={source.name: settings.mcp[source.name]} if source.kind == "mcp" else {},
            openapi={source.name: settings.openapi[source.name]} if source.kind == "openapi" else {},
        )
        assistant = source.assistants[0] if source.assistants else ""
        toolsets: tuple[Toolset, ...] = load_user_tools(alone, assistant, self._home.folder).tools
        async with AsyncExitStack() as stack:
            entered = [await stack.enter_async_context(toolset) for toolset in toolsets]
            return [tool.name for toolset in entered for tool in toolset.tools()]

    async def _find(self, kind: str, name: str) -> ToolSourceView:
        for each in await asyncio.to_thread(_list_sources):
            if (each.kind, each.name) == (kind, name):
                return each
        raise HTTPException(404, f"There is no source {kind[:20]}.{name[:100]}.")


def _check_kind(kind: str) -> str:
    if kind not in ("mcp", "openapi"):
        raise HTTPException(422, f"A source is mcp or openapi, not {kind[:20]!r}.")
    return kind


def _fields_of(kind: str) -> tuple[str, ...]:
    return ("url", "command", "private", "assistants") if kind == "mcp" else ("document", "base_url", "private", "assistants")


def _list_sources() -> list[ToolSourceView]:
    settings, mask = user_settings(), Redactor().text
    servers = [
        ToolSourceView(
            "mcp", name, mask(each.url or shlex.join(each.command)), each.private, each.assistants, (*each.headers, *each.env)
        )
        for name, each in settings.mcp.items()
    ]
    documents = [
        ToolSourceView(
            "openapi", name, mask(each.document), each.private, each.assistants, (*each.headers, *each.credentials.values())
        )
        for name, each in settings.openapi.items()
    ]
    return [*servers, *documents]


def tool_source_routes(access: SettingsAccess, home: Home) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(ToolSourcesApi(access, home))
