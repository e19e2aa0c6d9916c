"""A model's file from the hub: one GET that goes on where the last one ended. HF_ENDPOINT names another hub.

Only bytes are fetched here; whether they are the right ones is `pull`.
"""

import asyncio
import os
import re
from collections.abc import Callable
from urllib.parse import quote, urljoin, urlsplit

from treadle._version import __version__
from treadle.core.errors import ModelError, SettingsError
from treadle.models.catalogue import HubFile
from treadle.models.exchange import Exchange, Timeouts, exchange, route_to
from treadle.models.partial import Partial, SourceFailed
from treadle.models.refusals import Server

HUB = "https://huggingface.co"
BATCH = 256 << 10  # bytes between two writes
REDIRECTS = 5
PAUSE = 0.2  # seconds before a connection that broke off is made again
TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=30.0)


async def from_hub(file: HubFile, partial: Partial, on_grown: Callable[[], None]) -> None:
    """Fetch the rest of a file. A connection that breaks is made again for as long as that brings something."""
    address = f"{_hub()}/{file.repository}/resolve/main/{quote(file.path)}"
    partial.needs()
    while partial.left:
        before, trouble = partial.size, None
        try:
            await _fetch(address, partial, on_grown)
        except ModelError as error:
            trouble = error
        if partial.size <= before:
            raise SourceFailed(str(trouble or "the hub ends the file too early").rstrip(".")) from trouble
        if partial.left:
            await asyncio.sleep(PAUSE)


def _hub() -> str:
    given = os.environ.get("HF_ENDPOINT") or HUB
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"HF_ENDPOINT is {given!r}, which is no address of a hub; write it as https://host.")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


async def _fetch(address: str, partial: Partial, on_grown: Callable[[], None]) -> None:
    """One answer, as much of it as comes."""
    answer = await _answer(address, partial.size)
    try:
        begin = _begin(answer, partial, urlsplit(address).netloc)
        if begin < partial.size:
            partial.cut(begin)
        await _take_in(answer, partial, on_grown)
    finally:
        answer.leave()


async def _answer(address: str, begin: int) -> Exchange:
    """What is at an address, or wherever that leads."""
    for _ in range(REDIRECTS):
        answer = await _asked(address, begin)
        if answer.status not in (301, 302, 303, 307, 308):
            return answer
        answer.leave()
        address = _followed(address, answer.headers.get("location", ""))
    raise SourceFailed(f"{urlsplit(address).netloc} leads from one place to the next and nowhere else")


def _followed(address: str, location: str) -> str:
    """Where a redirect leads: anywhere over https, otherwise only within the same server."""
    target = urljoin(address, location)
    before, after = urlsplit(address), urlsplit(target)
    same = (after.scheme, after.netloc) == (before.scheme, before.netloc)
    if not after.hostname or not (after.scheme == "https" or same) or not re.fullmatch(r"[!-~]+", target):
        raise SourceFailed(f"{before.netloc} leads to {after.scheme or 'no'}://{after.hostname or ''}, which isn't followed")
    return target


async def _asked(address: str, begin: int) -> Exchange:
    parts = urlsplit(address)
    route = await route_to(address, TIMEOUTS)
    query = f"?{parts.query}" if parts.query else ""
    lines = [
        f"GET {route.prefix}{parts.path or '/'}{query} HTTP/1.1",
        f"host: {parts.netloc.rpartition('@')[2]}",
        f"user-agent: treadle/{__version__}",
        "accept-encoding: identity",
    ]
    if route.proxy_authorization:
        lines.append(f"proxy-authorization: {route.proxy_authorization}")
    if begin:
        lines.append(f"range: bytes={begin}-")
    server = Server("the hub", address, remedy="is there a network?")
    return await exchange(route, server, "\r\n".join([*lines, "", ""]).encode())


def _begin(answer: Exchange, partial: Partial, host: str) -> int:
    """At which byte the answer begins; `SourceFailed` where it isn't the file that is wanted."""
    begin, whole = 0, answer.headers.get("content-length", str(partial.whole))
    if answer.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("content-range", ""))
        begin, whole = (int(found[1]), found[2]) if found else (0, "unknown")
    elif answer.status in (404, 410):
        raise SourceFailed(f"the hub at {host} doesn't have it ({answer.status})")
    elif answer.status != 200:
        raise SourceFailed(f"the hub at {host} doesn't give it ({answer.status})")
    if whole != str(partial.whole) or begin not in (0, partial.size):
        raise SourceFailed(f"the hub at {host} has another file: its size is {whole} bytes instead of {partial.whole}")
    return begin


async def _take_in(answer: Exchange, partial: Partial, on_grown: Callable[[], None]) -> None:
    batch = bytearray()
    try:
        while partial.left and (piece := await answer.some()):
            batch += piece
            if len(batch) >= BATCH:
                _add(batch, partial)
                on_grown()
    finally:
        _add(batch, partial)
        on_grown()


def _add(batch: bytearray, partial: Partial) -> None:
    """Write a batch and empty it; never more than the file has."""
    data = bytes(batch[: partial.left])
    batch.clear()
    if data:
        partial.add(data)
