"""Every face that opens a user's file, as a function: a folder and what is asked for in it, to all that comes out, text or problem.

Used by `test_paths`, `test_races` and `test_special_files`. An attempt has succeeded where `SECRET` comes out.
"""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import httpx

from server.acp.editor import connected
from server.running import host
from treadle.assistants.reading import assistant
from treadle.assistants.reading.tools import build_reading_toolset
from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem, TreadleError
from treadle.core.media import Document
from treadle.files import Workspace, read_named
from treadle.files.named_files import head_of
from treadle.models.scripted import ScriptedCall, ScriptedReply
from treadle.retrieval.source_files import SourceFile, UnreadableDocument, read_source
from treadle.server.app import create_app
from treadle.toolsets.workspace.tools import workspace_tools

SECRET = "TOP-SECRET"
INSIDE = "inside"
MOST = 10_000_000

Face = Callable[[Path, str], str]


def _problems(face: Callable[[Path, str], bytes | str]) -> Face:
    """A face whose problems are what a model or a person reads of it."""

    def asked(folder: Path, path: str) -> str:
        try:
            found = face(folder, path)
        except (TreadleError, ToolProblem, UnreadableDocument, OSError) as error:
            return f"problem: {error}"
        return found if isinstance(found, str) else found.decode("utf-8", "replace")

    return asked


def _tool(tools: Any, name: str, **arguments: Any) -> str:
    async def call() -> str:
        async with tools:
            return str(await tools.call(Call("1", name, arguments), RunContext()))

    return asyncio.run(call())


def get(folder: Path, *urls: str) -> list[httpx.Response]:
    """What the server that was started in a folder answers, one request after another."""

    async def ask() -> list[httpx.Response]:
        app = create_app([assistant], host(folder.parent / "served"), hosts=("127.0.0.1",))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(url) for url in urls]

    return asyncio.run(ask())


def reading_route(folder: Path, path: str) -> str:
    """`GET /api/reading/file` of a server that was started in the folder."""
    answer = get(folder, f"/api/reading/file?path={quote_from_bytes(os.fsencode(path))}")[0]
    assert answer.status_code in (200, 400), answer.text
    return answer.json()["text"] if answer.status_code == 200 else f"problem: {answer.text}"


def editor(folder: Path, path: str) -> str:
    """A model's `read_file` in a session of an editor: all that the editor is sent about it."""

    async def ask() -> str:
        read = ScriptedReply(calls=(ScriptedCall("read_file", json.dumps({"path": path})),))
        async with connected(folder, read, "Done.") as desk:
            await desk.open()
            await desk.say("Read it.")
            (call,) = desk.editor.calls().values()
            assert SECRET not in desk.editor.text()
            text = "".join([part["content"]["text"] for part in call["content"]])
            return text if call["status"] == "completed" else f"problem: {text}"

    return asyncio.run(ask())


FACES: dict[str, Face] = {
    "workspace": _problems(lambda folder, path: Workspace(folder).read_bytes(path)),
    "workspace without openat2": _problems(lambda folder, path: Workspace(folder, links=False).read_bytes(path)),
    "read_file": _problems(lambda folder, path: _tool(workspace_tools(folder, flat=True), "read_file", path=path)),
    "refer_to_source_code": _problems(
        lambda folder, path: _tool(build_reading_toolset(folder), "refer_to_source_code", path=path, start_line=1, end_line=1)
    ),
    "reading route": reading_route,
    "editor": editor,
}
"""Those that take a path in a folder."""

NAMED: dict[str, Face] = {
    "a document to index": _problems(lambda folder, path: read_source(SourceFile("x", folder, path)).data),
    "a file that was typed": _problems(lambda folder, path: read_named(folder / path, MOST)),
    "an attachment": _problems(lambda folder, path: Document.from_path(folder / path).data),
    "a file of settings": _problems(lambda folder, path: head_of(folder / path, MOST)),
}
"""Those that code or a person names, where only what lies there can be an attempt."""
