"""A server in a thread, on a port of its own, and assistants for it."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from treadle.core.seams import Model
from treadle.home import open_home
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Assistant, Host, Panel
from treadle.server.app import create_app
from treadle.server.http_protocol import ConnectionLimits
from treadle.server.uvicorn_server import TreadleServer, allowed_hosts, listen, server_url

PATIENCE = 120  # seconds


def host(folder: Path, answers: Model | None = None) -> Host:
    """What assistants are lent here."""

    async def model() -> Model:
        return answers or Scripted("hello")

    return Host(home=open_home(folder / "data"), model=model)


def panel(folder: Path, title: str = "Rivers", body: str = "<h1>Rivers</h1>", **files: str) -> Panel:
    """A panel with these files besides its index."""
    folder.mkdir(parents=True, exist_ok=True)
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    icon = '<link rel="icon" href="/static/treadle.svg"><link rel="stylesheet" href="/static/treadle.css">'
    (folder / "index.html").write_text(f'{page}{icon}<script type="module" src="panel.js"></script><body>{body}</body></html>')
    for name, text in {"panel_js": "", **files}.items():
        (folder / name.replace("_", ".")).write_text(text)
    return Panel(title, folder)


def assistant(name: str, **more: Any) -> Assistant:
    return Assistant(**{"name": name, "title": name.title(), "summary": f"Knows about {name}.", **more})


class Serving:
    """The server, for as long as the block lasts. `url` has no slash at its end."""

    def __init__(
        self,
        folder: Path,
        assistants: Sequence[Assistant] = (),
        model: Model | None = None,
        lent: Host | None = None,
        around: Callable[[Any], Any] | None = None,
        patient: ConnectionLimits | None = None,
        **more: Any,
    ) -> None:
        self._listening = listen(port=0)
        app = create_app(assistants, lent or host(folder, model), hosts=allowed_hosts(self._listening), **more)
        app = around(app) if around else app
        self._up = threading.Event()
        self._server = TreadleServer(app, self._listening, lambda url: self._up.set(), patient=patient)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = server_url(self._listening).rstrip("/")
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._up.wait(PATIENCE)
        return self

    def stop(self) -> None:
        """Have it stop; the end of the block waits for that."""
        self._server.should_exit = True

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listening]))
