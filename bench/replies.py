"""The mock model's replies over chat completions as finished HTTP bytes: whole, or as server-sent events.

Pure: a scenario, a round and a wire mode in, the writes out. Knows nothing of sockets. Other wires are in `wire_replies`.
"""

import json
from dataclasses import dataclass
from typing import Any

from bench.scenario import MODEL, Scenario
from bench.tools import TOOLS, arguments

# Small enough that a long text arrives in many segments, as it does from a real model.
EVENTS_PER_WRITE = 16
FRAGMENT = 8
CREATED = 1_760_000_000

EVENT_STREAM = "text/event-stream; charset=utf-8"
_LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """The writes that make up one reply, and how long to wait before the first."""

    writes: tuple[bytes, ...]
    delay: float


def reply(scenario: Scenario, done: int, streamed: bool) -> Reply:
    """What the model says after `done` finished rounds."""
    build = _streamed if streamed else _whole
    return Reply(build(scenario, done), scenario.delay_ms / 1000)


def whole_response(payload: dict[str, Any]) -> tuple[bytes, ...]:
    """A JSON body as one write."""
    body = to_json(payload)
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return (head.encode() + b"\r\n" + body,)


def streamed_response(events: list[bytes], content_type: str = EVENT_STREAM) -> tuple[bytes, ...]:
    """Encoded events, each as a chunk, in as many writes as a real model's take."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
    chunks = [_http_chunk(event) for event in events]
    groups = [b"".join(chunks[start : start + EVENTS_PER_WRITE]) for start in range(0, len(chunks), EVENTS_PER_WRITE)]
    groups[0] = head.encode() + groups[0]
    groups[-1] += _LAST_CHUNK
    return tuple(groups)


def calls_of(scenario: Scenario, done: int) -> list[dict[str, Any]]:
    """The calls of the next round as chat completions have them; none when the rounds are over."""
    if done >= scenario.rounds:
        return []
    first = done * scenario.calls
    return [_call(number) for number in range(first, first + scenario.calls)]


def _call(number: int) -> dict[str, Any]:
    name = TOOLS[number % len(TOOLS)].__name__
    text = json.dumps(arguments(name, number), separators=(",", ":"))
    function = {"name": name, "arguments": text}
    return {"id": f"call_{number:024d}", "type": "function", "function": function}


def _usage(done: int) -> dict[str, Any]:
    sent, answered = 400 + 60 * done, 25
    return {
        "prompt_tokens": sent,
        "completion_tokens": answered,
        "total_tokens": sent + answered,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _whole(scenario: Scenario, done: int) -> tuple[bytes, ...]:
    calls = calls_of(scenario, done)
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    else:
        message["content"] = "".join(scenario.pieces)
    finish = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return whole_response(_envelope("chat.completion", done, [choice], _usage(done)))


def _streamed(scenario: Scenario, done: int) -> tuple[bytes, ...]:
    events = [b"data: " + to_json(payload) + b"\n\n" for payload in _payloads(scenario, done)]
    return streamed_response([*events, b"data: [DONE]\n\n"])


def _payloads(scenario: Scenario, done: int) -> list[dict[str, Any]]:
    calls = calls_of(scenario, done)
    first = {"role": "assistant", "content": None if calls else "", "refusal": None}
    deltas = _call_deltas(calls) if calls else [{"content": piece} for piece in scenario.pieces]
    payloads = [_delta(done, delta) for delta in [first, *deltas]]
    payloads.append(_delta(done, {}, finish="tool_calls" if calls else "stop"))
    payloads.append(_envelope("chat.completion.chunk", done, [], _usage(done)))
    return payloads


def _call_deltas(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    deltas = []
    for index, call in enumerate(calls):
        text = call["function"]["arguments"]
        opening = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [opening]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in fragments(text)]
    return deltas


def fragments(text: str) -> list[str]:
    """Arguments as a streaming server cuts them."""
    return [text[start : start + FRAGMENT] for start in range(0, len(text), FRAGMENT)]


def _delta(done: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _envelope("chat.completion.chunk", done, [choice], None)


def _envelope(kind: str, done: int, choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{done:020d}",
        "object": kind,
        "created": CREATED,
        "model": MODEL,
        "system_fingerprint": "fp_bench",
        "choices": choices,
        "usage": usage,
    }


def _http_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def to_json(value: dict[str, Any]) -> bytes:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()
