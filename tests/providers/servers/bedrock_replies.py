"""Replies and failures of Bedrock's Converse: whole, or as a binary event stream."""

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from providers.script import Ask, Fail, Reply, Say, Think, argument_pieces, pieces
from providers.servers.base import Call, Issued, Problem, Session, page
from providers.servers.http import Request, Response


class ConverseReplies:
    """How a server replies."""

    def issue(self, reply: Reply, session: Session, body: Any) -> Issued:
        number = len(session.issued)
        calls = tuple(Call(ask.id or f"tooluse_{number:02d}{i:02d}", ask.name, ask.value) for i, ask in enumerate(reply.calls))
        return Issued(reply, calls, opaque_of(_content(Issued(reply, calls, None))))

    def render(self, issued: Issued, session: Session, request: Request) -> Response:
        content, reply = _content(issued), issued.reply
        if request.path.endswith("/converse-stream"):
            body = b"".join(_messages(content, issued))
            return Response(200, body, "application/vnd.amazon.eventstream", stream=True, cut=reply.cut)
        message = {"role": "assistant", "content": content}
        answer = {"output": {"message": message}, "stopReason": _stop(reply), "usage": _usage(reply), "metrics": {"latencyMs": 12}}
        return Response(200, json.dumps(answer, ensure_ascii=False).encode())

    def fail(self, fail: Fail) -> Response:
        if fail.kind == "page":
            return page(fail.status or 502)
        status, kind, message = _FAILURES[fail.kind]
        return _error(fail.status or status, kind, message)

    def refuse(self, problem: Problem) -> Response:
        kind = "InvalidSignatureException" if problem.status == 403 else "ValidationException"
        return _error(problem.status, kind, problem.message)


_FAILURES = {
    "rate_limit": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "overloaded": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
    "server": (500, "InternalServerException", "The system encountered an unexpected error during processing."),
    "auth": (403, "UnrecognizedClientException", "The security token included in the request is invalid."),
    "not_found": (404, "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier."),
    "context": (400, "ValidationException", "Input is too long for requested model."),
}
_STOP = {
    "length": "max_tokens",
    "filter": "content_filtered",
    "refusal": "guardrail_intervened",
    "malformed": "malformed_tool_use",
    "context": "model_context_window_exceeded",
}


def _error(status: int, kind: str, message: str) -> Response:
    return Response(status, json.dumps({"message": message}).encode(), headers={"x-amzn-errortype": kind})


def _stop(reply: Reply) -> str:
    return _STOP.get(reply.finish) or ("tool_use" if reply.calls else "end_turn")


def _usage(reply: Reply) -> dict[str, int]:
    used = reply.tokens
    return {
        "inputTokens": used.input - used.cached - used.written,
        "outputTokens": used.output,
        "totalTokens": used.input + used.output,
        "cacheReadInputTokens": used.cached,
        "cacheWriteInputTokens": used.written,
    }


def _content(issued: Issued) -> list[dict[str, Any]]:
    calls = iter(issued.calls)
    return [_block(part, calls) for part in issued.reply.parts]


def _block(part: Any, calls: Iterator[Call]) -> dict[str, Any]:
    match part:
        case Say():
            return {"text": part.text}
        case Think() if part.hidden:
            return {"reasoningContent": {"redactedContent": part.seal}}
        case Think():
            return {"reasoningContent": {"reasoningText": {"text": part.text, "signature": part.seal}}}
        case _:
            call = next(calls)
            return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments or {}}}


# Event streams: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html


def _messages(content: list[dict[str, Any]], issued: Issued) -> Iterator[bytes]:
    reply = issued.reply
    asks = iter(reply.calls)
    yield _message("messageStart", {"role": "assistant"})
    for index, block in enumerate(content):
        for kind, fields in _block_events(block, asks):
            yield _message(kind, {**fields, "contentBlockIndex": index})
    if reply.failure is not None:
        _, kind, words = _FAILURES[reply.failure.kind]
        yield _message(kind[0].lower() + kind[1:], {"message": words}, exception=True)
        return
    yield _message("messageStop", {"stopReason": _stop(reply)})
    yield _message("metadata", {"usage": _usage(reply), "metrics": {"latencyMs": 12}})


def _block_events(block: dict[str, Any], asks: Iterator[Ask]) -> Iterator[tuple[str, dict[str, Any]]]:
    deltas: list[Any] = []
    if "text" in block:
        deltas = [{"text": text} for text in pieces(block["text"])]
    elif "toolUse" in block:
        use = block["toolUse"]
        yield "contentBlockStart", {"start": {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}}
        text = next(asks).text
        deltas = [{"toolUse": {"input": piece}} for piece in argument_pieces("" if text == "{}" else text)]
    else:
        thought = block["reasoningContent"]
        shown = thought.get("reasoningText", {})
        deltas = [{"reasoningContent": {"text": text}} for text in pieces(shown.get("text", ""))]
        deltas.append({"reasoningContent": {"signature": shown["signature"]} if shown else thought})
    yield from (("contentBlockDelta", {"delta": delta}) for delta in deltas)
    yield "contentBlockStop", {}


def _message(kind: str, payload: Any, *, exception: bool = False) -> bytes:
    """One message: lengths and their checksum, headers, payload, checksum of all."""
    what = "exception" if exception else "event"
    headers = {":message-type": what, f":{what}-type": kind, ":content-type": "application/json"}
    head = b"".join(_header(name, value) for name, value in headers.items())
    body = json.dumps(payload, ensure_ascii=False).encode()
    prelude = struct.pack(">II", len(head) + len(body) + 16, len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()


def opaque_of(blocks: list[Any]) -> list[Any]:
    """What has to come back unchanged: reasoning."""
    return [block["reasoningContent"] for block in blocks if "reasoningContent" in block]
