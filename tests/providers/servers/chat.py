"""The chat completions wire: what every server of it demands of a request. Who demands more is in `chat_rules`."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from providers.oracles import mismatches, type_of
from providers.servers.base import Call, Problem, Session, Turn, key_problems
from providers.servers.chat_replies import ChatReplies
from providers.servers.http import Request
from providers.servers.schemas import NAME, function_rules


class Chat(ChatReplies):
    """A chat completions server with a personality."""

    def serves(self, request: Request) -> bool:
        return re.fullmatch(self.who.path, request.target) is not None

    def problems(self, request: Request, session: Session) -> Iterable[Problem]:
        body = request.body
        keyless = key_problems(request, *self.who.keys)
        if keyless or not isinstance(body, dict):
            return keyless or [Problem("the body is no JSON object")]
        found = [problem for rule in self.who.rules for problem in rule(body)]
        return found or [*self._typed(body), *_wire_rules(body, strict=self.who.strict)]

    def _typed(self, body: Any) -> Iterable[Problem]:
        for line in mismatches(_without(body, self.who.extras), type_of(self.who.oracle)):
            extra = "extra inputs are not permitted" in line
            yield Problem(
                line.lstrip("."), 422 if self.who.oracle == "mistral" else 400, line[1:].partition(":")[0], repairable=extra
            )

    # What a request says

    def turns(self, body: Any) -> list[Turn]:
        return [self._turn(message) for message in body["messages"]]

    def _turn(self, message: Any) -> Turn:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        text = "".join(part.get("text") or "" for part in parts)
        match message["role"]:
            case "tool":
                return Turn("tool", results=[(message["tool_call_id"], text)])
            case "assistant":
                calls = message.get("tool_calls") or []
                return Turn("assistant", text, [_call(call) for call in calls], opaque=self._opaque(message, calls))
            case role:
                images = [_image(part) for part in parts if part["type"] == "image_url"]
                return Turn("user" if role == "user" else "system", text, images=images)

    def _opaque(self, message: Any, calls: list[Any]) -> Any:
        match self.who.returns:
            case "reasoning_content":
                return message.get("reasoning_content")
            case "reasoning_details":
                return [_given(detail) for detail in message.get("reasoning_details") or ()]
            case "thought_signature":
                return [((call.get("extra_content") or {}).get("google") or {}).get("thought_signature") for call in calls]
            case _:
                return None

    def tools(self, body: Any) -> dict[str, Any]:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        return {function["name"]: function.get("parameters", {}) for function in functions}

    def wants_json(self, body: Any) -> bool:
        return (body.get("response_format") or {}).get("type") in ("json_schema", "json_object")

    def options(self, body: Any) -> dict[str, Any]:
        stop = body.get("stop") or ()
        return {
            "temperature": body.get("temperature"),
            "max_tokens": body.get("max_completion_tokens") or body.get("max_tokens"),
            "stop": (stop,) if isinstance(stop, str) else tuple(stop),
            "seed": body.get("random_seed" if self.who.oracle == "mistral" else "seed"),
            "parallel_calls": body.get("parallel_tool_calls"),
            "reasoning": body.get("reasoning_effort") or body.get("reasoning") or body.get("thinking"),
        }


def _call(call: Any) -> Call:
    try:
        arguments = json.loads(call["function"]["arguments"] or "{}")
    except ValueError:
        arguments = None
    return Call(call["id"], call["function"]["name"], arguments)


def _given(value: dict[str, Any]) -> dict[str, Any]:
    """Without what is null."""
    return {key: item for key, item in value.items() if item is not None}


def _image(part: Any) -> str:
    return part["image_url"]["url"].partition(";base64,")[2]


def _without(body: Any, extras: frozenset[str]) -> Any:
    """The body without the fields that a provider takes besides those of its oracle."""

    def kept(value: Any, where: str) -> Any:
        return {key: item for key, item in value.items() if f"{where}{key}" not in extras}

    made = kept(body, "")
    made["messages"] = [kept(message, f"{message.get('role')}.") for message in body.get("messages") or ()]
    for message in made["messages"]:
        if message.get("tool_calls"):
            message["tool_calls"] = [kept(call, "call.") for call in message["tool_calls"]]
        if isinstance(message.get("content"), list):
            message["content"] = [kept(part, "part.") for part in message["content"]]
    return made


# What every server of this wire refuses


def _wire_rules(body: Any, *, strict: bool) -> Iterator[Problem]:
    if not body.get("messages"):
        yield Problem("[] is too short - 'messages'")
    if body.get("tools") == []:
        yield Problem("[] is too short - 'tools'", param="tools")
    if not body.get("tools"):
        for name in ("tool_choice", "parallel_tool_calls"):
            if body.get(name) is not None:
                yield Problem(f"'{name}' is only allowed when 'tools' are specified.", param=name)
    if body.get("stream_options") and not body.get("stream"):
        yield Problem("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
    for tool in body.get("tools") or ():
        yield from map(Problem, function_rules(tool["function"], strict=strict))
    for message in body.get("messages") or ():
        yield from _message_rules(message)


def _message_rules(message: Any) -> Iterator[Problem]:
    if message["role"] != "assistant":
        return
    calls = message.get("tool_calls") or []
    if not calls and not message.get("content") and not message.get("refusal"):
        yield Problem("an assistant message must have content or tool_calls")
    ids = [call["id"] for call in calls]
    if len(set(ids)) < len(ids) or not all(ids):
        yield Problem(f"the ids {ids} of calls in one message aren't unique")
    if any(len(call_id) > 64 for call_id in ids):
        yield Problem("Expected an id with maximum length 64")
    for call in calls:
        if not NAME.fullmatch(call["function"]["name"]):
            yield Problem(f"the name {call['function']['name']!r} of a call doesn't match ^[a-zA-Z0-9_-]{{1,64}}$")
