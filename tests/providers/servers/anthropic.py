"""Anthropic's messages: what a request must be. Rules are the API reference's, and of refusals quoted in the threads named."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from providers.oracles import mismatches, type_of
from providers.servers.anthropic_replies import MessagesReplies, opaque_of
from providers.servers.base import KEY, Call, Problem, Session, Turn, key_problems
from providers.servers.http import Request

_SAMPLING = ("temperature", "top_p", "top_k")
_VERSIONS = ("2023-06-01", "2026-10-21")


class Messages(MessagesReplies):
    """A server of the messages API with one model."""

    def serves(self, request: Request) -> bool:
        return re.fullmatch(r"/v1/messages(\?beta=true)?", request.target) is not None

    def problems(self, request: Request, session: Session) -> Iterable[Problem]:
        body = request.body
        keyless = key_problems(request, ("x-api-key", KEY), ("authorization", f"Bearer {KEY}"))
        if keyless or not isinstance(body, dict):
            return keyless or [Problem("the body is no JSON object")]
        if request.headers.get("anthropic-version") not in _VERSIONS:
            return [Problem("anthropic-version: header is required")]
        found = list(self._model_rules(body))
        typed = {name: value for name, value in body.items() if name not in _SAMPLING}
        kind = type_of("anthropic-beta" if "beta" in request.query else "anthropic")
        found = found or [*(Problem(line.lstrip(".")) for line in mismatches(typed, kind))]
        return found or [*_rules(body), *_seal_rules(body, session)]

    def _model_rules(self, body: Any) -> Iterator[Problem]:
        """Roo-Code#12162, pr-agent#2456: newer models refuse sampling parameters, and budgets for thinking."""
        if not self.claude.sampling:
            for name in _SAMPLING:
                if name in body:
                    yield Problem(f"`{name}` is deprecated for this model.", param=name, repairable=True)
            if (body.get("thinking") or {}).get("type") == "enabled":
                words = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'
                yield Problem(words, param="thinking", repairable=True)
        if body.get("max_tokens", 0) > self.claude.most:
            most = f"{self.claude.most}, which is the maximum allowed number of output tokens for {self.claude.model}"
            yield Problem(f"max_tokens: {body['max_tokens']} > {most}", param="max_tokens", repairable=True)

    # What a request says

    def turns(self, body: Any) -> list[Turn]:
        system = Turn("system", "\n".join(block["text"] for block in _blocks(body.get("system") or "")))
        return [system, *(_turn(role, blocks) for role, blocks in _merged(body["messages"]))]

    def tools(self, body: Any) -> dict[str, Any]:
        return {tool["name"]: tool["input_schema"] for tool in body.get("tools") or () if "input_schema" in tool}

    def wants_json(self, body: Any) -> bool:
        return bool((body.get("output_config") or {}).get("format") or body.get("output_format"))

    def options(self, body: Any) -> dict[str, Any]:
        choice = body.get("tool_choice") or {}
        thinking = body.get("thinking") or {}
        return {
            "temperature": body.get("temperature"),
            "max_tokens": body.get("max_tokens"),
            "stop": tuple(body.get("stop_sequences") or ()),
            "parallel_calls": not choice["disable_parallel_tool_use"] if "disable_parallel_tool_use" in choice else None,
            "reasoning": (body.get("output_config") or {}).get("effort") or thinking.get("type") in ("enabled", "adaptive"),
        }


# The conversation in a request


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _merged(messages: list[Any]) -> list[tuple[str, list[Any]]]:
    """Messages of one role in a row are one, as the server takes them."""
    groups = groupby(messages, key=lambda message: message["role"])
    return [(role, [block for message in some for block in _blocks(message["content"])]) for role, some in groups]


def _turn(role: str, blocks: list[Any]) -> Turn:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [Call(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    results = [(block["tool_use_id"], _result(block.get("content") or "")) for block in blocks if block["type"] == "tool_result"]
    images = [block["source"].get("data", "") for block in blocks if block["type"] == "image"]
    return Turn(role, text, calls, results, opaque_of(blocks) if role == "assistant" else None, images)


def _result(content: Any) -> str:
    return "".join(block.get("text", "") for block in _blocks(content))


# What every model of this API refuses


def _rules(body: Any) -> Iterator[Problem]:
    marks = json.dumps(body).count('"cache_control": {')
    if marks > 4:
        yield Problem(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    for tool in body.get("tools") or ():
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool.get("name", "x")):
            yield Problem(f"tools.0.custom.name: {tool['name']!r} should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if tool.keys() & {"input_schema"} and {"oneOf", "allOf", "anyOf"} & tool["input_schema"].keys():
            yield Problem("input_schema does not support oneOf, allOf, or anyOf at the top level")
        if not all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in tool.get("input_schema", {}).get("properties", ())):
            yield Problem("input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'")
    messages = _merged(body["messages"])
    roles = [role for role, _ in messages if role != "system"]
    if roles[:1] != ["user"]:
        yield Problem('messages: first message must use the "user" role')
    if roles[-1:] == ["assistant"] and not _paused(messages[-1][1]):
        yield Problem("This model does not support assistant message prefill. The conversation must end with a user message.")
    yield from _message_rules(messages)
    if any(block["type"] in ("tool_use", "tool_result") for _, blocks in messages for block in blocks) and not body.get("tools"):
        yield Problem("Requests which include `tool_use` or `tool_result` blocks must define tools")


def _seal_rules(body: Any, session: Session) -> Iterator[Problem]:
    for _, blocks in _merged(body["messages"]):
        for block in blocks:
            seal = block.get("signature", block.get("data")) if block["type"] in ("thinking", "redacted_thinking") else None
            if seal is not None and seal not in session.seals:
                yield Problem("messages.content: Invalid `signature` in `thinking` block")


def _paused(blocks: list[Any]) -> bool:
    return any(block["type"] == "server_tool_use" for block in blocks)


def _message_rules(messages: list[tuple[str, list[Any]]]) -> Iterator[Problem]:
    ids = Counter(block["id"] for _, blocks in messages for block in blocks if block["type"] == "tool_use")
    for call_id, count in ids.items():
        if count > 1:
            yield Problem(f"`tool_use` ids must be unique: {call_id}")
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", call_id):
            yield Problem(f"tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$', not {call_id!r}")
    for name in (block["name"] for _, blocks in messages for block in blocks if block["type"] == "tool_use"):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,200}", name):
            yield Problem(f"tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$', not {name!r}")
    asked: list[str] = []
    for role, blocks in messages:
        if not blocks:
            yield Problem("messages: all messages must have non-empty content")
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield Problem("messages: text content blocks must contain non-whitespace text")
        answered = [block["tool_use_id"] for block in blocks[: len(asked)] if block["type"] == "tool_result"]
        if set(answered) != set(asked):
            yield Problem(f"`tool_use` ids were found without `tool_result` blocks immediately after: {asked}")
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"] if role == "assistant" else []
