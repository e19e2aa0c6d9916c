"""HTTP client of the child process, for JSON requests that aren't replies."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.requests import Delta, Progress, Usage
from treadle.models.connections import DEFAULT_TIMEOUTS
from treadle.models.http import ModelEndpoint
from treadle.models.server_errors import ServerIdentity
from treadle.models.stream_splitters import SseSplitter
from treadle.models.wires.openai import PromptProgress

Report = Callable[[Progress], None]


class _Chunk(Struct):
    prompt_progress: PromptProgress | None = None
    stop: bool = False


_decode_chunk = msgspec.json.Decoder(_Chunk).decode


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


class _PromptReader(_BodyReader):
    """Reports how much of a prompt has been evaluated, from the chunks of a stream."""

    ended = False
    finished = False

    def __init__(self, report: Report | None) -> None:
        super().__init__()
        self._report = report

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        for payload in payloads:
            if payload.startswith(b"[DONE]"):
                self.ended = True
                break
            chunk = _decode_chunk(payload)
            if chunk.prompt_progress is not None and self._report is not None:
                self._report(chunk.prompt_progress.to_progress())
            self.ended = self.ended or chunk.stop
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

    async def read_prompt(self, path: str, body: dict[str, Any], report: Report | None) -> None:
        """Have a prompt evaluated, and report how far that is. Raises `ModelError` if it is refused.

        It is streamed in any case: the child notices sooner that nobody waits for it any more.
        """
        sent = msgspec.json.encode({**body, "stream": True, "return_progress": True})
        async for _ in self._endpoint.reply(path, sent, _PromptReader(report), SseSplitter()):
            pass
