"""A client of the Language Server Protocol, as much of it as diagnostics need: documents are opened and changed as a whole.

Written by hand, because it is a header, six messages and one notification; the libraries for it bring servers, an event loop of
their own or the types of the whole protocol.

Language servers that are installed: pyright for Python, typescript-language-server for TypeScript and JavaScript.

Nothing is installed or fetched. A server is a program of the system or of the project, and runs in the sandbox.
"""

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from treadle.core.errors import TreadleError

_PYRIGHT = ("pyright", "dist", "langserver.index.js")
_TYPESCRIPT = ("typescript-language-server", "lib", "cli.mjs")
_TSSERVER = ("typescript", "lib", "tsserver.js")
Launch = Callable[[int, Callable[[bytes], None]], Awaitable[object]]


class LanguageServer(Struct, frozen=True):
    """A language server.

    languages   the language of each file name extension, by the protocol's names
    command     the program and its arguments
    read        folders outside of the workspace that it needs
    options     its initialization options
    unresolved  the codes, as a pattern, of imports that it can't find: then types are unknown, and what it says of them no error
    certain     the codes, as a pattern, of errors that hold also then
    """

    name: str
    languages: dict[str, str]
    command: tuple[str, ...]
    read: tuple[Path, ...] = ()
    options: dict[str, object] = {}
    unresolved: str = r"reportMissingImports|2307|7016"
    certain: str = r"|reportUndefinedVariable|1\d{3}|2304|2552"


class ServerKind(Struct, frozen=True):
    """A language server that may be installed, and how."""

    name: str
    languages: dict[str, str]
    install: str


PYRIGHT = ServerKind("pyright", {".py": "python", ".pyi": "python"}, "pip install pyright, and install Node.js")
TYPESCRIPT = ServerKind(
    "typescript-language-server",
    {
        **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
        **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
        ".tsx": "typescriptreact",
        ".jsx": "javascriptreact",
    },
    "npm install -g typescript-language-server typescript",
)
KINDS = (PYRIGHT, TYPESCRIPT)


def find_language_servers(folder: Path) -> dict[str, LanguageServer]:
    """Return the installed language servers by the extensions of the files that they check."""
    node = shutil.which("node")
    if node is None:
        return {}
    found = [_find_pyright(node), _find_typescript(node, folder)]
    return {extension: server for server in found if server is not None for extension in server.languages}


def _find_pyright(node: str) -> LanguageServer | None:
    """Find pyright: its Python package, beside Treadle or elsewhere, has the server's program in it, and npm's is the same."""
    spec = find_spec("pyright")
    places = [Path(place) / Path(*_PYRIGHT[1:]) for place in (spec.submodule_search_locations or ())] if spec else []
    program = shutil.which("pyright-langserver")
    places += [Path(program).resolve()] if program else []
    script = next((place for place in places if place.suffix == ".js" and place.is_file()), None)
    if script is None:
        return None
    read = (script.parents[1], *_node_folders(node))
    return LanguageServer(PYRIGHT.name, PYRIGHT.languages, (node, str(script), "--stdio"), read)


def _find_typescript(node: str, folder: Path) -> LanguageServer | None:
    """Find typescript-language-server, the project's own or the system's. It needs `typescript` beside it or in the project."""
    program = shutil.which(TYPESCRIPT.name)
    modules = [folder / "node_modules", *([Path(program).resolve().parents[2]] if program else [])]
    for place in modules:
        script = place.joinpath(*_TYPESCRIPT)
        if script.is_file():
            checker = place.joinpath(*_TSSERVER)
            options: dict[str, object] = {"tsserver": {"fallbackPath": str(checker)}} if checker.is_file() else {}
            read = (*([] if place == modules[0] else [place]), *_node_folders(node))
            return LanguageServer(TYPESCRIPT.name, TYPESCRIPT.languages, (node, str(script), "--stdio"), read, options)
    return None


def _node_folders(node: str) -> tuple[Path, ...]:
    """Return the folder of Node.js where the sandbox doesn't show it anyway."""
    folder = Path(node).resolve().parents[1]
    return () if folder.is_relative_to("/usr") or folder == Path("/") else (folder,)


"""Runs a server until it ends or is cancelled: (descriptor of its stdin, callback for its output)."""

ERROR = 1  # the severity
QUIET = 0.3  # seconds without further diagnostics, from a server that doesn't tell the version of a document
MAX_MESSAGE = 32_000_000  # bytes
_log = logging.getLogger("treadle.diagnostics")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Diagnostic(Struct, frozen=True):
    """An error in a file; `line` is counted from 1."""

    line: int
    message: str
    code: str = ""


class LanguageClient:
    """A running language server, for the documents of one folder. It is ended by `close`, with everything it started."""

    def __init__(self, launch: Launch, root: Path, options: dict[str, object]) -> None:
        self._launch = launch
        self._root = root
        self._options = options
        self._versions: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._published: dict[str, tuple[int | None, tuple[Diagnostic, ...]]] = {}
        self._changed = asyncio.Event()
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._buffer = bytearray()
        self._running: asyncio.Task[None] | None = None
        self._transport: asyncio.WriteTransport | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the server is running."""
        return self._running is not None and not self._running.done()

    async def start(self) -> None:
        """Start the server and initialize it."""
        read, write = os.pipe()
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(write, "wb", 0))
        self._running = asyncio.create_task(self._run(read))
        await self._request(
            "initialize",
            {
                "processId": None,
                "rootUri": self._root.as_uri(),
                "workspaceFolders": [{"uri": self._root.as_uri(), "name": self._root.name}],
                "capabilities": {"textDocument": {"publishDiagnostics": {"versionSupport": True}}},
                "initializationOptions": self._options,
            },
        )
        self._notify("initialized", {})

    async def close(self) -> None:
        """End the server."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        if self._transport is not None:
            self._transport.abort()
            await asyncio.sleep(0)  # until the pipe is closed

    def show(self, path: str, language: str, text: str) -> None:
        """Open a document, or change it; nothing happens if this is its text already."""
        if self._texts.get(path) == text:
            return
        self._texts[path] = text
        version = self._versions[path] = self._versions.get(path, 0) + 1
        self._published.pop(path, None)
        document: dict[str, Any] = {"uri": (self._root / path).as_uri(), "version": version}
        if version == 1:
            self._notify("textDocument/didOpen", {"textDocument": {**document, "languageId": language, "text": text}})
        else:
            self._notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    async def diagnostics(self, path: str) -> tuple[Diagnostic, ...]:
        """Wait for the errors of a document as it was shown last, and return them."""
        while True:
            found = self._published.get(path)
            if found is not None and found[0] == self._versions[path]:
                return found[1]
            self._changed.clear()
            if found is None:
                await self._changed.wait()
            else:  # no version: the last of several
                try:
                    async with asyncio.timeout(QUIET):
                        await self._changed.wait()
                except TimeoutError:
                    return found[1]
            if not self.is_alive:
                raise TreadleError("The language server has ended.")

    async def _run(self, stdin: int) -> None:
        try:
            await self._launch(stdin, self._feed)
        except TreadleError as error:
            _log.warning("The language server can't be started: %s", error)
        finally:
            os.close(stdin)
            for reply in self._replies.values():
                if not reply.done():
                    reply.set_exception(TreadleError("The language server has ended."))
            asyncio.get_running_loop().call_soon(self._changed.set)  # when the task is done

    def _feed(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, end)
            size = int(length[1]) if length else 0
            if size > MAX_MESSAGE:
                self._buffer.clear()
                return
            if len(self._buffer) < end + 4 + size:
                return
            message = bytes(self._buffer[end + 4 : end + 4 + size])
            del self._buffer[: end + 4 + size]
            with suppress(msgspec.DecodeError, KeyError, TypeError, AttributeError):  # what isn't the protocol says nothing
                self._receive(msgspec.json.decode(message))

    def _receive(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method == "textDocument/publishDiagnostics":
            self._publish(message["params"])
        elif method is not None and number is not None:  # a request: of configuration, or to register a capability
            items = message.get("params", {}).get("items", ())
            self._send({"id": number, "result": [None for _ in items] if method == "workspace/configuration" else None})
        elif isinstance(number, int) and (reply := self._replies.get(number)) is not None and not reply.done():
            reply.set_result(message.get("result"))

    def _publish(self, params: dict[str, Any]) -> None:
        path = unquote(str(params["uri"]).removeprefix("file://")).removeprefix(f"{self._root}/")
        if path not in self._versions:
            return
        errors = [_to_diagnostic(each) for each in params["diagnostics"] if each.get("severity", ERROR) == ERROR]
        self._published[path] = (params.get("version"), tuple(errors))
        self._changed.set()

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        number = len(self._replies) + 1
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return await reply

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._transport is not None, "it was started"
        data = msgspec.json.encode({"jsonrpc": "2.0", **message})
        self._transport.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)


def _to_diagnostic(found: dict[str, Any]) -> Diagnostic:
    return Diagnostic(int(found["range"]["start"]["line"]) + 1, str(found["message"]), str(found.get("code", "")))


def keep_certain(found: Sequence[Diagnostic], unresolved: str, certain: str, *, imports: bool) -> tuple[Diagnostic, ...]:
    """Return the errors that hold although imports can't be found; all if none is `unresolved`. Pure.

    imports  whether those imports are errors themselves
    """
    if not any(re.fullmatch(unresolved, each.code) for each in found):
        return tuple(found)
    pattern = f"{certain}|{unresolved}" if imports else certain
    return tuple([each for each in found if re.fullmatch(pattern, each.code)])


def find_new(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the errors that were not there before. Lines move, so they are compared by what they say, each as often. Pure."""
    known = [(each.code, each.message) for each in before]
    found: list[Diagnostic] = []
    for each in after:
        if (each.code, each.message) in known:
            known.remove((each.code, each.message))
        else:
            found.append(each)
    return tuple(found)
