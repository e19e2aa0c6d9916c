"""Server-sent events: each a line of JSON, with heartbeats in between. The events' content is up to the caller."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.guard.redaction import Redactor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import StreamingResponse

HEARTBEAT_SECONDS = 15.0  # seconds of silence after which a sign of life is sent
UNEXPECTED_ERROR = "Something went wrong in the server; its log says what."


def stream_response(events: AsyncIterator[Any], *, beat: float = HEARTBEAT_SECONDS) -> "StreamingResponse":
    """Return a response that streams events as SSE: each a line of JSON. An error becomes the last event, `{"event": "error"}`.

    A heartbeat is sent after `beat` seconds of silence. A client that disconnects stops the source of the events.
    """
    from starlette.responses import StreamingResponse

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_iter_lines(events, beat), media_type="text/event-stream", headers=headers)


def wants_events(request: "Request") -> bool:
    """Whether a client asks for server-sent events (`Accept: text/event-stream`)."""
    return "text/event-stream" in request.headers.get("accept", "")


async def _iter_lines(events: AsyncIterator[Any], beat: float) -> AsyncGenerator[bytes]:
    following: asyncio.Future[Any] = _next_event(events)
    try:
        while True:
            if not (await asyncio.wait([following], timeout=beat))[0]:
                yield b": still here\n\n"
                continue
            try:
                event = following.result()
            except StopAsyncIteration:
                return
            yield _format_event(event)
            following = _next_event(events)
    except TreadleError as error:
        yield _format_event({"event": "error", "error": Redactor().text(str(error))})
    except Exception:  # noqa: BLE001 - a plug-in's; it is logged, and the client sees the end of the stream
        log.exception("A stream of events broke")
        yield _format_event({"event": "error", "error": UNEXPECTED_ERROR})
    finally:
        await _stop_source(following, events)


def _next_event(events: AsyncIterator[Any]) -> "asyncio.Future[Any]":
    async def following() -> Any:
        return await anext(events)

    return asyncio.ensure_future(following())


async def _stop_source(following: "asyncio.Future[Any]", events: AsyncIterator[Any]) -> None:
    """Stop the source of the events after the client has disconnected."""
    following.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await following
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()


def _format_event(event: Any) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
