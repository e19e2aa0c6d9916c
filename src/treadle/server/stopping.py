"""Tells requests when the server begins to stop: those that would go on for long, such as streams of events, end themselves."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send


class Stopping:
    """An ASGI layer around an application. `scope["stopping"]` is an event that is set when the server stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._event = asyncio.Event()

    def begin(self) -> None:
        """The server stops."""
        self._event.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        scope["stopping"] = self._event
        await self._app(scope, receive, send)
