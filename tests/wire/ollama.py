"""Replies on Ollama's own wire."""

import json
from collections.abc import Iterator
from typing import Any

from wire.openai import pieces
from wire.script import Ask, Control, Refusal, Reply, Say, Think

STREAM = "application/x-ndjson"
_FINISH = {"done": "stop", "calls": "stop", "length": "length", "filtered": "stop"}


def whole(reply: Reply, number: int) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(p.text for p in reply.parts if isinstance(p, Say))}
    thoughts = "".join(p.text for p in reply.parts if isinstance(p, Think))
    if thoughts:
        message["thinking"] = thoughts
    asked = [_call(part) for part in reply.parts if isinstance(part, Ask)]
    if asked:
        message["tool_calls"] = asked
    return json.dumps({**_last(reply), "message": message}).encode()


def streamed(reply: Reply, number: int) -> Iterator[bytes | Control]:
    for part in reply.parts:
        match part:
            case Say():
                yield from (_line(content=text) for text in pieces(part.text, part.size))
            case Think():
                yield from (_line(content="", thinking=text) for text in pieces(part.text, part.size))
            case Ask():
                yield _line(content="", tool_calls=[_call(part)])
            case control:
                yield control
    if reply.ended:
        yield json.dumps({**_last(reply), "message": {"role": "assistant", "content": ""}}).encode() + b"\n"


def error(refusal: Refusal) -> bytes:
    return json.dumps({"error": refusal.message}).encode()


def _call(part: Ask) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {"name": part.name, "arguments": json.loads(part.arguments)}}
    return {"id": part.id, **call} if part.id else call


def _line(**message: Any) -> bytes:
    return json.dumps({"model": "wired", "message": {"role": "assistant", **message}, "done": False}).encode() + b"\n"


def _last(reply: Reply) -> dict[str, Any]:
    used = reply.used
    counts = {"prompt_eval_count": used.read, "eval_count": used.wrote} if used else {}
    return {"model": "wired-0613", "done": True, "done_reason": _FINISH[reply.finish_word], **counts}
