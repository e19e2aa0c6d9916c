"""Replies of Bedrock's Converse API: whole as JSON, streamed as binary frames."""

import json
import struct
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from wire.openai import call_id, pieces
from wire.script import Ask, Control, Refusal, Reply, Say, Think, Used

STREAM = "application/vnd.amazon.eventstream"
_FINISH = {"done": "end_turn", "calls": "tool_use", "length": "max_tokens", "filtered": "content_filtered"}


def whole(reply: Reply, number: int) -> bytes:
    blocks = [_block(part, number, index) for index, part in enumerate(reply.parts) if isinstance(part, Say | Think | Ask)]
    message = {"role": "assistant", "content": blocks}
    body = {"output": {"message": message}, "stopReason": _FINISH[reply.finish_word], "metrics": {"latencyMs": 1}}
    return json.dumps({**body, **_usage(reply.used)}).encode()


def streamed(reply: Reply, number: int) -> Iterator[bytes | Control]:
    yield event("messageStart", role="assistant")
    index = 0
    for part in reply.parts:
        if isinstance(part, Control):
            yield part
            continue
        yield from _streamed_part(part, number, index)
        yield event("contentBlockStop", contentBlockIndex=index)
        index += 1
    if not reply.ended:
        return
    yield event("messageStop", stopReason=_FINISH[reply.finish_word])
    if reply.used is not None:
        yield event("metadata", metrics={"latencyMs": 1}, **_usage(reply.used))


def error(refusal: Refusal) -> bytes:
    return json.dumps({"message": refusal.message}).encode()


def error_headers(refusal: Refusal) -> dict[str, str]:
    kind = f"{refusal.kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"
    return {"x-amzn-RequestId": "b2f1", **({"x-amzn-ErrorType": kind} if refusal.kind else {})}


def event(name: str, **fields: Any) -> bytes:
    """A frame with an event."""
    return frame({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, json.dumps(fields).encode())


def exception(name: str, message: str) -> bytes:
    """A frame that ends a stream with an exception."""
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())


def frame(headers: dict[str, str], payload: bytes, *, before: bytes = b"") -> bytes:
    """A frame with headers of text, behind others that are encoded already."""
    encoded = before + b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    framed = prelude + struct.pack(">I", crc32(prelude)) + encoded + payload
    return framed + struct.pack(">I", crc32(framed))


def _streamed_part(part: Say | Think | Ask, number: int, index: int) -> Iterator[bytes]:
    """The pieces of a block; only calls have a start of their own."""
    match part:
        case Say():
            yield from (_delta(index, text=text) for text in pieces(part.text, part.size))
        case Think():
            yield from (_delta(index, reasoningContent={"text": text}) for text in pieces(part.text, part.size))
            if part.signature:
                yield _delta(index, reasoningContent={"signature": part.signature})
        case Ask():
            started = {"toolUse": {"toolUseId": call_id(part, number, index), "name": part.name}}
            yield event("contentBlockStart", start=started, contentBlockIndex=index)
            yield from (_delta(index, toolUse={"input": text}) for text in pieces(part.arguments, part.size))


def _delta(index: int, **delta: Any) -> bytes:
    return event("contentBlockDelta", delta=delta, contentBlockIndex=index)


def _block(part: Say | Think | Ask, number: int, index: int) -> dict[str, Any]:
    match part:
        case Say():
            return {"text": part.text}
        case Think():
            sealed = {"signature": part.signature} if part.signature else {}
            return {"reasoningContent": {"reasoningText": {"text": part.text, **sealed}}}
        case Ask():
            named = {"toolUseId": call_id(part, number, index), "name": part.name}
            return {"toolUse": {**named, "input": _object(part.arguments)}}


def _object(arguments: str) -> Any:
    """Arguments as whole replies have them: always an object, also where the model wrote none."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _usage(used: Used | None) -> dict[str, Any]:
    if used is None:
        return {}
    read = {"inputTokens": used.read - used.cached, "cacheReadInputTokens": used.cached, "cacheWriteInputTokens": 0}
    return {"usage": {**read, "outputTokens": used.wrote, "totalTokens": used.read + used.wrote}}
