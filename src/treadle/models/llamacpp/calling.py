"""Asks the child for what isn't a reply: small JSON questions with JSON answers."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from treadle.core.requests import Delta, Usage
from treadle.models.exchange import PATIENT
from treadle.models.http import Endpoint
from treadle.models.refusals import Server


class _Answer:
    """Takes a whole body, and makes no deltas of it."""

    ended = True
    finished = True
    usage = Usage()

    def __init__(self) -> None:
        self.body = b"{}"

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        return iter(())

    def whole(self, body: bytes) -> Iterator[Delta]:
        self.body = body
        return iter(())

    def end(self) -> Iterator[Delta]:
        return iter(())


class Caller:
    """A child's address, and what a request to it carries."""

    def __init__(self, name: str, address: str, key: str) -> None:
        self.address = address
        self._endpoint = Endpoint(Server(name, address), headers={"authorization": f"Bearer {key}"}, timeouts=PATIENT)

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What it answers; `ModelError` where it refuses."""
        answer = _Answer()
        async for _ in self._endpoint.reply(path, msgspec.json.encode(body), answer, None):
            pass
        return msgspec.json.decode(answer.body)
