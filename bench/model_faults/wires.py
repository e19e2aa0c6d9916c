"""Replies as two wires write them, piece by piece, with what each piece tells of the tokens that were used. No sockets here."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

SIZE = 9  # characters of text or arguments in one piece
Tokens = tuple[int, int]  # read and written
NOTHING: Tokens = (0, 0)

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Said(Struct, frozen=True):
    """What the model says: words, calls as name, id and arguments, and what the server bills for it."""

    words: str
    calls: tuple[tuple[str, str, dict[str, Any]], ...]
    tokens: Tokens


class Piece(Struct, frozen=True):
    """Bytes of an answer. `told` is what whoever has read as far as this has been told of the tokens."""

    data: bytes
    told: Tokens = NOTHING


class Message(Struct, frozen=True):
    """A whole answer, head first."""

    pieces: tuple[Piece, ...]

    @property
    def data(self) -> bytes:
        """All of it."""
        return b"".join([piece.data for piece in self.pieces])

    @property
    def head(self) -> int:
        """How many bytes the head has."""
        return len(self.pieces[0].data)

    def told(self, received: int) -> frozenset[Tokens]:
        """All that whoever got so many bytes may have been told: they may have stopped reading before the last of them."""
        found, end = {NOTHING}, 0
        for piece in self.pieces:
            end += len(piece.data)
            if end - 2 <= received:  # the end of a chunk says nothing more
                found.add(piece.told)
        return frozenset(found)


def answered(wire: str, said: Said, *, stream: bool) -> Message:
    """The reply on a wire."""
    if not stream:
        body = json.dumps((_openai_whole if wire == "openai" else _anthropic_whole)(said)).encode()
        return Message((Piece(_head(200, {}, len(body))), Piece(body, said.tokens)))
    events = (_openai if wire == "openai" else _anthropic)(said)
    chunks = [Piece(b"%x\r\n%b\r\n" % (len(piece.data), piece.data), piece.told) for piece in events]
    return Message((Piece(STREAM), *chunks, Piece(b"0\r\n\r\n", said.tokens)))


def refused(wire: str, status: int, headers: dict[str, str]) -> bytes:
    """An answer that is none: an error object, or from something between us and the server a page."""
    if status == 502:
        body = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
    else:
        body = json.dumps(_error(wire, f"this is a {status}")).encode()
    return _head(status, headers, len(body)) + body


def failure_within(wire: str) -> bytes:
    """The chunk that says in the middle of a stream that there will be no more."""
    name = b"event: error\n" if wire == "anthropic" else b""
    event = name + b"data: " + json.dumps(_error(wire, "overloaded", "overloaded_error")).encode() + b"\n\n"
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)


def _error(wire: str, words: str, kind: str = "api_error") -> dict[str, Any]:
    error = {"message": words, "type": kind, "code": kind}
    return {"type": "error", "error": error} if wire == "anthropic" else {"error": error}


def _head(status: int, headers: dict[str, str], length: int) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(
        [f"HTTP/1.1 {status} So", "content-type: application/json", f"content-length: {length}", *lines, "", ""]
    ).encode()


def _cut(text: str) -> Iterator[str]:
    for start in range(0, len(text), SIZE):
        yield text[start : start + SIZE]


# OpenAI's


def _openai(said: Said) -> Iterator[Piece]:
    yield _chunk({"role": "assistant", "content": ""})
    for words in _cut(said.words):
        yield _chunk({"content": words})
    for index, (name, call_id, arguments) in enumerate(said.calls):
        opening = {"id": call_id, "type": "function", "index": index, "function": {"name": name, "arguments": ""}}
        yield _chunk({"tool_calls": [opening]})
        for text in _cut(json.dumps(arguments)):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield _chunk({}, "tool_calls" if said.calls else "stop")
    yield Piece(_data({"object": "chat.completion.chunk", "choices": [], "usage": _openai_usage(said.tokens)}), said.tokens)
    yield Piece(b"data: [DONE]\n\n", said.tokens)


def _chunk(delta: dict[str, Any], finish: str | None = None) -> Piece:
    return Piece(_data({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _openai_whole(said: Said) -> dict[str, Any]:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, call_id, arguments in said.calls
    ]
    message = {"role": "assistant", "content": said.words, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"object": "chat.completion", "choices": [choice], "usage": _openai_usage(said.tokens)}


def _openai_usage(tokens: Tokens) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}


# Anthropic's: what was read is told at the beginning, what was written at the end


def _anthropic(said: Said) -> Iterator[Piece]:
    read, wrote = said.tokens
    begun = (read, 1)
    message: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": read, "output_tokens": 1},
    }
    yield _event("message_start", begun, message=message)
    for index, block in enumerate(_blocks(said)):
        empty: dict[str, Any] = {**block, **({"text": ""} if block["type"] == "text" else {"input": {}})}
        yield _event("content_block_start", begun, index=index, content_block=empty)
        for delta in _deltas(block):
            yield _event("content_block_delta", begun, index=index, delta=delta)
        yield _event("content_block_stop", begun, index=index)
    stop = {"stop_reason": "tool_use" if said.calls else "end_turn"}
    yield _event("message_delta", said.tokens, delta=stop, usage={"output_tokens": wrote})
    yield _event("message_stop", said.tokens)


def _blocks(said: Said) -> Sequence[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": call_id, "name": name, "input": arguments} for name, call_id, arguments in said.calls]
    return [{"type": "text", "text": said.words}, *calls]


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": text} for text in _cut(block["text"]))
    else:
        yield from ({"type": "input_json_delta", "partial_json": text} for text in _cut(json.dumps(block["input"])))


def _event(name: str, told: Tokens, **fields: Any) -> Piece:
    return Piece(f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode(), told)


def _anthropic_whole(said: Said) -> dict[str, Any]:
    read, wrote = said.tokens
    usage = {"input_tokens": read, "output_tokens": wrote}
    stop = "tool_use" if said.calls else "end_turn"
    return {"type": "message", "role": "assistant", "content": _blocks(said), "stop_reason": stop, "usage": usage}
