"""Embeddings from a server that speaks OpenAI's `/embeddings`: the public one, or any compatible (Ollama, vLLM, llama-server, TEI).

Texts go out in batches. What a server can't answer now is asked again; every failure is a `ModelError` with a sentence.
"""

import asyncio
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode

from treadle.core.errors import MissingKey, ModelError, ReplyBroken
from treadle.core.requests import Delta, Usage
from treadle.loop.retry import wait_before
from treadle.models.embeddings.vectors import unit
from treadle.models.exchange import PATIENT, Timeouts
from treadle.models.http import Endpoint
from treadle.models.refusals import Server, unreadable

PUBLIC = "https://api.openai.com/v1"
AT_ONCE = 64  # texts of a request
LONGEST = 8_000  # characters of a text that are sent: models read about 8,000 tokens, and most texts have fewer than characters
ATTEMPTS = 4


class _Embedding(Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(Struct):
    data: list[_Embedding]


_answers = Decoder(_Answer)


class EndpointEmbedder:
    """The embedder behind `openai:NAME`. What isn't given comes from OPENAI_API_KEY and OPENAI_BASE_URL."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        floor: float = 0.3,
        backoff: float = 1.0,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = PATIENT,
    ) -> None:
        self.name = f"openai:{model}" + (f"/{dimensions}" if dimensions else "")
        self.floor = floor
        address = (base_url or os.environ.get("OPENAI_BASE_URL") or PUBLIC).rstrip("/")
        key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if address == PUBLIC and not key:
            raise MissingKey(f"{self.name} needs a key: set OPENAI_API_KEY. For a server of your own, set OPENAI_BASE_URL.")
        self._fields = {"model": model, "encoding_format": "float", **({"dimensions": dimensions} if dimensions else {})}
        self._backoff = backoff
        remedy = "is the network up?" if address == PUBLIC else "is it running, and is base_url right?"
        self._server = Server(self.name, address, key_variable="OPENAI_API_KEY", remedy=remedy, secrets=(key,) if key else ())
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._endpoint = Endpoint(self._server, headers={**authorization, **(headers or {})}, timeouts=timeouts)

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        vectors: list[bytes] = []
        for start in range(0, len(texts), AT_ONCE):
            vectors += await self._batch([_sendable(text) for text in texts[start : start + AT_ONCE]])
        return vectors

    async def _batch(self, texts: list[str]) -> list[bytes]:
        """One request, asked again where that may help."""
        body = encode({**self._fields, "input": texts})
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(body, len(texts))
            except ModelError as error:
                wait = wait_before(attempt, self._backoff, error.retry_after, random.random())  # noqa: S311 - spreads retries
                if not error.retryable or attempt == ATTEMPTS or wait is None:
                    raise
                await asyncio.sleep(wait)

    async def _once(self, body: bytes, texts: int) -> list[bytes]:
        reading = _Reading(self._server, texts)
        async for _ in self._endpoint.reply("/embeddings", body, reading, None):
            pass
        return reading.vectors


def _sendable(text: str) -> str:
    """What servers take: no lone surrogates, not too much, and never nothing."""
    return text[:LONGEST].encode("utf-8", "replace").decode() or " "


class _Reading:
    """What an answer says: a vector for each text, in the order of the texts."""

    ended = finished = True
    usage = Usage()

    def __init__(self, server: Server, texts: int) -> None:
        self._server = server
        self._texts = texts
        self.vectors: list[bytes] = []

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Nothing: embeddings don't come in pieces."""
        return iter(())

    def whole(self, body: bytes) -> Iterator[Delta]:
        """The vectors of an answer."""
        try:
            data = _answers.decode(body).data
        except (DecodeError, ValidationError, RecursionError) as error:
            raise unreadable(self._server, body) from error
        data.sort(key=lambda one: one.index or 0)
        if len(data) != self._texts or len({len(one.embedding) for one in data}) != 1 or not data[0].embedding:
            what = f"{len(data)} vectors for {self._texts} texts, or of different lengths"
            raise ReplyBroken(f"The reply of {self._server.model} at {self._server.host} can't be used: {what}.")
        self.vectors = [unit(one.embedding) for one in data]
        return iter(())

    def end(self) -> Iterator[Delta]:
        """Nothing more."""
        return iter(())
