"""Replies on OpenAI's wire."""

import json
from collections.abc import Iterator
from typing import Any

from wire.script import Ask, Control, Refusal, Reply, Say, Think, Used

STREAM = "text/event-stream; charset=utf-8"
_FINISH = {"done": "stop", "calls": "tool_calls", "length": "length", "filtered": "content_filter"}


def whole(reply: Reply, number: int) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(p.text for p in reply.parts if isinstance(p, Say)) or None}
    thoughts = "".join(p.text for p in reply.parts if isinstance(p, Think))
    if thoughts:
        message["reasoning_content"] = thoughts
    asked = [part for part in reply.parts if isinstance(part, Ask)]
    if asked:
        message["tool_calls"] = [_call(part, number, index, part.arguments) for index, part in enumerate(asked)]
    choice = {"index": 0, "message": message, "finish_reason": _FINISH[reply.finish_word]}
    return json.dumps(_envelope(number, [choice], reply.used)).encode()


def streamed(reply: Reply, number: int) -> Iterator[bytes | Control]:
    yield _event(number, {"role": "assistant", "content": ""})
    index = 0
    for part in reply.parts:
        match part:
            case Say():
                for text in pieces(part.text, part.size):
                    yield _event(number, {"content": text})
            case Think():
                for text in pieces(part.text, part.size):
                    yield _event(number, {"reasoning_content": text})
            case Ask():
                yield _event(number, {"tool_calls": [{**_call(part, number, index, ""), "index": index}]})
                for text in pieces(part.arguments, part.size):
                    yield _event(number, {"tool_calls": [{"index": index, "function": {"arguments": text}}]})
                index += 1
            case control:
                yield control
    if not reply.ended:
        return
    yield _event(number, {}, _FINISH[reply.finish_word])
    if reply.used is not None:
        yield b"data: " + json.dumps(_envelope(number, [], reply.used)).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def error(refusal: Refusal) -> bytes:
    return json.dumps({"error": {"message": refusal.message, "type": refusal.kind or None, "code": refusal.kind or None}}).encode()


def pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def call_id(part: Ask, number: int, index: int) -> str:
    return part.id or f"call_{number:08d}{index:08d}"


def _call(part: Ask, number: int, index: int, arguments: str) -> dict[str, Any]:
    function = {"name": part.name, "arguments": arguments}
    return {"id": call_id(part, number, index), "type": "function", "function": function}


def _event(number: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps(_envelope(number, [choice], None)).encode() + b"\n\n"


def _envelope(number: int, choices: list[Any], used: Used | None) -> dict[str, Any]:
    usage = used and {
        "prompt_tokens": used.read,
        "completion_tokens": used.wrote,
        "prompt_tokens_details": {"cached_tokens": used.cached},
    }
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": "wired-0613", "choices": choices, "usage": usage}
