"""Gemini's generateContent: what a request must be, and which parts belong together."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from providers.oracles import mismatches, type_of
from providers.servers.base import KEY, Call, Problem, Session, Turn
from providers.servers.google_replies import GeminiReplies, streams
from providers.servers.http import Request

_BODY = {
    "contents": "ContentDict",
    "systemInstruction": "ContentDict",
    "tools": "ToolDict",
    "toolConfig": "ToolConfigDict",
    "safetySettings": "SafetySettingDict",
    "generationConfig": "GenerationConfigDict",
}
_FREE = ("cachedContent", "serviceTier", "store", "labels")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
# Documented, for calls of another model's; also as bytes in base64.
_DUMMIES = ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")


class Gemini(GeminiReplies):
    """A server of the Gemini API with one model."""

    def serves(self, request: Request) -> bool:
        at = rf"/v1(beta)?/models/{re.escape(self.model)}"
        return re.fullmatch(rf"{at}:(generateContent|streamGenerateContent)", request.path) is not None

    def problems(self, request: Request, session: Session) -> Iterable[Problem]:
        body = request.body
        if KEY not in (request.headers.get("x-goog-api-key"), request.query.get("key")):
            return [Problem("the key isn't where this provider wants it: in x-goog-api-key", 401)]
        if not isinstance(body, dict):
            return [Problem("the body is no JSON object")]
        if streams(request) and request.query.get("alt") != "sse":
            return [Problem("a stream without alt=sse is one JSON list, which this kit doesn't send")]
        body = _camel(body)
        return [*_typed(body)] or [*_rules(body), *_tool_rules(body), *_seal_rules(body, session)]

    # What a request says

    def turns(self, body: Any) -> list[Turn]:
        body = _camel(body)
        system = "".join(part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts", ()))
        turns = [Turn("system", system)]
        for content in body["contents"]:
            turns.append(_turn(content, turns[-1]))
        return turns

    def tools(self, body: Any) -> dict[str, Any]:
        return {function["name"]: function.get("parametersJsonSchema") for function in _functions(_camel(body))}

    def wants_json(self, body: Any) -> bool:
        return (_camel(body).get("generationConfig") or {}).get("responseMimeType") == "application/json"

    def options(self, body: Any) -> dict[str, Any]:
        config = _camel(body).get("generationConfig") or {}
        thinking = config.get("thinkingConfig") or {}
        return {
            "temperature": config.get("temperature"),
            "max_tokens": config.get("maxOutputTokens"),
            "stop": tuple(config.get("stopSequences") or ()),
            "seed": config.get("seed"),
            "reasoning": thinking.get("thinkingLevel") or thinking.get("thinking_level"),
        }


# The conversation in a request


def _camel(value: Any) -> Any:
    """With the outer names as the API writes them; it takes those of its protocol buffers too."""
    names = ("system_instruction", "tool_config", "safety_settings", "generation_config", "cached_content")
    return {_camelled(name) if name in names else name: item for name, item in value.items()}


def _camelled(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _functions(body: Any) -> list[Any]:
    return [function for tool in body.get("tools") or () for function in tool.get("functionDeclarations") or ()]


def _turn(content: Any, before: Turn) -> Turn:
    parts = content.get("parts") or []
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    asked = [part for part in parts if "functionCall" in part]
    calls = [_call(part["functionCall"], index) for index, part in enumerate(asked)]
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    results = [
        (_answered(answer, index, before), json.dumps(answer["response"], ensure_ascii=False))
        for index, answer in enumerate(answers)
    ]
    images = [part["inlineData"]["data"] for part in parts if "inlineData" in part]
    role = "assistant" if content.get("role") == "model" else "tool" if results else "user"
    return Turn(role, text, calls, results, [_standard(part.get("thoughtSignature")) for part in asked] or None, images)


def _standard(signature: str | None) -> str | None:
    return signature and signature.replace("-", "+").replace("_", "/")


def _call(function: Any, index: int) -> Call:
    return Call(function.get("id") or f"{index}:{function['name']}", function["name"], function.get("args") or {})


def _answered(answer: Any, index: int, before: Turn) -> str:
    """The call that a response is for: by its id, or by its place among the calls, whose name it then has to have."""
    if answer.get("id"):
        return answer["id"]
    call = before.calls[index] if index < len(before.calls) else None
    return (
        call.id
        if call is not None and call.name == answer["name"] and call.id.startswith(f"{index}:")
        else f"a response to {answer['name']}"
    )


# What the API refuses


def _typed(body: Any) -> Iterator[Problem]:
    for name, value in body.items():
        if name in _BODY:
            kind = type_of("google", _BODY[name])
            items = value if isinstance(value, list) else [value]
            for item in items:
                yield from (Problem(line, repairable=False) for line in mismatches(item, kind, name, snake=True))
        elif name not in _FREE:
            yield Problem(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.', param=name, repairable=True)


def _rules(body: Any) -> Iterator[Problem]:
    contents = body.get("contents") or []
    if not contents or any(not content.get("parts") for content in contents):
        yield Problem("GenerateContentRequest.contents: contents is not specified, or has no parts")
        return
    roles = [content.get("role", "user") for content in contents]
    if set(roles) - {"user", "model"}:
        yield Problem("Please use a valid role: user, model.")
    if roles[0] != "user" or roles[-1] != "user":
        yield Problem("Please ensure that the conversation begins and ends with a user turn.")
    for before, content in zip([{}, *contents], contents, strict=False):
        asked = sum("functionCall" in part for part in before.get("parts") or ())
        answered = sum("functionResponse" in part for part in content["parts"])
        if asked != answered:
            words = "the number of function response parts is equal to the number of function call parts of the function call turn"
            yield Problem(f"Please ensure that {words}: {answered} instead of {asked}.")
        if any("functionCall" in part for part in content["parts"]) and before.get("role") != "user":
            yield Problem(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
    yield from _signature_rules(contents)


def _signature_rules(contents: list[Any]) -> Iterator[Problem]:
    """The first call of every step of the turn that is under way."""
    asks = [
        index
        for index, content in enumerate(contents)
        if content.get("role") == "user" and "functionResponse" not in content["parts"][0]
    ]
    for content in contents[max(asks, default=0) :]:
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            name = calls[0]["functionCall"]["name"]
            yield Problem(f"Function call is missing a thought_signature in functionCall parts. Function call `{name}`.")


def _seal_rules(body: Any, session: Session) -> Iterator[Problem]:
    known = session.seals | {seal for issued in session.issued for seal in issued.opaque or ()} | set(map(_standard, _DUMMIES))
    seals = [_standard(part.get("thoughtSignature")) for content in body["contents"] for part in content["parts"]]
    if any(seal is not None and seal not in known for seal in seals):
        yield Problem("Corrupted thought signature.")


def _tool_rules(body: Any) -> Iterator[Problem]:
    names = [function["name"] for function in _functions(body)]
    for name in names:
        if not _NAME.fullmatch(name):
            yield Problem(f"Invalid function name {name!r}. Must start with a letter or an underscore.")
    if len(set(names)) < len(names):
        yield Problem("Duplicate function declaration found")
    for function in _functions(body):
        if "parameters" in function and "parametersJsonSchema" in function:
            yield Problem("parameters and parameters_json_schema are mutually exclusive")
        if "additionalProperties" in json.dumps(function.get("parameters") or {}):
            yield Problem(
                'Invalid JSON payload received. Unknown name "additionalProperties" at tools.function_declarations.parameters'
            )
        if (function.get("parameters") or {}).get("type", "object").lower() != "object":
            yield Problem(f"the parameters of {function['name']} must be of type OBJECT")
