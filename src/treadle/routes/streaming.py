"""What happens, as server-sent events: each a line of JSON, with signs of life in between. What the events say is theirs to say."""

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

BEAT = 15.0  # seconds of silence after which a sign of life is sent
UNFORESEEN = "Something went wrong in the server; its log says what."


def streamed(events: AsyncIterator[Any], *, beat: float = BEAT) -> "StreamingResponse":
    """Events as server-sent events: each a line of JSON. What goes wrong on the way is the last of them, `{"event": "error"}`.

    After `beat` seconds of silence a sign of life is sent. Whoever leaves stops what makes the events.
    """
    from starlette.responses import StreamingResponse

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_lines(events, beat), media_type="text/event-stream", headers=headers)


def wants_events(request: "Request") -> bool:
    """Whether a client asks for server-sent events (`Accept: text/event-stream`)."""
    return "text/event-stream" in request.headers.get("accept", "")


async def _lines(events: AsyncIterator[Any], beat: float) -> AsyncGenerator[bytes]:
    following: asyncio.Future[Any] = _next(events)
    try:
        while True:
            if not (await asyncio.wait([following], timeout=beat))[0]:
                yield b": still here\n\n"
                continue
            try:
                event = following.result()
            except StopAsyncIteration:
                return
            yield _line(event)
            following = _next(events)
    except TreadleError as error:
        yield _line({"event": "error", "error": Redactor().text(str(error))})
    except Exception:  # noqa: BLE001 - a stranger's; it is in the log, and whoever listens hears that it is over
        log.exception("A stream of events broke")
        yield _line({"event": "error", "error": UNFORESEEN})
    finally:
        await _ended(following, events)


def _next(events: AsyncIterator[Any]) -> "asyncio.Future[Any]":
    async def following() -> Any:
        return await anext(events)

    return asyncio.ensure_future(following())


async def _ended(following: "asyncio.Future[Any]", events: AsyncIterator[Any]) -> None:
    """Nobody listens any more: whatever makes the events is stopped."""
    following.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await following
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()


def _line(event: Any) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
