"""Replies on Gemini's protocol. The signature of a thought comes with the call or the text after it, as Gemini sends it."""

import json
from collections.abc import Iterator
from typing import Any

from wire.openai import pieces
from wire.script import Ask, Control, Refusal, Reply, Say, Think, Used

STREAM = "text/event-stream"
_FINISH = {"done": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY"}
_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}


def whole(reply: Reply, number: int) -> bytes:
    parts: list[dict[str, Any]] = []
    for part in _flow(reply, whole=True):
        if not isinstance(part, Control):
            parts.append(part)
    return json.dumps(_chunk(number, parts, reply.used, _FINISH[reply.finish_word])).encode()


def streamed(reply: Reply, number: int) -> Iterator[bytes | Control]:
    for part in _flow(reply, whole=False):
        yield part if isinstance(part, Control) else _event(_chunk(number, [part], reply.used))
    if reply.ended:
        yield _event(_chunk(number, [{"text": ""}], reply.used, _FINISH[reply.finish_word]))


def error(refusal: Refusal) -> bytes:
    status = refusal.kind or _STATUS.get(refusal.status, "UNAVAILABLE")
    return json.dumps({"error": {"code": refusal.status, "message": refusal.message, "status": status}}).encode()


def _flow(reply: Reply, *, whole: bool) -> Iterator[dict[str, Any] | Control]:
    """The parts in order; text in pieces where it is streamed."""
    signature = ""
    for part in reply.parts:
        match part:
            case Say():
                *before, last = [part.text] if whole else list(pieces(part.text, part.size)) or [""]
                yield from ({"text": text} for text in before)
                yield {"text": last, **_signed(signature)}
                signature = ""
            case Think():
                texts = [part.text] if whole else pieces(part.text, part.size)
                yield from ({"text": text, "thought": True} for text in texts)
                signature = part.signature
            case Ask():
                named = {"id": part.id} if part.id else {}
                yield {"functionCall": {**named, "name": part.name, "args": _object(part.arguments)}, **_signed(signature)}
                signature = ""
            case control:
                yield control
    if signature:
        yield {"text": "", **_signed(signature)}


def _signed(signature: str) -> dict[str, str]:
    return {"thoughtSignature": signature} if signature else {}


def _object(arguments: str) -> Any:
    """Arguments as this protocol has them: always an object, also where the model wrote none."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk)}\r\n\r\n".encode()


def _chunk(number: int, parts: list[dict[str, Any]], used: Used | None, finish: str | None = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": finish} if finish else {})}
    about = {"modelVersion": "wired-0613", "responseId": f"response_{number}"}
    return {"candidates": [candidate], **({} if used is None else {"usageMetadata": _usage(used)}), **about}


def _usage(used: Used) -> dict[str, int]:
    counts = {"promptTokenCount": used.read, "candidatesTokenCount": used.wrote, "totalTokenCount": used.read + used.wrote}
    return {**counts, "cachedContentTokenCount": used.cached} if used.cached else counts
