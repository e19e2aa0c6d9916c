"""The reading assistant's routes with answers that a test lays down: the panel over them is the real one."""

import asyncio
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import treadle.assistants.reading
from treadle.assistant import Assistant, Host, Panel

PANEL = Path(treadle.assistants.reading.__file__).with_name("panel")
PATIENCE = 120  # seconds
HOW = {
    "execution_path": "tool-calling",
    "why": "the file is larger than what is sent whole",
    "tool_reads": [{"start_line": 3, "end_line": 4, "reason": "the model asked"}],
    "tool_call_count": 1,
    "tokens": {"input": 5120, "output": 640, "cached": 2048, "requests": 3},
    "seconds": 12.42,
    "model": "ollama:qwen2.5-coder",
    "cached": False,
    "notes": "",
}


def block(label: str, *ranges: tuple[int, int], **elements: list[str]) -> dict[str, Any]:
    """A block of an answer."""
    name = "-".join(label.lower().split())
    return {"id": name, "label": label, "description": f"All about {label.lower()}.", "elements": elements, "ranges": ranges}


def answer(*blocks: dict[str, Any], intent: str = "Keeps a shop's stock.", **how: Any) -> dict[str, Any]:
    """What is answered when a file is read."""
    return {"success": True, "file_intent": intent, "responsibilities": blocks, "metadata": HOW | how}


class Pretended:
    """The routes over a folder. `asked` holds every request to read, and `reached` says that there is one; while `free` isn't set,
    none is answered.
    """

    def __init__(self, folder: Path, said: dict[str, Any], *, no_model: str | None = None) -> None:
        self.folder, self.said, self.no_model = folder, said, no_model
        self.asked: list[dict[str, Any]] = []
        self.reached, self.free = threading.Event(), threading.Event()
        self.free.set()

    @property
    def assistant(self) -> Assistant:
        """It, with the real panel."""
        return Assistant(
            name="reading", title="Reading", summary="Reads files.", routes=self._routes, panel=Panel("Reading", PANEL)
        )

    def _routes(self, host: Host) -> list[Route]:
        return [
            Route("/api/reading/files", self._files),
            Route("/api/reading/file", self._file),
            Route("/api/reading/readings", self._prepare, methods=["POST"]),
            Route("/api/iris/health", self._health),
        ]

    async def _files(self, request: Request) -> JSONResponse:
        found = sorted([path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.*") if path.is_file()])
        return JSONResponse({"folder": self.folder.name, "files": found})

    async def _file(self, request: Request) -> JSONResponse:
        name = request.query_params["path"]
        if not (self.folder / name).is_file():
            return JSONResponse({"success": False, "error": f"There is no file {name}."}, 400)
        text = (self.folder / name).read_text()
        told = {"success": True, "content_hash": sha256(text.encode()).hexdigest()}
        if request.query_params.get("unless") == told["content_hash"]:
            return JSONResponse(told)
        return JSONResponse({**told, "path": name, "language": "python", "text": text})

    async def _prepare(self, request: Request) -> JSONResponse:
        self.asked.append(await request.json())
        self.reached.set()
        await asyncio.to_thread(self.free.wait, PATIENCE)
        if not self.said["success"]:
            return JSONResponse(self.said, 400)
        return JSONResponse({"success": True, "reading": self.said, "message": "", "context": {}})

    async def _health(self, request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "agent_ready": self.no_model is None, "agent_error": self.no_model})
