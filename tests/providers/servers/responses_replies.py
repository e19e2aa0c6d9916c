"""Replies of OpenAI's Responses: output items, whole and as events."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from providers.script import Block, Fail, Reply, Say, Think, argument_pieces, pieces
from providers.servers.base import Call, Issued, Problem, Session, json_response, sse
from providers.servers.chat_replies import FAILURES, openai_failure
from providers.servers.http import Request, Response


class ResponsesReplies:
    """How a server with one model replies."""

    def __init__(self, model: str) -> None:
        self.model = model

    def issue(self, reply: Reply, session: Session, body: Any) -> Issued:
        number = len(session.issued)
        calls = tuple(
            Call(ask.id or f"call_{number:02d}{i:02d}xxxxxxxxxxxxxxxxxxxx", ask.name, ask.value)
            for i, ask in enumerate(reply.calls)
        )
        opaque = [
            item["id"] for item in _output(Issued(reply, calls, None), number) if item["type"] not in ("message", "function_call")
        ]
        return Issued(reply, calls, opaque)

    def render(self, issued: Issued, session: Session, request: Request) -> Response:
        body, number = request.body, len(session.issued) - 1
        output = _output(issued, number)
        response = self._response(issued.reply, output, number)
        self.keep(body, response)
        return sse(_events(response, issued.reply), issued.reply) if body.get("stream") else json_response(200, response)

    def keep(self, body: Any, response: Any) -> None:
        """Remember what went out, for the requests that come."""

    def _response(self, reply: Reply, output: list[Any], number: int) -> dict[str, Any]:
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(reply.finish)
        return {
            "id": f"resp_{number:04d}",
            "object": "response",
            "created_at": 1790000000,
            "status": "incomplete" if reason else "completed",
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": output,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": _usage(reply),
        }

    def fail(self, fail: Fail) -> Response:
        return openai_failure(fail)

    def refuse(self, problem: Problem) -> Response:
        error = {"message": problem.message, "type": "invalid_request_error", "param": problem.param, "code": None}
        return json_response(problem.status, {"error": error})


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.tokens
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.written},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }


def _output(issued: Issued, number: int) -> list[dict[str, Any]]:
    calls = iter(issued.calls)
    return [_item(part, f"{number:02d}{index:02d}", calls, issued.reply) for index, part in enumerate(issued.reply.parts)]


def _item(part: Any, name: str, calls: Iterator[Call], reply: Reply) -> dict[str, Any]:
    match part:
        case Think():
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {"id": f"rs_{name}", "type": "reasoning", "summary": summary, "encrypted_content": part.seal}
        case Say():
            content: dict[str, Any] = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
            if reply.finish == "refusal":
                content = {"type": "refusal", "refusal": part.text}
            return {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": [content]}
        case Block():
            return dict(part.json)
        case _:
            call = next(calls)
            status = "incomplete" if reply.finish == "length" else "completed"
            return {
                "id": f"fc_{name}",
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": part.text,
                "status": status,
            }


# Streams


def _events(response: dict[str, Any], reply: Reply) -> Iterator[bytes]:
    numbers = count()

    def event(kind: str, **fields: Any) -> bytes:
        value = {"type": kind, "sequence_number": next(numbers), **fields}
        return f"event: {kind}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()

    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(response["output"]):
        for kind, fields in _item_events(item):
            yield event(kind, output_index=index, **fields)
    if reply.failure is not None:
        _, error = FAILURES[reply.failure.kind]
        failed = {**begun, "status": "failed", "error": {"code": error["code"] or "server_error", "message": error["message"]}}
        yield event("response.failed", response=failed)
    else:
        yield event(f"response.{response['status']}", response=response)


def _item_events(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = {"item_id": item["id"]}
    match item["type"]:
        case "message":
            yield "response.output_item.added", {"item": {**item, "status": "in_progress", "content": []}}
            yield from _text_events(item, name)
        case "function_call":
            yield "response.output_item.added", {"item": {**item, "status": "in_progress", "arguments": ""}}
            for piece in argument_pieces(item["arguments"]):
                yield "response.function_call_arguments.delta", {**name, "delta": piece}
            yield "response.function_call_arguments.done", {**name, "name": item["name"], "arguments": item["arguments"]}
        case "reasoning":
            yield (
                "response.output_item.added",
                {"item": {**item, "summary": [], "encrypted_content": item["encrypted_content"][:4]}},
            )
            yield from _summary_events(item, name)
        case _:
            yield "response.output_item.added", {"item": {**item, "status": "in_progress"}}
    yield "response.output_item.done", {"item": item}


def _text_events(item: dict[str, Any], name: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    content = item["content"][0]
    word = "refusal" if content["type"] == "refusal" else "output_text"
    field = "refusal" if word == "refusal" else "text"
    extra = {} if word == "refusal" else {"logprobs": []}
    place = {**name, "content_index": 0}
    yield "response.content_part.added", {**place, "part": {**content, field: ""}}
    for text in pieces(content[field]):
        yield f"response.{word}.delta", {**place, "delta": text, **extra}
    yield f"response.{word}.done", {**place, field: content[field], **extra}
    yield "response.content_part.done", {**place, "part": content}


def _summary_events(item: dict[str, Any], name: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, part in enumerate(item["summary"]):
        place = {**name, "summary_index": index}
        yield "response.reasoning_summary_part.added", {**place, "part": {**part, "text": ""}}
        for text in pieces(part["text"]):
            yield "response.reasoning_summary_text.delta", {**place, "delta": text}
        yield "response.reasoning_summary_text.done", {**place, "text": part["text"]}
        yield "response.reasoning_summary_part.done", {**place, "part": part}
