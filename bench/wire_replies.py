"""The mock model's replies on the wires beside chat completions: Responses, Anthropic, Gemini and Bedrock's Converse.

Pure, as `replies` is: the same rounds and calls, as each provider writes them.
"""

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from bench.replies import Reply, calls_of, fragments, streamed_response, to_json, whole_response
from bench.scenario import MODEL, Scenario

Payload = dict[str, Any]
Calls = list[dict[str, Any]]
Build = Callable[[Scenario, Calls], tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider's requests are told apart and its replies are built. `mark` is in a request once for each reply or call."""

    path: bytes
    mark: bytes
    whole: Build
    streamed: Build
    mark_is_call: bool = False

    def reply(self, scenario: Scenario, marks: int, streamed: bool) -> Reply:
        """What the model says next."""
        done = marks // scenario.calls if self.mark_is_call else marks
        build = self.streamed if streamed else self.whole
        return Reply(build(scenario, calls_of(scenario, done)), scenario.delay_ms / 1000)


def wire_of(path: bytes) -> Wire | None:
    """The wire that a path belongs to; None for chat completions."""
    return next((wire for wire in _WIRES if wire.path in path), None)


def streams(path: bytes) -> bool:
    """Whether a path asks for a stream, on wires that say it there."""
    return b":streamGenerateContent" in path or path.endswith(b"/converse-stream")


def _named(call: dict[str, Any]) -> tuple[str, str, str]:
    return call["id"], call["function"]["name"], call["function"]["arguments"]


def _event(name: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json({"type": name, **fields}))


# Responses


def _response_items(scenario: Scenario, calls: Calls) -> list[Payload]:
    if not calls:
        content = [{"type": "output_text", "text": "".join(scenario.pieces), "annotations": [], "logprobs": []}]
        return [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}]
    return [
        {"id": f"fc_{key}", "type": "function_call", "status": "completed", "call_id": key, "name": name, "arguments": text}
        for key, name, text in map(_named, calls)
    ]


def _response(status: str, items: list[Payload]) -> Payload:
    usage = {"input_tokens": 400, "output_tokens": 25, "total_tokens": 425}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    base = {"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": MODEL, "output": items}
    return {**base, "error": None, "incomplete_details": None, "usage": {**usage, **details} if items else None}


def _responses_whole(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    return whole_response(_response("completed", _response_items(scenario, calls)))


def _responses_streamed(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    return streamed_response([_event(kind, **fields) for kind, fields in _response_events(scenario, calls)])


def _response_events(scenario: Scenario, calls: Calls) -> Iterator[tuple[str, Payload]]:
    items = _response_items(scenario, calls)
    yield "response.created", {"response": _response("in_progress", [])}
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        begun = {**item, "status": "in_progress", **({"arguments": ""} if calls else {"content": []})}
        yield "response.output_item.added", {"output_index": index, "item": begun}
        if calls:
            for piece in fragments(item["arguments"]):
                yield "response.function_call_arguments.delta", {**place, "delta": piece}
            yield "response.function_call_arguments.done", {**place, "arguments": item["arguments"]}
        else:
            for piece in scenario.pieces:
                yield "response.output_text.delta", {**place, "content_index": 0, "delta": piece, "logprobs": []}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": _response("completed", items)}


# Anthropic


def _message(**fields: Any) -> Payload:
    usage = {"input_tokens": 400, "cache_read_input_tokens": 0, "output_tokens": 25}
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None, "usage": usage, **fields}


def _anthropic_whole(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    blocks: list[Payload] = [
        {"type": "tool_use", "id": key, "name": name, "input": json.loads(text)} for key, name, text in map(_named, calls)
    ]
    blocks = blocks or [{"type": "text", "text": "".join(scenario.pieces)}]
    return whole_response(_message(content=blocks, stop_reason="tool_use" if calls else "end_turn"))


def _anthropic_streamed(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    events = [_event("message_start", message=_message(content=[], stop_reason=None)), _event("ping")]
    for index, (key, name, text) in enumerate(map(_named, calls)):
        block = {"type": "tool_use", "id": key, "name": name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in fragments(text)]
        events += _anthropic_block(index, block, deltas)
    if not calls:
        deltas = [{"type": "text_delta", "text": piece} for piece in scenario.pieces]
        events += _anthropic_block(0, {"type": "text", "text": ""}, deltas)
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    return streamed_response([*events, _event("message_delta", delta=reason, usage={"output_tokens": 25}), _event("message_stop")])


def _anthropic_block(index: int, block: Payload, deltas: list[Payload]) -> list[bytes]:
    return [
        _event("content_block_start", index=index, content_block=block),
        *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("content_block_stop", index=index),
    ]


# Gemini


def _chunk(parts: list[Payload], finish: str | None) -> Payload:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": finish} if finish else {})}
    usage = {"promptTokenCount": 400, "candidatesTokenCount": 25, "totalTokenCount": 425}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "response_1"}


def _google_calls(calls: Calls) -> list[Payload]:
    return [{"functionCall": {"id": key, "name": name, "args": json.loads(text)}} for key, name, text in map(_named, calls)]


def _google_whole(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    return whole_response(_chunk(_google_calls(calls) or [{"text": "".join(scenario.pieces)}], "STOP"))


def _google_streamed(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    parts = _google_calls(calls) or [{"text": piece} for piece in scenario.pieces]
    chunks = [*(_chunk([part], None) for part in parts), _chunk([{"text": ""}], "STOP")]
    return streamed_response([b"data: %b\r\n\r\n" % to_json(chunk) for chunk in chunks])


# Bedrock


def _bedrock_usage() -> Payload:
    usage = {"inputTokens": 400, "cacheReadInputTokens": 0, "cacheWriteInputTokens": 0, "outputTokens": 25, "totalTokens": 425}
    return {"usage": usage, "metrics": {"latencyMs": 1}}


def _bedrock_whole(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    blocks: list[Payload] = [
        {"toolUse": {"toolUseId": key, "name": name, "input": json.loads(text)}} for key, name, text in map(_named, calls)
    ]
    message = {"role": "assistant", "content": blocks or [{"text": "".join(scenario.pieces)}]}
    reason = "tool_use" if calls else "end_turn"
    return whole_response({"output": {"message": message}, "stopReason": reason, **_bedrock_usage()})


def _bedrock_streamed(scenario: Scenario, calls: Calls) -> tuple[bytes, ...]:
    events = [_frame("messageStart", role="assistant")]
    for index, (key, name, text) in enumerate(map(_named, calls)):
        start = {"toolUse": {"toolUseId": key, "name": name}}
        events.append(_frame("contentBlockStart", start=start, contentBlockIndex=index))
        deltas = [{"toolUse": {"input": piece}} for piece in fragments(text)]
        events += [_frame("contentBlockDelta", delta=delta, contentBlockIndex=index) for delta in deltas]
        events.append(_frame("contentBlockStop", contentBlockIndex=index))
    if not calls:
        events += [_frame("contentBlockDelta", delta={"text": piece}, contentBlockIndex=0) for piece in scenario.pieces]
        events.append(_frame("contentBlockStop", contentBlockIndex=0))
    events.append(_frame("messageStop", stopReason="tool_use" if calls else "end_turn"))
    return streamed_response([*events, _frame("metadata", **_bedrock_usage())], "application/vnd.amazon.eventstream")


def _frame(name: str, **fields: Any) -> bytes:
    """One message of AWS's event stream, with its checksums."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    encoded = b"".join(
        struct.pack(">B", len(key)) + key.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for key, value in headers.items()
    )
    payload = to_json(fields)
    prelude = struct.pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    framed = prelude + struct.pack(">I", crc32(prelude)) + encoded + payload
    return framed + struct.pack(">I", crc32(framed))


_WIRES = (
    Wire(b"/responses", b'"function_call"', _responses_whole, _responses_streamed, mark_is_call=True),
    Wire(b"/messages", b'"assistant"', _anthropic_whole, _anthropic_streamed),
    Wire(b"enerateContent", b'"model"', _google_whole, _google_streamed),
    Wire(b"/converse", b'"assistant"', _bedrock_whole, _bedrock_streamed),
)
