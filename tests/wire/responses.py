"""Replies on the Responses wire, as the public endpoint writes them."""

import json
from collections.abc import Iterator
from typing import Any

from wire.openai import call_id, pieces
from wire.script import Ask, Control, Refusal, Reply, Say, Think, Used

STREAM = "text/event-stream; charset=utf-8"
_INCOMPLETE = {"length": "max_output_tokens", "filtered": "content_filter"}


def whole(reply: Reply, number: int) -> bytes:
    return json.dumps(_over(reply, number)).encode()


def streamed(reply: Reply, number: int) -> Iterator[bytes | Control]:
    for count, event in enumerate(_events(reply, number)):
        if isinstance(event, Control):
            yield event
        else:
            data = json.dumps({"type": event["type"], "sequence_number": count, **event})
            yield f"event: {event['type']}\ndata: {data}\n\n".encode()


def error(refusal: Refusal) -> bytes:
    told = {"message": refusal.message, "type": refusal.kind or None, "param": None, "code": refusal.kind or None}
    return json.dumps({"error": told}).encode()


def _events(reply: Reply, number: int) -> Iterator[dict[str, Any] | Control]:
    started = _response(number, "in_progress", [], None)
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    items = iter(_items(reply, number))
    index = 0
    for part in reply.parts:
        if isinstance(part, Control):
            yield part
            continue
        item = next(items)
        yield {"type": "response.output_item.added", "output_index": index, "item": _begun(item)}
        for event in _deltas(part, item):
            yield {"output_index": index, "item_id": item["id"], **event}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
        index += 1
    if reply.ended:
        response = _over(reply, number)
        yield {"type": f"response.{response['status']}", "response": response}


def _deltas(part: Say | Think | Ask, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match part:
        case Say():
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", "content_index": 0, "part": empty}
            for text in pieces(part.text, part.size):
                yield {"type": "response.output_text.delta", "content_index": 0, "delta": text, "logprobs": []}
            yield {"type": "response.output_text.done", "content_index": 0, "text": part.text, "logprobs": []}
            yield {"type": "response.content_part.done", "content_index": 0, "part": item["content"][0]}
        case Think():
            empty = {"type": "summary_text", "text": ""}
            yield {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": empty}
            for text in pieces(part.text, part.size):
                yield {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": text}
            yield {"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": part.text}
            yield {"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": item["summary"][0]}
        case Ask():
            for text in pieces(part.arguments, part.size):
                yield {"type": "response.function_call_arguments.delta", "delta": text}
            yield {"type": "response.function_call_arguments.done", "arguments": part.arguments, "name": part.name}


def _items(reply: Reply, number: int) -> list[dict[str, Any]]:
    said = [part for part in reply.parts if isinstance(part, Say | Think | Ask)]
    items = [_item(part, number, index) for index, part in enumerate(said)]
    if items and reply.finish_word in _INCOMPLETE:
        items[-1]["status"] = "incomplete"
    return items


def _item(part: Say | Think | Ask, number: int, index: int) -> dict[str, Any]:
    name = f"{number:08d}{index:08d}"
    match part:
        case Say():
            content = [{"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}]
            return {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": content}
        case Think():
            summary = [{"type": "summary_text", "text": part.text}]
            return {
                "id": f"rs_{name}",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": part.signature or f"sealed {name}",
            }
        case Ask():
            called = {"call_id": call_id(part, number, index), "name": part.name, "arguments": part.arguments}
            return {"id": f"fc_{name}", "type": "function_call", "status": "completed", **called}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it is announced: with everything in it still to come."""
    empty = {"content": [], "summary": [], "arguments": "", "status": "in_progress", "encrypted_content": "sea"}
    return {name: empty.get(name, value) for name, value in item.items()}


def _over(reply: Reply, number: int) -> dict[str, Any]:
    reason = _INCOMPLETE.get(reply.finish_word)
    response = _response(number, "incomplete" if reason else "completed", _items(reply, number), reply.used)
    return {**response, "incomplete_details": {"reason": reason} if reason else None}


def _response(number: int, status: str, output: list[dict[str, Any]], used: Used | None) -> dict[str, Any]:
    usage = used and {
        "input_tokens": used.read,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": 0},
        "output_tokens": used.wrote,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.read + used.wrote,
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "wired-0613",
        "output": output,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": usage,
    }
