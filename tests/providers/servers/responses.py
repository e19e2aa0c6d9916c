"""OpenAI's Responses: what a request must be, which items belong together, and how replies look, whole and streamed."""

import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from providers.oracles import mismatches, type_of
from providers.script import Ask, Block, Fail, Reply, Say, Think, argument_pieces, pieces
from providers.servers.base import KEY, Call, Issued, Problem, Session, Turn, json_response, key_problems, sse
from providers.servers.chat_replies import FAILURES, openai_failure
from providers.servers.http import Request, Response
from providers.servers.schemas import function_rules

_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs", "web_search_call": "ws"}


class Responses:
    """A server of the Responses API with one model. Keeps what it is asked to store, unless its organization keeps nothing."""

    def __init__(self, model: str, *, reasons: bool, stores: bool = True) -> None:
        self.model = model
        self.reasons = reasons
        self.stores = stores
        self._stored: dict[str, list[Any]] = {}  # conversations, by the id of their last response
        self._items: dict[str, Any] = {}  # all items that went out, by id

    def serves(self, request: Request) -> bool:
        return request.target == "/v1/responses"

    def problems(self, request: Request, session: Session) -> Iterable[Problem]:
        body = request.body
        keyless = key_problems(request, ("authorization", f"Bearer {KEY}"))
        if keyless or not isinstance(body, dict):
            return keyless or [Problem("the body is no JSON object")]
        typed = mismatches(body, type_of("openai-responses"))
        found = [*self._model_rules(body), *(Problem(line.lstrip("."), repairable="extra inputs" in line) for line in typed)]
        return found or [*self._item_rules(body), *_tool_rules(body)]

    def _model_rules(self, body: Any) -> Iterator[Problem]:
        if self.reasons and (body.get("reasoning") or {}).get("effort") != "none":
            for name in ("temperature", "top_p"):
                if body.get(name) not in (None, 1, 1.0):
                    yield Problem(f"Unsupported parameter: '{name}' is not supported with this model.", param=name, repairable=True)
        if (body.get("max_output_tokens") or 16) < 16:
            yield Problem(
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.", param="max_output_tokens"
            )

    def _item_rules(self, body: Any) -> Iterator[Problem]:
        """openai-agents-python#919, vercel/ai#7543, software-agent-sdk#1754: items that are known, whole and in order."""
        before = body.get("previous_response_id")
        if before and before not in self._stored:
            yield Problem(f"Previous response with id '{before}' not found.", param="previous_response_id")
            return
        items = self._input(body)
        for item in items:
            yield from self._own_rules(item, stored=self._stores(body))
        yield from _order_rules(items)

    def _stores(self, body: Any) -> bool:
        return self.stores and body.get("store") is not False

    def _own_rules(self, item: Any, *, stored: bool) -> Iterator[Problem]:
        kind, item_id = item.get("type", "message"), item.get("id")
        if item_id and kind in _PREFIX and not item_id.startswith(_PREFIX[kind]):
            yield Problem(f"Invalid 'input.id': '{item_id}'. Expected an ID that begins with '{_PREFIX[kind]}'.")
        if kind == "item_reference" and item_id not in self._items:
            yield Problem(f"Item with id '{item_id}' not found.", 404)
        if kind == "function_call" and len(item["call_id"]) > 64:
            yield Problem("Invalid 'input.call_id': string too long. Expected a string with maximum length 64.")
        if kind != "reasoning":
            return
        sealed = item.get("encrypted_content")
        known = self._items.get(item_id)
        if sealed and (known is None or sealed != known["encrypted_content"]):
            yield Problem(f"The encrypted content for item {item_id} could not be verified.")
        if not sealed and (known is None or not stored):
            words = f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false."
            yield Problem(words, 404)

    # What a request says

    def _input(self, body: Any) -> list[Any]:
        given = body.get("input") or []
        given = [{"role": "user", "content": given}] if isinstance(given, str) else given
        given = [
            self._items[item["id"]] if item.get("type") == "item_reference" and item["id"] in self._items else item
            for item in given
        ]
        return [*self._stored.get(body.get("previous_response_id") or "", ()), *given]

    def turns(self, body: Any) -> list[Turn]:
        turns = [Turn("system", body.get("instructions") or "")]
        for item in self._input(body):
            turn = _turn(item)
            last = turns[-1]
            if turn.role == last.role and turn.role in ("assistant", "tool"):
                last.text += turn.text
                last.calls += turn.calls
                last.results += turn.results
                last.opaque = [*(last.opaque or ()), *(turn.opaque or ())]
            else:
                turns.append(turn)
        return turns

    def tools(self, body: Any) -> dict[str, Any]:
        return {tool["name"]: tool.get("parameters") or {} for tool in body.get("tools") or () if tool["type"] == "function"}

    def wants_json(self, body: Any) -> bool:
        return ((body.get("text") or {}).get("format") or {}).get("type") in ("json_schema", "json_object")

    def options(self, body: Any) -> dict[str, Any]:
        return {
            "temperature": body.get("temperature"),
            "max_tokens": body.get("max_output_tokens"),
            "parallel_calls": body.get("parallel_tool_calls"),
            "reasoning": (body.get("reasoning") or {}).get("effort"),
        }

    # What comes back

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
        self._items.update({item["id"]: item for item in output})
        if self._stores(body):
            self._stored[response["id"]] = [*self._input(body), *output]
        return sse(_events(response, issued.reply), issued.reply) if body.get("stream") else json_response(200, response)

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


# The conversation in a request


def _turn(item: Any) -> Turn:
    match item.get("type", "message"):
        case "message":
            parts = [{"text": item["content"]}] if isinstance(item["content"], str) else item["content"]
            text = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
            images = [part["image_url"].partition(";base64,")[2] for part in parts if part.get("type") == "input_image"]
            role = "system" if item["role"] == "developer" else item["role"]
            return Turn(role, text, images=images)
        case "function_call":
            return Turn("assistant", calls=[Call(item["call_id"], item["name"], Ask("", item["arguments"]).value)])
        case "function_call_output":
            output = item["output"]
            text = output if isinstance(output, str) else "".join(part.get("text", "") for part in output)
            return Turn("tool", results=[(item["call_id"], text)])
        case _:
            return Turn("assistant", opaque=[item.get("id")])


def _order_rules(items: list[Any]) -> Iterator[Problem]:
    calls = {item["call_id"] for item in items if item.get("type") == "function_call"}
    outputs = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    for call_id in sorted(calls - outputs):
        yield Problem(f"No tool output found for function call {call_id}.", param="input")
    for call_id in sorted(outputs - calls):
        yield Problem(f"No tool call found for function call output with call_id {call_id}.", param="input")
    for item, after in zip(items, [*items[1:], {}], strict=True):
        alone = (
            after.get("type", "message") not in ("function_call", "reasoning", "web_search_call")
            and after.get("role") != "assistant"
        )
        if item.get("type") == "reasoning" and alone:
            yield Problem(f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.")


def _tool_rules(body: Any) -> Iterator[Problem]:
    for tool in body.get("tools") or ():
        if tool["type"] == "function":
            yield from map(Problem, function_rules(tool, strict=True))
