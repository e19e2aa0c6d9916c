"""Replies and failures on the chat completions wire, whole and streamed, with the oddities of its many servers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from providers.script import Ask, Fail, Reply, Say, Think, argument_pieces, pieces
from providers.servers.base import Call, Issued, Problem, Session, json_response, page, retry_headers, sse
from providers.servers.chat_rules import Personality
from providers.servers.http import Request, Response


class ChatReplies:
    """How a server with this personality replies."""

    def __init__(self, personality: Personality) -> None:
        self.who = personality

    def issue(self, reply: Reply, session: Session, body: Any) -> Issued:
        reply = replace(reply, quirks=reply.quirks | self.who.quirks)
        number = len(session.issued)
        calls = tuple(Call(self._id(reply, ask, number, index), ask.name, ask.value) for index, ask in enumerate(reply.calls))
        return Issued(reply, calls, self._sealed(reply) if calls else None)

    def _id(self, reply: Reply, ask: Ask, number: int, index: int) -> str:
        if "same_ids" in reply.quirks:
            index = 0
        return ask.id if ask.id is not None else self.who.ids.format(number, index)

    def _sealed(self, reply: Reply) -> Any:
        """What has to come back with the calls of a reply."""
        thoughts = [part for part in reply.parts if isinstance(part, Think)]
        if not thoughts or not self.who.returns:
            return None
        match self.who.returns:
            case "reasoning_content":
                return "".join(thought.text for thought in thoughts)
            case "reasoning_details":
                return [_detail(thought, index) for index, thought in enumerate(thoughts)]
            case _:
                return [thoughts[0].seal, *[None] * (len(reply.calls) - 1)]

    def render(self, issued: Issued, session: Session, request: Request) -> Response:
        number = len(session.issued)
        if not request.body.get("stream"):
            return json_response(200, self._whole(issued, number))
        usage = (request.body.get("stream_options") or {}).get("include_usage") or "usage_always" in issued.reply.quirks
        return sse(self._events(issued, number, bool(usage)), issued.reply)

    def _whole(self, issued: Issued, number: int) -> Any:
        reply = issued.reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.finish == "refusal":
            message |= {"content": None, "refusal": reply.text}
        message |= self._thoughts(reply, message["content"])
        if issued.calls:
            message["tool_calls"] = [self._call(issued, index, _arguments(ask, reply)) for index, ask in enumerate(reply.calls)]
        choice = _choice({"message": message}, _finish(reply), reply)
        head = _head(number, self.who.model, "chat.completion", reply)
        return {**head, "choices": [choice], **({} if "no_usage" in reply.quirks else {"usage": _usage(reply)})}

    def _thoughts(self, reply: Reply, content: str | None) -> dict[str, Any]:
        thoughts = [part for part in reply.parts if isinstance(part, Think)]
        text = "".join(thought.text for thought in thoughts)
        match self.who.thinks if thoughts else "":
            case "reasoning_content" | "reasoning" as name:
                return {name: text}
            case "reasoning_details":
                return {"reasoning": text, "reasoning_details": [_detail(thought, index) for index, thought in enumerate(thoughts)]}
            case "chunks":
                said = [{"type": "text", "text": content}] if content else []
                return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}, *said]}
            case _:
                return {}

    def _call(self, issued: Issued, index: int, arguments: Any) -> dict[str, Any]:
        call, quirks = issued.calls[index], issued.reply.quirks
        made: dict[str, Any] = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
        if "no_ids" in quirks:
            del made["id"]
        seal = issued.opaque[index] if self.who.returns == "thought_signature" and issued.opaque else None
        return {**made, "extra_content": {"google": {"thought_signature": seal}}} if seal else made

    def _events(self, issued: Issued, number: int, usage: bool) -> Iterator[bytes]:
        reply = issued.reply
        head = _head(number, self.who.model, "chat.completion.chunk", reply)

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return _event({**head, "choices": [_choice({"delta": delta}, finish, reply)]})

        if "filter_results" in reply.quirks:  # Azure says first what it made of the prompt
            yield _event({**head, "choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]})
        yield chunk({"role": "assistant", "content": ""})
        for delta in self._deltas(issued):
            yield chunk(delta)
        if reply.failure is not None:
            failure = json.loads(self.fail(reply.failure).body)
            yield _event(failure["error"] if "flat_error" in reply.quirks else {**head, **failure})
            return
        yield chunk({}, _finish(reply))
        if usage and "no_usage" not in reply.quirks:
            yield _event({**head, "choices": [], "usage": _usage(reply)})
        if "no_done" not in reply.quirks:
            yield b"data: [DONE]\n\n"

    def _deltas(self, issued: Issued) -> Iterator[dict[str, Any]]:
        index = 0
        if issued.calls and "one_delta" in issued.reply.quirks:
            calls = [{"index": i, **self._call(issued, i, ask.text)} for i, ask in enumerate(issued.reply.calls)]
            yield from self._deltas(replace(issued, calls=(), reply=_without_calls(issued.reply)))
            yield {"tool_calls": calls}
            return
        for part in issued.reply.parts:
            match part:
                case Say():
                    name = "refusal" if issued.reply.finish == "refusal" else "content"
                    yield from ({name: text} for text in pieces(part.text))
                case Think():
                    yield from self._thought_deltas(part)
                case Ask():
                    yield from self._call_deltas(issued, part, index)
                    index += 1
                case _:
                    pass

    def _thought_deltas(self, thought: Think) -> Iterator[dict[str, Any]]:
        match self.who.thinks:
            case "reasoning_content" | "reasoning" as name:
                yield from ({name: text} for text in pieces(thought.text))
            case "reasoning_details" if thought.hidden:
                yield {"reasoning_details": [_detail(thought, 0)]}
            case "reasoning_details":
                whole = _detail(thought, 0)
                rest = {key: value for key, value in whole.items() if key not in ("text", "signature")}
                yield from ({"reasoning": text, "reasoning_details": [{**rest, "text": text}]} for text in pieces(thought.text, 9))
                yield {"reasoning_details": [{**rest, "signature": whole["signature"]}]}
            case "chunks":
                yield from (
                    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
                    for text in pieces(thought.text)
                )
            case _:
                pass

    def _call_deltas(self, issued: Issued, ask: Ask, index: int) -> Iterator[dict[str, Any]]:
        quirks = issued.reply.quirks
        place = {} if "no_index" in quirks else {"index": 0 if "index_zero" in quirks else index}
        if "whole_calls" in quirks or "object_arguments" in quirks:
            yield {"tool_calls": [{**place, **self._call(issued, index, _arguments(ask, issued.reply))}]}
            return
        yield {"tool_calls": [{**place, **self._call(issued, index, "")}]}
        yield from ({"tool_calls": [{**place, "function": {"arguments": text}}]} for text in argument_pieces(ask.text))

    def fail(self, fail: Fail) -> Response:
        if self.who.oracle != "mistral" or fail.kind == "page":
            return openai_failure(fail)
        status, error = FAILURES[fail.kind]
        words = {"message": self.who.overflow, "code": "3051"} if fail.kind == "context" else {}
        return json_response(fail.status or status, {"object": "error", "param": None, **error, **words}, retry_headers(fail))

    def refuse(self, problem: Problem) -> Response:
        error = {"message": problem.message, "type": "invalid_request_error", "param": problem.param, "code": None}
        if self.who.oracle != "mistral":
            return json_response(problem.status, {"error": error})
        if problem.status == 422:
            where = ["body", *(problem.param or "").split(".")]
            detail = [{"type": "extra_forbidden", "loc": where, "msg": "Extra inputs are not permitted"}]
            return json_response(422, {"object": "error", **error, "message": {"detail": detail}})
        return json_response(problem.status, {"object": "error", **error, "code": "3230"})


FAILURES: dict[str, tuple[int, dict[str, Any]]] = {
    "rate_limit": (429, {"message": "Rate limit reached for requests", "type": "requests", "code": "rate_limit_exceeded"}),
    "overloaded": (
        503,
        {"message": "The engine is currently overloaded", "type": "overloaded_error", "code": "server_is_overloaded"},
    ),
    "server": (500, {"message": "The server had an error", "type": "server_error", "code": None}),
    "auth": (401, {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}),
    "not_found": (404, {"message": "The model does not exist", "type": "invalid_request_error", "code": "model_not_found"}),
    "context": (
        400,
        {
            "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 140001 tokens.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        },
    ),
    "filter": (
        400,
        {
            "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            "type": None,
            "code": "content_filter",
            "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"violence": {"filtered": True}}},
        },
    ),
    "bad_call": (
        400,
        {
            "message": "Tool call validation failed: parameters for tool weather did not match schema: missing properties: 'city'",
            "type": "invalid_request_error",
            "code": "tool_use_failed",
            "failed_generation": '{"name": "weather", "arguments": {"town": "Paris"}}',
        },
    ),
}


def openai_failure(fail: Fail) -> Response:
    """A failure as OpenAI tells it."""
    if fail.kind == "page":
        return page(fail.status or 502)
    status, error = FAILURES[fail.kind]
    return json_response(fail.status or status, {"error": {"param": None, **error}}, retry_headers(fail))


_FINISH = {"length": "length", "filter": "content_filter", "error": "error"}
_GEMINI_FINISH = {"filter": "content_filter: PROHIBITED_CONTENT", "malformed": "function_call_filter: MALFORMED_FUNCTION_CALL"}


def _finish(reply: Reply) -> str:
    if "gemini_finish" in reply.quirks and reply.finish in _GEMINI_FINISH:
        return _GEMINI_FINISH[reply.finish]
    if reply.finish in _FINISH:
        return _FINISH[reply.finish]
    return "tool_calls" if reply.calls and "stop_with_calls" not in reply.quirks else "stop"


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.tokens
    counts: dict[str, Any] = {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
    }
    if "cache_hit_usage" in reply.quirks:  # DeepSeek
        counts |= {"prompt_cache_hit_tokens": used.cached, "prompt_cache_miss_tokens": used.input - used.cached}
    if "cached_on_top" in reply.quirks:  # Moonshot
        return {**counts, "cached_tokens": used.cached}
    details = {"completion_tokens_details": {"reasoning_tokens": used.reasoning}}
    return {**counts, "prompt_tokens_details": {"cached_tokens": used.cached}, **details}


def _head(number: int, model: str, kind: str, reply: Reply) -> dict[str, Any]:
    provider = {"provider": "Google"} if "native_finish" in reply.quirks else {}
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1790000000, "model": model, **provider}


def _choice(said: dict[str, Any], finish: str | None, reply: Reply) -> dict[str, Any]:
    native = {"native_finish_reason": finish} if "native_finish" in reply.quirks else {}
    return {"index": 0, **said, "finish_reason": finish, "logprobs": None, **native}


def _event(value: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(value, ensure_ascii=False).encode()


def _without_calls(reply: Reply) -> Reply:
    return replace(reply, parts=tuple(part for part in reply.parts if not isinstance(part, Ask)))


def _arguments(ask: Ask, reply: Reply) -> Any:
    return ask.value if "object_arguments" in reply.quirks else ask.text


def _detail(thought: Think, index: int) -> dict[str, Any]:
    """A thought as OpenRouter tells it."""
    if thought.hidden:
        return {"type": "reasoning.encrypted", "data": thought.seal, "id": "rsn_1", "format": "google-gemini-v1", "index": index}
    return {
        "type": "reasoning.text",
        "text": thought.text,
        "signature": thought.seal,
        "format": "anthropic-claude-v1",
        "index": index,
    }
