"""Bedrock's Converse: signed requests, and what a conversation must be."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote, unquote

from providers.oracles import shape_mismatches
from providers.servers.base import KEY, REGION, SECRET_KEY, Call, Problem, Session, Turn
from providers.servers.bedrock_replies import ConverseReplies, opaque_of
from providers.servers.http import Request

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([\w-]+)/bedrock/aws4_request, ?"
    r"SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})"
)


class Converse(ConverseReplies):
    """A server of the Converse API with one model."""

    def __init__(self, model: str, *, sampling: bool) -> None:
        self.model = model
        self.sampling = sampling

    def serves(self, request: Request) -> bool:
        return unquote(request.path) in (f"/model/{self.model}/converse", f"/model/{self.model}/converse-stream")

    def problems(self, request: Request, session: Session) -> Iterable[Problem]:
        body = request.body
        unsigned = signature_problem(request)
        if unsigned or not isinstance(body, dict):
            return [Problem(unsigned, 403)] if unsigned else [Problem("the body is no JSON object")]
        found = [] if self.sampling else list(_sampling(body))
        found = found or [*(Problem(line.lstrip(".")) for line in shape_mismatches(body, "ConverseRequest"))]
        return found or [*_rules(body), *_seal_rules(body, session)]

    # What a request says

    def turns(self, body: Any) -> list[Turn]:
        system = "\n".join(block.get("text", "") for block in body.get("system") or ())
        return [Turn("system", system), *(_turn(message) for message in body["messages"])]

    def tools(self, body: Any) -> dict[str, Any]:
        specs = [tool["toolSpec"] for tool in (body.get("toolConfig") or {}).get("tools", ()) if "toolSpec" in tool]
        return {spec["name"]: spec["inputSchema"]["json"] for spec in specs}

    def wants_json(self, body: Any) -> bool:
        return bool((body.get("outputConfig") or {}).get("textFormat"))

    def options(self, body: Any) -> dict[str, Any]:
        config, more = body.get("inferenceConfig") or {}, body.get("additionalModelRequestFields") or {}
        return {
            "temperature": config.get("temperature"),
            "max_tokens": config.get("maxTokens"),
            "stop": tuple(config.get("stopSequences") or ()),
            "reasoning": more.get("thinking") or more.get("output_config") or (body.get("outputConfig") or {}).get("effort"),
        }


# Signatures


def signature_problem(request: Request) -> str:
    """Why a request isn't signed as Signature Version 4 wants it; nothing where it is."""
    found = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    if found is None:
        return "the header authorization isn't of Signature Version 4"
    key, day, region, signed, signature = found.groups()
    at = request.headers.get("x-amz-date", "")
    if key != KEY or region != REGION or not at.startswith(day) or not {"host", "x-amz-date"} <= set(signed.split(";")):
        return "the credential, its scope or its signed headers aren't right"
    return "" if hmac.compare_digest(signature, _signature(request, day, signed, at)) else "the signature doesn't match"


def _signature(request: Request, day: str, signed: str, at: str) -> str:
    path, _, query = request.target.partition("?")
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in signed.split(";"))
    digest = hashlib.sha256(request.raw).hexdigest()
    canonical = "\n".join([request.method, quote(path, safe="/-_.~"), "&".join(sorted(query.split("&"))), headers, signed, digest])
    scope = f"{day}/{REGION}/bedrock/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (day, REGION, "bedrock", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


# The conversation in a request


def _turn(message: Any) -> Turn:
    blocks = message["content"]
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    calls = [Call(use["toolUseId"], use["name"], use["input"]) for use in uses]
    results = [
        (block["toolResult"]["toolUseId"], _result(block["toolResult"]["content"])) for block in blocks if "toolResult" in block
    ]
    images = [block["image"]["source"].get("bytes", "") for block in blocks if "image" in block]
    text = "".join(block.get("text", "") for block in blocks)
    return Turn(message["role"], text, calls, results, opaque_of(blocks) if message["role"] == "assistant" else None, images)


def _result(content: list[Any]) -> str:
    return "".join(part["text"] if "text" in part else json.dumps(part.get("json"), ensure_ascii=False) for part in content)


def _sampling(body: Any) -> Iterator[Problem]:
    """cline#10572."""
    for name in ("temperature", "topP"):
        if name in (body.get("inferenceConfig") or {}):
            words = f"The model returned the following errors: `{name}` is deprecated for this model."
            yield Problem(words, param=name, repairable=True)


def _seal_rules(body: Any, session: Session) -> Iterator[Problem]:
    for thought in (thought for message in body["messages"] for thought in opaque_of(message["content"])):
        seal = thought.get("redactedContent") or thought.get("reasoningText", {}).get("signature")
        if seal and seal not in session.seals:
            yield Problem("The model returned the following errors: Invalid `signature` in `thinking` block")


def _rules(body: Any) -> Iterator[Problem]:
    messages = body.get("messages") or []
    roles = [message["role"] for message in messages if message["role"] != "system"]
    if roles[:1] != ["user"]:
        yield Problem(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message."
        )
    if any(before == after for before, after in pairwise(roles)):
        yield Problem("A conversation must alternate between user and assistant roles.")
    if roles[-1:] == ["assistant"]:
        yield Problem("This model does not support assistant message prefill. The conversation must end with a user message.")
    used = any("toolUse" in block or "toolResult" in block for message in messages for block in message["content"])
    if used and not body.get("toolConfig"):
        yield Problem("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    if json.dumps(body).count('"cachePoint"') > 4:
        yield Problem("A maximum of 4 cachePoint blocks may be provided.")
    for index, message in enumerate(messages):
        yield from _message_rules(index, message, messages[index - 1] if index else {"content": []})


def _message_rules(index: int, message: Any, before: Any) -> Iterator[Problem]:
    blocks = message["content"]
    if not blocks:
        yield Problem(f"The content field in the Message object at messages.{index} is empty.")
    for place, block in enumerate(blocks):
        if "text" in block and not block["text"].strip():
            yield Problem(f"The text field in the ContentBlock object at messages.{index}.content.{place} is blank.")
    asked = [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block]
    answered = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    if set(asked) - set(answered):
        yield Problem(f"Expected toolResult blocks at messages.{index}.content for the following Ids: {', '.join(asked)}")
    if len(answered) > len(asked):
        yield Problem(
            f"The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."
        )
    if len(set(asked)) < len(asked):
        yield Problem("The toolUse blocks have duplicate Ids.")
