"""Replies on Anthropic's wire."""

import json
from collections.abc import Iterator
from typing import Any

from wire.openai import call_id, pieces
from wire.script import Ask, Control, Refusal, Reply, Say, Think, Used

STREAM = "text/event-stream; charset=utf-8"
_FINISH = {"done": "end_turn", "calls": "tool_use", "length": "max_tokens", "filtered": "refusal"}


def whole(reply: Reply, number: int) -> bytes:
    blocks = [_block(part, number, index) for index, part in enumerate(reply.parts) if isinstance(part, Say | Think | Ask)]
    message = {**_message(number), "content": blocks, "stop_reason": _FINISH[reply.finish_word], "usage": _usage(reply.used)}
    return json.dumps(message).encode()


def streamed(reply: Reply, number: int) -> Iterator[bytes | Control]:
    yield _event("message_start", message={**_message(number), "content": [], "usage": _usage(reply.used)})
    yield _event("ping")
    index = 0
    for part in reply.parts:
        if isinstance(part, Control):
            yield part
            continue
        yield _event("content_block_start", index=index, content_block=_opening(part, number, index))
        for delta in _deltas(part):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
        index += 1
    if not reply.ended:
        return
    wrote = {"output_tokens": reply.used.wrote} if reply.used else {}
    yield _event("message_delta", delta={"stop_reason": _FINISH[reply.finish_word], "stop_sequence": None}, usage=wrote)
    yield _event("message_stop")


def error(refusal: Refusal) -> bytes:
    kind = refusal.kind or "invalid_request_error"
    return json.dumps({"type": "error", "error": {"type": kind, "message": refusal.message}}).encode()


def _opening(part: Say | Think | Ask, number: int, index: int) -> dict[str, Any]:
    match part:
        case Say():
            return {"type": "text", "text": ""}
        case Think():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Ask():
            return {"type": "tool_use", "id": call_id(part, number, index), "name": part.name, "input": {}}


def _deltas(part: Say | Think | Ask) -> Iterator[dict[str, Any]]:
    match part:
        case Say():
            yield from ({"type": "text_delta", "text": text} for text in pieces(part.text, part.size))
        case Think():
            yield from ({"type": "thinking_delta", "thinking": text} for text in pieces(part.text, part.size))
            yield {"type": "signature_delta", "signature": part.signature}
        case Ask():
            yield {"type": "input_json_delta", "partial_json": ""}
            yield from ({"type": "input_json_delta", "partial_json": text} for text in pieces(part.arguments, part.size))


def _block(part: Say | Think | Ask, number: int, index: int) -> dict[str, Any]:
    match part:
        case Say():
            return {"type": "text", "text": part.text}
        case Think():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case Ask():
            return {**_opening(part, number, index), "input": _object(part.arguments)}


def _object(arguments: str) -> Any:
    """Arguments as this wire's whole replies have them: always an object, also where the model wrote none."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def _message(number: int) -> dict[str, Any]:
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "wired-0613", "stop_reason": None}


def _usage(used: Used | None) -> dict[str, Any]:
    if used is None:
        return {}
    return {"input_tokens": used.read - used.cached, "cache_read_input_tokens": used.cached, "output_tokens": used.wrote}
