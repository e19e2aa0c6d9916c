"""Embeddings from a server with OpenAI's `/embeddings` API: the public one, or any compatible (Ollama, vLLM, llama-server, TEI).

Texts are sent in batches. Temporary failures are retried; every failure is a `ModelError` with a message.
"""

import asyncio
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode

from treadle.core.errors import MissingKey, ModelError, ReplyBroken
from treadle.core.requests import Delta, Usage
from treadle.loop.retry import retry_delay
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.http import ModelEndpoint
from treadle.models.server_errors import ServerIdentity, unreadable_reply_error
from treadle.retrieval.local_embeddings import to_unit_vector

PUBLIC = "https://api.openai.com/v1"
BATCH_SIZE = 64  # texts of a request
MAX_TEXT = 8_000  # characters of a text that are sent: models read about 8,000 tokens, and most texts have fewer than characters
ATTEMPTS = 4


class _Embedding(Struct):
    embedding: list[float]
    index: int | None = None


class _EmbeddingsResponse(Struct):
    data: list[_Embedding]


_decoder = Decoder(_EmbeddingsResponse)


class EndpointEmbedder:
    """The embedder behind `openai:NAME`. Missing settings come from OPENAI_API_KEY and OPENAI_BASE_URL."""

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
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
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
        self._server = ServerIdentity(
            self.name, address, key_variable="OPENAI_API_KEY", remedy=remedy, secrets=(key,) if key else ()
        )
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._endpoint = ModelEndpoint(self._server, headers={**authorization, **(headers or {})}, timeouts=timeouts)

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text."""
        vectors: list[bytes] = []
        for start in range(0, len(texts), BATCH_SIZE):
            vectors += await self._embed_batch([_clean_text(text) for text in texts[start : start + BATCH_SIZE]])
        return vectors

    async def _embed_batch(self, texts: list[str]) -> list[bytes]:
        """Send one request, with retries where they may help."""
        body = encode({**self._fields, "input": texts})
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._request(body, len(texts))
            except ModelError as error:
                wait = retry_delay(attempt, self._backoff, error.retry_after, random.random())  # noqa: S311 - spreads retries
                if not error.retryable or attempt == ATTEMPTS or wait is None:
                    raise
                await asyncio.sleep(wait)

    async def _request(self, body: bytes, texts: int) -> list[bytes]:
        reading = _EmbeddingsReader(self._server, texts)
        async for _ in self._endpoint.reply("/embeddings", body, reading, None):
            pass
        return reading.vectors


def _clean_text(text: str) -> str:
    """Return text that servers accept: no lone surrogates, not too long, and never empty."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode() or " "


class _EmbeddingsReader:
    """Reads a response: a vector for each text, in the order of the texts."""

    ended = finished = True
    usage = Usage()

    def __init__(self, server: ServerIdentity, texts: int) -> None:
        self._server = server
        self._texts = texts
        self.vectors: list[bytes] = []

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return nothing: embeddings aren't streamed."""
        return iter(())

    def whole(self, body: bytes) -> Iterator[Delta]:
        """Read the vectors of a response."""
        try:
            data = _decoder.decode(body).data
        except (DecodeError, ValidationError, RecursionError) as error:
            raise unreadable_reply_error(self._server, body) from error
        data.sort(key=lambda one: one.index or 0)
        if len(data) != self._texts or len({len(one.embedding) for one in data}) != 1 or not data[0].embedding:
            what = f"{len(data)} vectors for {self._texts} texts, or of different lengths"
            raise ReplyBroken(f"The reply of {self._server.model} at {self._server.host} can't be used: {what}.")
        self.vectors = [to_unit_vector(one.embedding) for one in data]
        return iter(())

    def end(self) -> Iterator[Delta]:
        """Return nothing more."""
        return iter(())
