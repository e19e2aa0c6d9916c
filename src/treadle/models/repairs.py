"""Requests that repair themselves: what a server says it doesn't accept is dropped or converted, and remembered for its model.

Pure, but for `Memory`. `diagnose` reads a refusal, `apply` changes a request's body. What can't be read stays a refusal. Nothing
happens twice by it: a request that was refused has had no effect.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, cast

from msgspec import DecodeError, Struct
from msgspec.json import decode

from treadle.models.encoding import encode

Kind = Literal[
    "drop",  # leave a field out
    "rename",  # send it under another name
    "set",  # send another value
    "no_system",  # instructions go into the first message of the user
    "short_ids",  # call ids of nine letters or digits
    "between",  # something is said between results and a user's message
    "reasoning",  # the reasoning of messages with calls goes back, empty where there is none
    "content",  # no message without content
    "no_stream",  # the response comes in one
    "in_text",  # calls are asked for in the model's text; the request itself stays as it is
]


class Repair(Struct, frozen=True, omit_defaults=True):
    """One change to every request for a model: to `field`, a name or a path such as `generationConfig.topK`."""

    kind: Kind
    field: str = ""
    value: Any = None

    @property
    def words(self) -> str:
        """What is done, for people."""
        match self.kind:
            case "drop":
                return f"{self.field} isn't sent"
            case "rename":
                return f"{self.field} is sent as {self.value}"
            case "set":
                return f"{self.field} is sent as {self.value}"
            case _:
                return _WORDS[self.kind]


_WORDS = {
    "no_system": "instructions are sent with the first message",
    "short_ids": "ids of calls are shortened",
    "between": "a message is put between results and the next question",
    "reasoning": "reasoning is sent back with calls",
    "content": "messages without words get empty ones",
    "no_stream": "responses aren't streamed",
    "in_text": "calls are asked for in its text",
}

IN_TEXT = Repair("in_text")
REASONING = Repair("reasoning")

_FIELD = r"[`'\"]?([a-zA-Z_][\w.\[\]]*)[`'\"]?"
_KEEP = frozenset(
    ("model", "messages", "input", "contents", "tools", "instructions", "system", "toolConfig", "max_tokens_required")
)

# What servers say about one field; the first group names it. Tried in order on the words of the refusal.
_RENAMED = rf"{_FIELD} is not supported[^.]*\. Use {_FIELD} instead"
_NOT = r"(?:not (?:supported|allowed|permitted|accepted|available)|unsupported|unknown|invalid|deprecated|disabled)"
_UNKNOWN = (
    rf"unsupported (?:parameter|value|field)s?:? {_FIELD}",
    rf"unrecognized (?:request )?(?:argument|field|parameter)s?(?: supplied)?:? {_FIELD}",
    rf"unknown (?:parameter|field|argument|name):? {_FIELD}",
    rf"(?:unexpected|extra|additional) (?:keyword |key )?(?:argument|field|property|parameter|key):? {_FIELD}",
    rf"(?:property|parameter|field|argument|option) {_FIELD} (?:(?:is|are) )?{_NOT}",
    rf"{_FIELD}: extra (?:inputs|fields) (?:are )?not permitted",
    rf"{_FIELD}(?: \w+)? (?:is|are|has been) {_NOT}",
    rf"{_FIELD} (?:does not|doesn't|do not|cannot|can't) (?:support|be (?:set|used|specified))",
    rf"(?:does not|doesn't) (?:support|accept|allow)(?: the| a)?(?: parameter| field| value)? {_FIELD}",
    rf"\w+[`'\"]? and {_FIELD} cannot both",
    rf"additional properties are not allowed \({_FIELD}",
    rf"{_FIELD} is only (?:supported|allowed|available)",
    rf"only the default \([^)]*\) value (?:of|for) {_FIELD}",
)
_MOST = r"(?:at most|up to|maximum(?: value)? (?:is|of)|less than or equal to|<=|must be (?:less|lower|smaller) than)"
_LIMITS = (
    r"(max_\w*tokens): \d+ > (\d+)",
    rf"(max_\w*tokens|maxOutputTokens|maxTokens)\b.*?{_MOST} [`'\"]?(\d[\d,_]*)",
    r"(max_\w*tokens|maxOutputTokens|maxTokens)\b.*?(?:range|between)[^\d]*\d+[^\d]+(\d[\d,_]*)",
)
_CHOICES = rf"{_FIELD} does not support ['\"`]?\w+['\"`]?[^.]*\. ?Supported values are:? ([^.]+)"
_WORD = re.compile(r"['\"`](\w+)['\"`]")


def diagnose(words: str, error: Any, body: bytes) -> Repair | None:
    """Return what would make a refused request acceptable, by the server's words and error object; None where nothing is found."""
    try:
        sent = decode(body, type=dict[str, Any])
    except DecodeError:
        return None
    for find in (_special, _by_limit, _by_choice, _by_rename, _by_place, _by_words):
        repair = find(words, error, sent)
        if repair is not None:
            return repair
    return None


_SPECIAL: tuple[tuple[str, Repair], ...] = tuple(
    (pattern, repair)
    for repair, patterns in (
        (
            Repair("no_system"),
            (
                r"(?:system|developer) (?:role|message|instruction|prompt)s? (?:is |are )?not (?:supported|enabled|allowed)",
                r"(?:does not|doesn't) support (?:the )?(?:system|developer) (?:role|message|instruction)",
                r"only user(?:,| and) (?:and )?assistant",
            ),
        ),
        (Repair("short_ids"), (r"tool[ _]call[ _]?id.*(?:length|9|nine)", r"a-z, A-Z, 0-9, with a length of 9")),
        (Repair("between"), (r"unexpected role ['\"]?user['\"]? after role ['\"]?tool",)),
        (Repair("reasoning"), (r"reasoning_content.*(?:must|missing|pass(?:ed)? back|required)",)),
        (
            Repair("no_stream"),
            (
                r"(?:verified|allowed|permitted) to stream",
                r"stream(?:ing)? (?:is |mode is )not (?:supported|available|allowed)",
                r"does(?: not|n't) support stream",
            ),
        ),
        (
            Repair("content"),
            (
                r"content (?:must not be|cannot be|can't be|should not be) (?:null|none|empty)",
                r"content is required|content.*field required|content.*none is not an allowed",
            ),
        ),
        (Repair("drop", "*.cache_control"), (r"maximum of 4 blocks with cache_control", r"cache_control.*(?:not|at most)")),
        (Repair("set", "thinking", {"type": "adaptive"}), (r"use ['\"`]?(?:thinking\.type\.)?adaptive",)),
        (
            Repair("drop", "thinking"),
            (
                r"thinking.*(?:not supported|isn't supported)|does not support thinking",
                r"max_tokens.*greater than.*budget_tokens|budget_tokens.*(?:less|smaller) than",
            ),
        ),
        (
            Repair("drop", "tool_choice"),
            (r"tool_choice.*(?:not supported|only.*auto|may only)", r"does not support.*tool_choice"),
        ),
        (
            Repair("drop", "response_format"),
            (
                r"(?:response_format|json_schema|structured output).*(?:not supported|not available|unavailable|isn't supported)",
                r"does not support (?:structured output|json schema|response format)",
            ),
        ),
    )
    for pattern in patterns
)


def _search(pattern: str, words: str) -> re.Match[str] | None:
    """Search without regard to case. Patterns are compiled with the first refusal, not with the import."""
    return re.search(pattern, words, re.IGNORECASE)


def _special(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    for pattern, repair in _SPECIAL:
        if _search(pattern, words) and (not repair.field or repair.field.startswith("*") or _has(sent, repair.field)):
            return repair
    return None


def _by_limit(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    for pattern in _LIMITS:
        found = _search(pattern, words)
        if found is not None and (field := _sent_as(found.group(1), sent)):
            most = int(re.sub(r"[,_]", "", found.group(2)))
            if 0 < most < int(_value(sent, field) or 0):
                return Repair("set", field, most)
    return None


def _by_choice(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    """Another value for one that isn't among those a field takes: the middle of them."""
    found = _search(_CHOICES, words)
    field = _sent_as(found.group(1), sent) if found is not None else ""
    if found is None or not field:
        return None
    values = _WORD.findall(found.group(2))
    return Repair("set", field, values[len(values) // 2]) if values else Repair("drop", field)


def _by_rename(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    found = _search(_RENAMED, words)
    if found is None or not (field := _sent_as(found.group(1), sent)):
        return None
    other = found.group(2)
    return Repair("rename", field, other) if re.fullmatch(r"\w+", other) else Repair("drop", field)


def _by_place(_: str, error: Any, sent: dict[str, Any]) -> Repair | None:
    """The field that an error object names beside its words: `param`, or the `loc` of a validation error."""
    for place in _places(error):
        if (field := _sent_as(place, sent)) and field.split(".")[0] not in _KEEP:
            return Repair("drop", field)
    return None


def _places(error: Any) -> Iterator[str]:
    if isinstance(error, list):
        for each in cast("list[Any]", error):
            yield from _places(each)
    if isinstance(error, dict):
        inner = cast("dict[str, Any]", error)
        kind = str(inner.get("type", ""))
        if isinstance(place := inner.get("param"), str):
            yield place
        if isinstance(loc := inner.get("loc"), list) and "missing" not in kind:
            names = [str(each) for each in cast("list[Any]", loc) if each != "body"]
            yield ".".join(names)
        for name in ("error", "detail", "details", "errors"):
            yield from _places(inner.get(name))


def _by_words(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    for pattern in _UNKNOWN:
        for found in re.finditer(pattern, words, re.IGNORECASE):
            field = _sent_as(found.group(1), sent)
            if field and field.split(".")[0] not in _KEEP:
                return Repair("drop", field)
    return None


def _sent_as(name: str, sent: dict[str, Any]) -> str:
    """The path under which a field that a server names was sent; empty where it wasn't."""
    plain = re.sub(r"\[\d*\]|\.\d+", "", name.strip("`'\". ")).removeprefix("body.")
    candidates = (plain, _camel(plain), _snake(plain))
    for path in candidates:
        if path and _has(sent, path):
            return path
    for outer, value in sent.items():  # the last part of it, one level down
        if isinstance(value, dict):
            for path in candidates:
                if path.rpartition(".")[2] in value:
                    return f"{outer}.{path.rpartition('.')[2]}"
    first = plain.split(".")[0]
    return first if "." in plain and first in sent and first not in _KEEP else ""


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found.group(1).upper(), name)


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f"_{found.group(1).lower()}", name)


def _has(sent: dict[str, Any], path: str) -> bool:
    return _value(sent, path) is not None


def _value(sent: dict[str, Any], path: str) -> Any:
    here: Any = sent
    for name in path.split("."):
        here = cast("dict[str, Any]", here).get(name) if isinstance(here, dict) else None
    return here


def apply(body: bytes, repairs: Sequence[Repair]) -> bytes:
    """Return a request's body with repairs made; the same bytes where there are none."""
    if not repairs:
        return body
    sent = decode(body, type=dict[str, Any])
    for repair in repairs:
        _CHANGES[repair.kind](sent, repair)
    return encode(sent)


def _drop(sent: dict[str, Any], repair: Repair) -> None:
    if repair.field.startswith("*."):
        _drop_everywhere(sent, repair.field[2:])
        return
    outer, name = _outer(sent, repair.field)
    outer.pop(name, None)


def _drop_everywhere(value: Any, name: str) -> None:
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        inner.pop(name, None)
        for each in inner.values():
            _drop_everywhere(each, name)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            _drop_everywhere(each, name)


def _rename(sent: dict[str, Any], repair: Repair) -> None:
    outer, name = _outer(sent, repair.field)
    if name in outer:
        outer[repair.value] = outer.pop(name)


def _set(sent: dict[str, Any], repair: Repair) -> None:
    outer, name = _outer(sent, repair.field)
    if name in outer and not (isinstance(repair.value, int) and int(outer[name] or 0) <= repair.value):
        outer[name] = repair.value


def _outer(sent: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The object that a path leads into, and the last name of it."""
    *names, last = path.split(".")
    here = sent
    for name in names:
        inner = here.get(name)
        here = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return here, last


def _messages(sent: dict[str, Any]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", sent.get("messages") or [])


def _no_system(sent: dict[str, Any], _: Repair) -> None:
    messages = _messages(sent)
    told = [message for message in messages if message.get("role") in ("system", "developer")]
    rest = [message for message in messages if message not in told]
    words = "\n\n".join([str(message.get("content", "")) for message in told])
    if words and rest and rest[0].get("role") == "user" and isinstance(rest[0].get("content"), str):
        rest[0] = {**rest[0], "content": f"{words}\n\n{rest[0]['content']}"}
    elif words:
        rest.insert(0, {"role": "user", "content": words})
    sent["messages"] = rest


def _short_ids(sent: dict[str, Any], _: Repair) -> None:
    from treadle.models.openai import short_id

    for message in _messages(sent):
        if "tool_call_id" in message:
            message["tool_call_id"] = short_id(message["tool_call_id"])
        for call in message.get("tool_calls") or ():
            call["id"] = short_id(call["id"])


def _between(sent: dict[str, Any], _: Repair) -> None:
    said: list[dict[str, Any]] = []
    for message in _messages(sent):
        if said and said[-1].get("role") == "tool" and message.get("role") == "user":
            said.append({"role": "assistant", "content": "OK."})
        said.append(message)
    sent["messages"] = said


def _reasoning(sent: dict[str, Any], _: Repair) -> None:
    for message in _messages(sent):
        if message.get("tool_calls"):
            message.setdefault("reasoning_content", "")


def _content(sent: dict[str, Any], _: Repair) -> None:
    for message in _messages(sent):
        if message.get("content") is None:
            message["content"] = ""


def _no_stream(sent: dict[str, Any], _: Repair) -> None:
    sent["stream"] = False
    sent.pop("stream_options", None)


_CHANGES: dict[str, Callable[[dict[str, Any], Repair], None]] = {
    "drop": _drop,
    "rename": _rename,
    "set": _set,
    "no_system": _no_system,
    "short_ids": _short_ids,
    "between": _between,
    "reasoning": _reasoning,
    "content": _content,
    "no_stream": _no_stream,
    "in_text": lambda _sent, _repair: None,
}


class Memory:
    """Repairs by model and address, for this process. Where one is to last, `load` and `save` say how."""

    def __init__(self) -> None:
        self.load: Callable[[], dict[str, tuple[Repair, ...]]] | None = None
        self.save: Callable[[dict[str, tuple[Repair, ...]]], None] | None = None
        self._known: dict[str, tuple[Repair, ...]] | None = None

    def of(self, model: str, address: str) -> tuple[Repair, ...]:
        """Return the repairs that are known for a model."""
        return self.all().get(_key(model, address), ())

    def add(self, model: str, address: str, repair: Repair) -> None:
        """Remember one more."""
        known, key = self.all(), _key(model, address)
        known[key] = (*known.get(key, ()), repair)
        if self.save is not None:
            self.save(known)

    def forget(self, model: str) -> bool:
        """Forget what is known of a model, at whatever address; whether there was anything."""
        known = self.all()
        gone = [key for key in known if key.partition(" ")[0] == model]
        for key in gone:
            del known[key]
        if gone and self.save is not None:
            self.save(known)
        return bool(gone)

    def all(self) -> dict[str, tuple[Repair, ...]]:
        """Return everything that is known, by model and address."""
        if self._known is None:
            self._known = self.load() if self.load is not None else {}
        return self._known


def _key(model: str, address: str) -> str:
    return f"{model} {address}"


memory = Memory()
