"""HTTP client of the child process, for JSON requests that aren't replies."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from treadle.core.requests import Delta, Usage
from treadle.models.connections import DEFAULT_TIMEOUTS
from treadle.models.http import ModelEndpoint
from treadle.models.server_errors import ServerIdentity


class _BodyReader:
    """Keeps a complete body, and makes no deltas of it."""

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


class ChildClient:
    """The child's URL and the headers of a request to it."""

    def __init__(self, name: str, address: str, key: str) -> None:
        self.address = address
        self._endpoint = ModelEndpoint(
            ServerIdentity(name, address), headers={"authorization": f"Bearer {key}"}, timeouts=DEFAULT_TIMEOUTS
        )

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the decoded response; raise `ModelError` if it is refused."""
        answer = _BodyReader()
        async for _ in self._endpoint.reply(path, msgspec.json.encode(body), answer, None):
            pass
        return msgspec.json.decode(answer.body)
