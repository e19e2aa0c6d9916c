"""For the routes of assistants: a request's JSON as a value, values without secrets, and what happens as a stream of events.

Public. Nothing of a server is imported before one asks.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from treadle.core.errors import TreadleError
from treadle.core.log import log
from treadle.guard.redaction import Redactor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import StreamingResponse

__all__ = ["body_of", "redacted", "streamed"]

T = TypeVar("T")

BEAT = 15.0  # seconds of silence after which a sign of life is sent
UNFORESEEN = "Something went wrong in the server; its log says what."


async def body_of(request: "Request", kind: type[T]) -> T:
    """The request's JSON, which has to be like this; else it is answered with 400 and a sentence."""
    from starlette.exceptions import HTTPException

    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"The request has to be a JSON object: {error}.") from error


def redacted(value: Any) -> Any:
    """A plain value without secrets: for what isn't redacted yet in a run, such as the arguments of its calls."""
    return Redactor().value(value)


def streamed(events: AsyncIterator[Any], *, beat: float = BEAT) -> "StreamingResponse":
    """Events as server-sent events: each a line of JSON. What goes wrong on the way is the last of them, `{"event": "error"}`.

    After `beat` seconds of silence a sign of life is sent. Whoever leaves stops what makes the events.
    """
    from starlette.responses import StreamingResponse

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_lines(events, beat), media_type="text/event-stream", headers=headers)


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
