"""Applies repairs to a request's body, by the kind of repair, on any wire. Pure."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec.json import decode

from treadle.models.encoding import encode
from treadle.models.repairs import Repair
from treadle.models.request_fields import find_places

RequestBody = dict[str, Any]


def apply_repairs(body: bytes, repairs: Sequence[Repair]) -> bytes:
    """Return a request's body with repairs applied; the same bytes if there are none."""
    if not repairs:
        return body
    sent = decode(body, type=dict[str, Any])
    for repair in repairs:
        _CHANGES[repair.kind](sent, repair)
    return encode(sent)


def _drop_field(sent: RequestBody, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        outer.pop(name, None)


def _rename_field(sent: RequestBody, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        if name in outer:
            outer[repair.value] = outer.pop(name)


def _set_field(sent: RequestBody, repair: Repair) -> None:
    """Send another value. A limit is never raised; a switch is also set if it wasn't sent."""
    limit = isinstance(repair.value, int) and not isinstance(repair.value, bool)
    for outer, name in find_places(sent, repair.field):
        if isinstance(repair.value, bool) or (name in outer and not (limit and int(outer[name] or 0) <= repair.value)):
            outer[name] = repair.value


def _shorten_texts(sent: RequestBody, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        if isinstance(text := outer.get(name), str) and len(text) > repair.value:
            outer[name] = f"{text[: repair.value - 1]}…"


def _send_single_value(sent: RequestBody, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        if isinstance(values := outer.get(name), list):
            known = [each for each in cast("list[Any]", values) if str(each).lower() != "null"]
            outer[name] = known[0] if known else None


def _messages(sent: RequestBody) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", sent.get("messages") or [])


def _move_instructions(sent: RequestBody, _: Repair) -> None:
    """Move instructions into the first user message, wherever the wire has either."""
    if isinstance(items := sent.get("contents"), list):
        _prepend(cast("list[dict[str, Any]]", items), "parts", sent.pop("systemInstruction", None))
        return
    if isinstance(items := sent.get("input"), list) and sent.get("instructions"):
        _prepend(cast("list[dict[str, Any]]", items), "content", [{"type": "input_text", "text": sent.pop("instructions")}])
        return
    messages = _messages(sent)
    if "system" in sent:
        system = sent.pop("system")
        _prepend(messages, "content", [{"type": "text", "text": system}] if isinstance(system, str) else system)
        return
    told = [message for message in messages if message.get("role") in ("system", "developer")]
    rest = [message for message in messages if message not in told]
    words = "\n\n".join([str(message.get("content", "")) for message in told])
    if words:
        _prepend(rest, "content", words)
    sent["messages"] = rest


def _prepend(messages: list[dict[str, Any]], field: str, told: Any) -> None:
    """Put the instructions before the content of the first message, as text or as blocks."""
    blocks: Any = cast("dict[str, Any]", told).get("parts") if isinstance(told, dict) else told
    if not blocks:
        return
    first = messages[0] if messages and messages[0].get("role") == "user" else None
    said: Any = first.get(field) if first is not None else None
    if first is None or said is None:
        messages.insert(0, {"role": "user", field: blocks})
    elif isinstance(said, str) and isinstance(blocks, str):
        messages[0] = {**first, field: f"{blocks}\n\n{said}"}
    elif isinstance(blocks, str):
        messages[0] = {**first, field: [{"type": "text", "text": blocks}, *said]}
    else:
        kind = {name: value for name, value in blocks[0].items() if name == "type"}
        messages[0] = {**first, field: [*blocks, *([{**kind, "text": said}] if isinstance(said, str) else said)]}


def _shorten_ids(sent: RequestBody, _: Repair) -> None:
    from treadle.models.wires.openai import shorten_call_id

    for message in _messages(sent):
        if "tool_call_id" in message:
            message["tool_call_id"] = shorten_call_id(message["tool_call_id"])
        for call in message.get("tool_calls") or ():
            call["id"] = shorten_call_id(call["id"])


def _insert_between(sent: RequestBody, _: Repair) -> None:
    """Insert a model message between results and the next user message, which may be one message in blocks."""
    said: list[dict[str, Any]] = []
    for message in _messages(sent):
        results, others = _split_results(message)
        if results and others:
            said += [{**message, "content": results}, {"role": "assistant", "content": [{"text": "OK."}]}]
            said.append({**message, "content": others})
        elif said and said[-1].get("role") == "tool" and message.get("role") == "user":
            said += [{"role": "assistant", "content": "OK."}, message]
        else:
            said.append(message)
    sent["messages"] = said


def _split_results(message: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the tool results among the blocks of a Converse message, and the other blocks."""
    blocks = cast("list[Any]", message["content"]) if isinstance(message.get("content"), list) else []
    results = [block for block in blocks if "toolResult" in block]
    return results, [block for block in blocks if "toolResult" not in block]


def _join_same_roles(sent: RequestBody, _: Repair) -> None:
    """Join consecutive messages of one role; those with calls or results stay as they are."""
    said: list[dict[str, Any]] = []
    for message in _messages(sent):
        last = said[-1] if said else {}
        plain = all(isinstance(each.get("content"), str) and "tool_calls" not in each for each in (last, message))
        if plain and last.get("role") == message.get("role") and message.get("role") != "tool":
            said[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            said.append(message)
    sent["messages"] = said


def _add_reasoning(sent: RequestBody, _: Repair) -> None:
    for message in _messages(sent):
        if message.get("tool_calls"):
            message.setdefault("reasoning_content", "")


def _add_empty_content(sent: RequestBody, _: Repair) -> None:
    for message in _messages(sent):
        if message.get("content") is None:
            message["content"] = ""


def _disable_streaming(sent: RequestBody, _: Repair) -> None:
    """Request a response without streaming, if the body says which; elsewhere the path does."""
    if "stream" in sent:
        sent["stream"] = False
    sent.pop("stream_options", None)


_CHANGES: dict[str, Callable[[RequestBody, Repair], None]] = {
    "drop": _drop_field,
    "rename": _rename_field,
    "set": _set_field,
    "fit": _set_field,
    "shorten": _shorten_texts,
    "single": _send_single_value,
    "no_system": _move_instructions,
    "short_ids": _shorten_ids,
    "between": _insert_between,
    "alternate": _join_same_roles,
    "reasoning": _add_reasoning,
    "content": _add_empty_content,
    "no_stream": _disable_streaming,
    "in_text": lambda _sent, _repair: None,
}
