"""OpenAI's Responses: what a request must be, and which items belong together."""

from collections.abc import Iterable, Iterator
from typing import Any

from providers.oracles import mismatches, type_of
from providers.script import Ask
from providers.servers.base import KEY, Call, Problem, Session, Turn, key_problems
from providers.servers.http import Request
from providers.servers.responses_replies import ResponsesReplies
from providers.servers.schemas import function_rules

_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs", "web_search_call": "ws"}


class Responses(ResponsesReplies):
    """A server of the Responses API with one model. Keeps what it is asked to store, unless its organization keeps nothing."""

    def __init__(self, model: str, *, reasons: bool, stores: bool = True) -> None:
        super().__init__(model)
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

    def keep(self, body: Any, response: Any) -> None:
        self._items.update({item["id"]: item for item in response["output"]})
        if self._stores(body):
            self._stored[response["id"]] = [*self._input(body), *response["output"]]

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
