"""Changes to a request's body, by the kind of repair, on whichever wire it goes. Pure."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec.json import decode

from treadle.models.encoding import encode
from treadle.models.repairs import Repair
from treadle.models.request_fields import find_places

Body = dict[str, Any]


def apply(body: bytes, repairs: Sequence[Repair]) -> bytes:
    """Return a request's body with repairs made; the same bytes where there are none."""
    if not repairs:
        return body
    sent = decode(body, type=dict[str, Any])
    for repair in repairs:
        _CHANGES[repair.kind](sent, repair)
    return encode(sent)


def _drop(sent: Body, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        outer.pop(name, None)


def _rename(sent: Body, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        if name in outer:
            outer[repair.value] = outer.pop(name)


def _set(sent: Body, repair: Repair) -> None:
    """Send another value. A limit is never raised; a switch is also set where it wasn't sent."""
    limit = isinstance(repair.value, int) and not isinstance(repair.value, bool)
    for outer, name in find_places(sent, repair.field):
        if isinstance(repair.value, bool) or (name in outer and not (limit and int(outer[name] or 0) <= repair.value)):
            outer[name] = repair.value


def _single(sent: Body, repair: Repair) -> None:
    for outer, name in find_places(sent, repair.field):
        if isinstance(values := outer.get(name), list):
            known = [each for each in cast("list[Any]", values) if str(each).lower() != "null"]
            outer[name] = known[0] if known else None


def _messages(sent: Body) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", sent.get("messages") or [])


def _no_system(sent: Body, _: Repair) -> None:
    """Put instructions into the first message of the user, wherever the wire has either."""
    if isinstance(items := sent.get("contents"), list):
        _lead(cast("list[dict[str, Any]]", items), "parts", sent.pop("systemInstruction", None))
        return
    if isinstance(items := sent.get("input"), list) and sent.get("instructions"):
        _lead(cast("list[dict[str, Any]]", items), "content", [{"type": "input_text", "text": sent.pop("instructions")}])
        return
    messages = _messages(sent)
    if "system" in sent:
        system = sent.pop("system")
        _lead(messages, "content", [{"type": "text", "text": system}] if isinstance(system, str) else system)
        return
    told = [message for message in messages if message.get("role") in ("system", "developer")]
    rest = [message for message in messages if message not in told]
    words = "\n\n".join([str(message.get("content", "")) for message in told])
    if words:
        _lead(rest, "content", words)
    sent["messages"] = rest


def _lead(messages: list[dict[str, Any]], field: str, told: Any) -> None:
    """Put what was told before what the first message says, as text or as blocks."""
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


def _short_ids(sent: Body, _: Repair) -> None:
    from treadle.models.openai import short_id

    for message in _messages(sent):
        if "tool_call_id" in message:
            message["tool_call_id"] = short_id(message["tool_call_id"])
        for call in message.get("tool_calls") or ():
            call["id"] = short_id(call["id"])


def _between(sent: Body, _: Repair) -> None:
    """Let the model say something between results and the next message of the user, which may be one message in blocks."""
    said: list[dict[str, Any]] = []
    for message in _messages(sent):
        results, others = _results_of(message)
        if results and others:
            said += [{**message, "content": results}, {"role": "assistant", "content": [{"text": "OK."}]}]
            said.append({**message, "content": others})
        elif said and said[-1].get("role") == "tool" and message.get("role") == "user":
            said += [{"role": "assistant", "content": "OK."}, message]
        else:
            said.append(message)
    sent["messages"] = said


def _results_of(message: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The results of tools among the blocks of a message of Converse's, and the others."""
    blocks = cast("list[Any]", message["content"]) if isinstance(message.get("content"), list) else []
    results = [block for block in blocks if "toolResult" in block]
    return results, [block for block in blocks if "toolResult" not in block]


def _alternate(sent: Body, _: Repair) -> None:
    """Join messages of one role that follow each other; those with calls or results stay as they are."""
    said: list[dict[str, Any]] = []
    for message in _messages(sent):
        last = said[-1] if said else {}
        plain = all(isinstance(each.get("content"), str) and "tool_calls" not in each for each in (last, message))
        if plain and last.get("role") == message.get("role") and message.get("role") != "tool":
            said[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            said.append(message)
    sent["messages"] = said


def _reasoning(sent: Body, _: Repair) -> None:
    for message in _messages(sent):
        if message.get("tool_calls"):
            message.setdefault("reasoning_content", "")


def _content(sent: Body, _: Repair) -> None:
    for message in _messages(sent):
        if message.get("content") is None:
            message["content"] = ""


def _no_stream(sent: Body, _: Repair) -> None:
    """Ask for the response in one, where the body says which; elsewhere the path does."""
    if "stream" in sent:
        sent["stream"] = False
    sent.pop("stream_options", None)


_CHANGES: dict[str, Callable[[Body, Repair], None]] = {
    "drop": _drop,
    "rename": _rename,
    "set": _set,
    "fit": _set,
    "single": _single,
    "no_system": _no_system,
    "short_ids": _short_ids,
    "between": _between,
    "alternate": _alternate,
    "reasoning": _reasoning,
    "content": _content,
    "no_stream": _no_stream,
    "in_text": lambda _sent, _repair: None,
}
