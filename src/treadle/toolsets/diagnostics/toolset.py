"""A toolset whose edits are checked by a language server: the errors that an edit introduced are added to its result.

The server is started by the first edit of a file that it can check, in the sandbox, with the workspace read-only and without a
network, and ends when the toolset is closed. An edit waits for it only so long: a server that is slow or fails is no problem
of the edit, and its result is as it would be without one. Commands change files behind the server's back, so it is started
anew after one.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import TreadleError
from treadle.core.seams import Toolset
from treadle.core.tool import ToolResult
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import Workspace
from treadle.sandbox.environments import build_path_environment, find_base_pythons
from treadle.sandbox.probe import check_sandbox
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import GIB, Bounds, SandboxSpec
from treadle.tools.text import to_data
from treadle.toolsets.diagnostics.client import (
    Diagnostic,
    LanguageClient,
    LanguageServer,
    Launch,
    find_language_servers,
    find_new,
    keep_certain,
)
from treadle.toolsets.workspace.file_contents import decode_file_text
from treadle.toolsets.wrappers import WrapperToolset

FIRST_SECONDS = 20.0  # that the first edit waits, since the server has to start
SECONDS = 8.0
MAX_SHOWN = 10
_BOUNDS = Bounds(seconds=86_400, memory=4 * GIB)
_SILENT = ("/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh")  # what it logs must not get among its messages
_log = logging.getLogger("treadle.diagnostics")


class Diagnostics:
    """The language servers of a folder.

    project  the folder that this one is a private copy of
    unsafe   starts a server also where there is no sandbox
    """

    def __init__(
        self,
        folder: Path,
        *,
        project: Path | None = None,
        unsafe: bool = False,
        servers: Mapping[str, LanguageServer] | None = None,
        launch: Callable[[LanguageServer], Launch] | None = None,
        seconds: tuple[float, float] = (FIRST_SECONDS, SECONDS),
    ) -> None:
        self._workspace = Workspace(folder)
        self._place = SandboxSpec(self._workspace.folder, writable=False, project=project)
        self._unsafe = unsafe
        self._servers = servers
        self._launch = launch or self._launch_sandboxed
        self._first, self._later = seconds
        self._clients: dict[str, LanguageClient] = {}
        self._failed: set[str] = set()
        self._lock = asyncio.Lock()

    async def check_edit(self, path: str, edit: Callable[[], Any]) -> tuple[Any, str, tuple[Diagnostic, ...]]:
        """Make an edit of a file; return its result, the server's name, and the errors that it introduced."""
        where = self._relative(path)
        server = await self._find_server(where)
        if server is None:
            return await edit(), "", ()
        async with self._lock:
            before = await asyncio.to_thread(self._read, where)
            result = await edit()
            after = await asyncio.to_thread(self._read, where)
            if after is None or after == before:
                return result, "", ()
            try:
                async with asyncio.timeout(self._later if server.name in self._clients else self._first):
                    return result, server.name, await self._compare(server, where, before, after)
            except TimeoutError:
                _log.info("%s took too long to check %s", server.name, where)
            except (TreadleError, OSError) as error:
                _log.warning("%s failed: %s", server.name, error)
                self._failed.add(server.name)
                await self._end(server.name)
            return result, "", ()

    async def restart(self) -> None:
        """End the servers: files have changed that they don't know of. The next edit starts them again."""
        async with self._lock:
            await self.close()

    async def close(self) -> None:
        """End the servers."""
        for name in list(self._clients):
            await self._end(name)

    async def _compare(self, server: LanguageServer, path: str, before: str | None, after: str) -> tuple[Diagnostic, ...]:
        client = await self._start(server)
        language = server.languages[PurePosixPath(path).suffix]
        known: tuple[Diagnostic, ...] = ()
        if before is not None:
            client.show(path, language, before)
            known = await client.diagnostics(path)
        client.show(path, language, after)
        incomplete = any(re.fullmatch(server.unresolved, each.code) for each in known)  # what is installed can't be seen
        found = keep_certain(await client.diagnostics(path), server.unresolved, server.certain, imports=not incomplete)
        return find_new(known, found)

    async def _start(self, server: LanguageServer) -> LanguageClient:
        client = self._clients.get(server.name)
        if client is not None and client.is_alive:
            return client
        sandboxed = (await check_sandbox(self._place.workspace)).sandboxed
        root = self._place.project if sandboxed and self._place.project else self._place.workspace
        client = self._clients[server.name] = LanguageClient(self._launch(server), root, server.options)
        await client.start()
        return client

    async def _end(self, name: str) -> None:
        client = self._clients.pop(name, None)
        if client is not None:
            await client.close()

    async def _find_server(self, path: str) -> LanguageServer | None:
        if not path:
            return None
        if self._servers is None:
            self._servers = await asyncio.to_thread(find_language_servers, self._place.project or self._place.workspace)
        server = self._servers.get(PurePosixPath(path).suffix)
        return server if server is not None and server.name not in self._failed else None

    def _launch_sandboxed(self, server: LanguageServer) -> Launch:
        home = self._place.project or self._place.workspace
        place = replace(self._place, extra_read=(*server.read, *find_base_pythons(home)))

        async def launch(stdin: int, on_data: Callable[[bytes], None]) -> None:
            environment = build_path_environment(home)
            await run_command(
                [*_SILENT, *server.command],
                place,
                _BOUNDS,
                stdin=stdin,
                env=environment,
                on_data=on_data,
                unsafe=self._unsafe,
            )

        return launch

    def _relative(self, path: str) -> str:
        try:
            return self._workspace.relative(path)
        except WorkspaceProblem:
            return ""

    def _read(self, path: str) -> str | None:
        try:
            text = decode_file_text(self._workspace.read_bytes(path))
        except WorkspaceProblem:
            return None
        return text.readable if text is not None else None


class DiagnosedToolset(WrapperToolset):
    """A toolset whose edits of files in the toolset `edits` are checked."""

    def __init__(self, inner: Toolset, diagnostics: Diagnostics, edits: str) -> None:
        super().__init__(inner)
        self._diagnostics = diagnostics
        self._edits = edits
        self._entered = 0

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._entered += 1
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._entered -= 1
        try:
            if not self._entered:
                await self._diagnostics.close()
        finally:
            await super().__aexit__(kind, error, trace)

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Make the call; if it edits a file, add the errors that this introduced."""
        tool = next((tool for tool in self.tools() if tool.name == call.name), None)
        if tool is None or not self._entered or tool.effect_of(call.arguments) == "read":
            return await self._inner.call(call, context)
        if tool.toolset != self._edits:
            try:
                return await self._inner.call(call, context)
            finally:
                await self._diagnostics.restart()
        path = str(call.arguments.get("path", ""))
        result, server, errors = await self._diagnostics.check_edit(path, lambda: self._inner.call(call, context))
        return _add_errors(result, server, path, errors) if errors else result


class FoundErrors(Struct, frozen=True):
    """The data of an edit that introduced errors."""

    server: str
    path: str
    errors: tuple[Diagnostic, ...]


def _add_errors(result: Any, server: str, path: str, errors: Sequence[Diagnostic]) -> ToolResult:
    """Return a result with errors: in its text, and as `diagnostics` of its data."""
    lines = [f"{path}:{each.line}: {each.message}" for each in errors[:MAX_SHOWN]]
    more = [f"… and {len(errors) - MAX_SHOWN} more"] if len(errors) > MAX_SHOWN else []
    head = f"{server} finds {len(errors)} new {'error' if len(errors) == 1 else 'errors'} after this change:"
    known: Any = to_data(result.data) if isinstance(result, ToolResult) else None
    found = to_data(FoundErrors(server, path, tuple(errors[:MAX_SHOWN])))
    told = ToolResult("\n".join([f"{result}\n\n{head}", *lines, *more]), {**(known or {}), "diagnostics": found})
    return replace(told, untrusted=result.untrusted, about=result.about) if isinstance(result, ToolResult) else told


def diagnosed(toolset: Toolset, folder: Path, *, project: Path | None = None, unsafe: bool = False) -> DiagnosedToolset:
    """Return the toolset with edits of the toolset `workspace` that are checked by a language server, where one is installed."""
    return DiagnosedToolset(toolset, Diagnostics(folder, project=project, unsafe=unsafe), "workspace")
