"""Downloads a model's file from the hub: one GET that resumes where the last one ended. HF_ENDPOINT names another hub.

Only bytes are fetched here; `pull` verifies them.
"""

import asyncio
import os
import re
from collections.abc import Callable
from urllib.parse import quote, urljoin, urlsplit

from treadle._version import __version__
from treadle.core.errors import ModelError, SettingsError
from treadle.models.connections import HttpExchange, Timeouts, find_route, send_request
from treadle.models.downloads.catalogue import HubFile
from treadle.models.downloads.partial_file import PartialFile, SourceFailed
from treadle.models.server_errors import ServerIdentity

HUB_URL = "https://huggingface.co"
BATCH = 256 << 10  # bytes between two writes
REDIRECTS = 5
PAUSE = 0.2  # seconds before a connection that broke off is made again
TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=30.0)


async def fetch_from_hub(file: HubFile, partial: PartialFile, on_grown: Callable[[], None]) -> None:
    """Fetch the rest of a file. A broken connection is opened again for as long as there is progress."""
    address = f"{_hub_url()}/{file.repository}/resolve/main/{quote(file.path)}"
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


def _hub_url() -> str:
    given = os.environ.get("HF_ENDPOINT") or HUB_URL
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"HF_ENDPOINT is {given!r}, which is no address of a hub; write it as https://host.")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


async def _fetch(address: str, partial: PartialFile, on_grown: Callable[[], None]) -> None:
    """Fetch one response, as much of it as arrives."""
    answer = await _follow_redirects(address, partial.size)
    try:
        begin = _check_start(answer, partial, urlsplit(address).netloc)
        if begin < partial.size:
            partial.cut(begin)
        await _write_response(answer, partial, on_grown)
    finally:
        answer.leave()


async def _follow_redirects(address: str, begin: int) -> HttpExchange:
    """Request an address and follow redirects."""
    for _ in range(REDIRECTS):
        answer = await _send_get(address, begin)
        if answer.status not in (301, 302, 303, 307, 308):
            return answer
        answer.leave()
        address = _resolve_redirect(address, answer.headers.get("location", ""))
    raise SourceFailed(f"{urlsplit(address).netloc} leads from one place to the next and nowhere else")


def _resolve_redirect(address: str, location: str) -> str:
    """Return the target of a redirect: anywhere over https, otherwise only within the same server."""
    target = urljoin(address, location)
    before, after = urlsplit(address), urlsplit(target)
    same = (after.scheme, after.netloc) == (before.scheme, before.netloc)
    if not after.hostname or not (after.scheme == "https" or same) or not re.fullmatch(r"[!-~]+", target):
        raise SourceFailed(f"{before.netloc} leads to {after.scheme or 'no'}://{after.hostname or ''}, which isn't followed")
    return target


async def _send_get(address: str, begin: int) -> HttpExchange:
    parts = urlsplit(address)
    route = await find_route(address, TIMEOUTS)
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
    server = ServerIdentity("the hub", address, remedy="is there a network?")
    return await send_request(route, server, "\r\n".join([*lines, "", ""]).encode())


def _check_start(answer: HttpExchange, partial: PartialFile, host: str) -> int:
    """Return the byte at which the response begins; raise `SourceFailed` if it isn't the wanted file."""
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


async def _write_response(answer: HttpExchange, partial: PartialFile, on_grown: Callable[[], None]) -> None:
    batch = bytearray()
    try:
        while partial.left and (piece := await answer.some()):
            batch += piece
            if len(batch) >= BATCH:
                _write_batch(batch, partial)
                on_grown()
    finally:
        _write_batch(batch, partial)
        on_grown()


def _write_batch(batch: bytearray, partial: PartialFile) -> None:
    """Write a batch and empty it; never more than the file's size."""
    data = bytes(batch[: partial.left])
    batch.clear()
    if data:
        partial.add(data)
