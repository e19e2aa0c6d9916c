"""The mock model's replies as finished HTTP bytes: whole, or as server-sent events.

Pure: a scenario, a round and a wire mode in, the writes out. Knows nothing of sockets.
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

_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
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


def _calls(scenario: Scenario, done: int) -> list[dict[str, Any]]:
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
    calls = _calls(scenario, done)
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    else:
        message["content"] = "".join(scenario.pieces)
    finish = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    body = _json(_envelope("chat.completion", done, [choice], _usage(done)))
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return (head.encode() + b"\r\n" + body,)


def _streamed(scenario: Scenario, done: int) -> tuple[bytes, ...]:
    events = [_event(payload) for payload in _payloads(scenario, done)]
    events.append(_http_chunk(b"data: [DONE]\n\n"))
    groups = [b"".join(events[start : start + EVENTS_PER_WRITE]) for start in range(0, len(events), EVENTS_PER_WRITE)]
    groups[0] = _STREAM_HEAD + groups[0]
    groups[-1] += _LAST_CHUNK
    return tuple(groups)


def _payloads(scenario: Scenario, done: int) -> list[dict[str, Any]]:
    calls = _calls(scenario, done)
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
        for start in range(0, len(text), FRAGMENT):
            fragment = {"arguments": text[start : start + FRAGMENT]}
            deltas.append({"tool_calls": [{"index": index, "function": fragment}]})
    return deltas


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


def _event(payload: dict[str, Any]) -> bytes:
    return _http_chunk(b"data: " + _json(payload) + b"\n\n")


def _http_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
