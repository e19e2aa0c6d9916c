"""Finds the change that a server's error asks for: from its text and error object, against the request that was sent. Pure.

Three things are checked, in this order: known demands on the form of a request, a value or a limit that is named, and a field
that was sent and isn't accepted. A field counts as named only if the request has it.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

from msgspec import DecodeError
from msgspec.json import decode

from treadle.models.repairs import Repair
from treadle.models.request_fields import find_field, find_value, value_at

MIN_OUTPUT_TOKENS = 256  # tokens; with less, a reply isn't worth asking for

_FIELD = r"[`'\"\[]?(?:#/)?([a-zA-Z_][\w.\[\]]*\w)[`'\"\]]?"
_NOT = r"(?:not (?:supported|allowed|permitted|accepted|available)|unsupported|unknown|invalid|deprecated|disabled|not a valid)"
_RENAMED = rf"{_FIELD} is not supported[^.]*\. Use {_FIELD} instead"

# What servers say about one field; the last group names it, one before it the place. Tried in order on the words of the refusal.
_UNKNOWN = (
    rf"unknown name {_FIELD} at '([^']+)'",
    r"'([\w.]+)' : property '(\w+)' is unsupported",
    r"'loc': [(\[]([^)\]]*)[)\]]",
    r"\bbody((?: -> \w+)+)\s+extra inputs",
    rf"unsupported (?:parameter|value|field)(?:s|\(s\))?:? {_FIELD}",
    rf"unrecognized (?:request )?(?:argument|field|parameter)s?(?: supplied)?:? {_FIELD}",
    rf"unknown (?:parameter|field|argument|name):? {_FIELD}",
    rf"(?:unexpected|extra|extraneous|additional) (?:keyword |key )?(?:argument|field|property|parameter|key):? {_FIELD}",
    rf"{_NOT}(?: on| by| for| with)?(?: this model)?(?:, field)?: {_FIELD}",
    rf"invalid {_FIELD}: only",
    rf"(?:property|parameter|field|argument|option) {_FIELD} (?:(?:is|are) )?{_NOT}",
    rf"{_FIELD}: extra (?:inputs|fields) (?:are )?not permitted",
    rf"{_FIELD}(?:=\w+| \w+)? (?:is|are|has been) {_NOT}",
    rf"{_FIELD} (?:does not|doesn't|do not|cannot|can't|may only) (?:support|be (?:set|used|specified))",
    rf"(?:does not|doesn't) (?:support|accept|allow)(?: the| a)?(?: provided)?(?: parameter| field| value)? {_FIELD}",
    rf"found that support the provided {_FIELD}",
    rf"\w+[`'\"]? and {_FIELD} cannot both",
    rf"additional properties are not allowed \({_FIELD}",
    rf"{_FIELD} is only (?:supported|allowed|available)",
    rf"only the default \([^)]*\) value (?:of|for) {_FIELD}",
    rf"when using {_FIELD}, {_FIELD} must be set",
)
_EXTRA = r"extra|unknown (?:parameter|field|name|argument)|unrecognized|unexpected|additional propert|unsupported parameter"
_TOKENS = r"max_\w*tokens|maxOutputTokens|maxTokens"
_MOST = r"(?:at most|up to|maximum(?: value)? (?:is|of)|less than or equal to|<=|must be (?:less|lower|smaller) than)"
_LIMITS = (
    r"(max_\w*tokens): \d+ > (\d+)",
    rf"({_TOKENS})\b.*?{_MOST} [`'\"]?(\d[\d,_]*)",
    rf"({_TOKENS})\b.*?(?:range|between)[^\d]*\d+[^\d]+(\d[\d,_]*)",
)
# The whole window, and what the conversation takes of it.
_WINDOWS = (
    r"maximum context length is (?P<window>\d+).*?\((?P<used>\d+) in the (?:messages|prompt|input)",
    r"maximum context length is (?P<window>\d+).*?your request has (?P<used>\d+) input tokens",
    r"(?P<used>\d+) \+ \d+ > (?P<window>\d+)",
)
_LENGTHS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "generationConfig.maxOutputTokens",
    "inferenceConfig.maxTokens",
)
_CHOICES = rf"{_FIELD} does not support ['\"`]?\w+['\"`]?[^.]*\. ?Supported values are:? ([^.]+)"
_OTHER_VALUES = r"['\"`](\w+)['\"`] is not supported[^\n]*?\. ?Supported values are:? ([^.]+)"
_SWITCHED = rf"{_FIELD} must be set to (true|false)"
# A description that is too long, and for how many characters there is room.
_TOO_LONG = (
    rf"invalid {_FIELD}: string too long\. expected a string with maximum length (\d+)",
    rf"{_FIELD}: string should have at most (\d+) characters",
)
_LISTED = r"unknown name \"(\w+)\" at '([^']+)': proto field is not repeating"
_WORD = re.compile(r"['\"`](\w+)['\"`]")

# Demands on the form of a request.
_FORMS: tuple[tuple[Repair, tuple[str, ...]], ...] = (
    (
        Repair("no_system"),
        (
            r"(?:system|developer) (?:role|message|instruction|prompt)s? (?:is |are )?not (?:supported|enabled|allowed)",
            r"(?:does not|doesn't) support (?:the )?(?:system|developer) (?:role|message|instruction)",
            r"only user(?:,| and) (?:and )?assistant",
            r"role: unknown variant [`'\"](?:system|developer)",
        ),
    ),
    (
        Repair("short_ids"),
        (
            r"tool[ _]call[ _]?id.*(?:length|9|nine)",
            r"a-z, A-Z, 0-9, with a length of 9",
            r"tool_call(?:s\[\d+\]\.|_)id['\"`]?: string too long",
        ),
    ),
    (
        Repair("between"),
        (
            r"unexpected role ['\"]?user['\"]? after role ['\"]?tool",
            r"tool ?result blocks cannot be provided in the same turn",
        ),
    ),
    (Repair("alternate"), (r"roles (?:should|must) (?:be )?alternat",)),
    (Repair("reasoning"), (r"reasoning_content.*(?:must|missing|pass(?:ed)? back|required)",)),
    (
        Repair("no_stream"),
        (
            r"(?:verified|allowed|permitted) to stream",
            r"stream(?:ing)? (?:is |mode is )not (?:supported|available|allowed)",
            r"does(?: not|n't) support (?:[\w ]{0,20}in )?stream",
            r"unsupported for stream",
        ),
    ),
    (
        Repair("content"),
        (
            r"content (?:must not be|cannot be|can't be|should not be) (?:null|none|empty)",
            r"content is required|content.*field required|content.*none is not an allowed",
        ),
    ),
    (
        Repair("drop", "**.cache_control"),
        (r"maximum of 4 blocks with cache_control", r"cache_control.*(?:not|at most)", r"that support cache control"),
    ),
)

# Features by the names that servers have for them, and the fields that ask for each: the first that was sent is left out.
_FEATURES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("tool_choice", "toolConfig.toolChoice", "toolConfig.functionCallingConfig"),
        (r"tool_choice.*(?:not supported|only.*auto|may only)", r"does not support.*tool_choice"),
    ),
    (
        (
            "thinking",
            "think",
            "reasoning_effort",
            "reasoning",
            "enable_thinking",
            "generationConfig.thinkingConfig",
            "additionalModelRequestFields.thinking",
        ),
        (
            r"thinking.*(?:not supported|isn't supported)|does not support (?:thinking|reasoning)",
            r"think(?:ing)? (?:value|budget)[^.]* is (?:not supported|invalid)",
            r"thinking (?:can not|cannot|can't) be",
            r"max_tokens.*greater than.*budget_tokens|budget_tokens.*(?:less|smaller) than",
        ),
    ),
    (
        ("response_format", "text.format", "output_format", "output_config.format", "generationConfig.responseSchema"),
        (
            r"(?:response_format|json_schema|structured output).*(?:not supported|not available|unavailable|isn't supported)",
            r"does not support (?:structured output|json schema|response format)",
        ),
    ),
)
_ADAPTIVE = r"use ['\"`]?(?:thinking\.type\.)?adaptive"


def diagnose_refusal(words: str, error: Any, body: bytes) -> Repair | None:
    """Return the repair that would make a refused request acceptable, by the server's text and error object.

    None if there is none.
    """
    sent = _decode_body(body)
    if sent is None:
        return None
    for find in (
        _find_form_repair,
        _find_feature_repair,
        _find_limit_repair,
        _find_length_repair,
        _find_choice_repair,
        _find_switch_repair,
        _find_rename_repair,
        _find_named_field_repair,
        _find_worded_field_repair,
    ):
        repair = find(words, error, sent)
        if repair is not None:
            return repair
    return None


def find_token_limit(words: str, body: bytes) -> Repair | None:
    """Return the token limit to request where a conversation fits, but not together with the requested output tokens."""
    sent = _decode_body(body) or {}
    field = next((each for each in _LENGTHS if value_at(sent, each)), "")
    found = next(filter(None, (_search(pattern, words) for pattern in _WINDOWS)), None)
    if found is None or not field:
        return None
    room = int(found["window"]) - int(found["used"])
    return Repair("fit", field, room) if MIN_OUTPUT_TOKENS <= room < int(value_at(sent, field)) else None


def _decode_body(body: bytes) -> dict[str, Any] | None:
    try:
        return decode(body, type=dict[str, Any])
    except DecodeError:
        return None


def _search(pattern: str, words: str) -> re.Match[str] | None:
    """Search case-insensitively. Patterns are compiled with the first refusal, not at import."""
    return re.search(pattern, words, re.IGNORECASE)


def _find_form_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    if _search(_ADAPTIVE, words) and "thinking" in sent:
        return Repair("set", "thinking", {"type": "adaptive"})
    if (found := _search(_LISTED, words)) and (field := find_field(f"{found[2]}.{found[1]}", sent, any_field=True)):
        return Repair("single", field)
    return next((repair for repair, patterns in _FORMS if any(_search(each, words) for each in patterns)), None)


def _find_feature_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    for fields, patterns in _FEATURES:
        field = next((each for each in fields if value_at(sent, each) is not None), "")
        if field and any(_search(each, words) for each in patterns):
            return Repair("drop", field)
    return None


def _find_limit_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    for pattern in _LIMITS:
        found = _search(pattern, words)
        if found is not None and (field := find_field(found.group(1), sent)):
            most = int(re.sub(r"[,_]", "", found.group(2)))
            if 0 < most < int(value_at(sent, field) or 0):
                return Repair("set", field, most)
    return None


def _find_length_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    """Return the length that descriptions are cut to. Nothing else can be cut without changing what it means."""
    found = next(filter(None, (_search(pattern, words) for pattern in _TOO_LONG)), None)
    field = find_field(found[1].replace(".custom.", "."), sent, any_field=True) if found is not None else ""
    return Repair("shorten", field, int(found[2])) if found is not None and field.endswith(".description") else None


def _find_choice_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    """Return another value for one that isn't among those a field accepts: the middle of them."""
    if (found := _search(_CHOICES, words)) is not None:
        field = find_field(found.group(1), sent)
    elif (found := _search(_OTHER_VALUES, words)) is not None:
        field = find_field(found.group(1), sent) or find_value(found.group(1), sent)
    else:
        return None
    values = _WORD.findall(found.group(2))
    return (Repair("set", field, values[len(values) // 2]) if values else Repair("drop", field)) if field else None


def _find_switch_repair(words: str, _error: Any, _sent: dict[str, Any]) -> Repair | None:
    """Return a switch that has to be set, even if it wasn't sent."""
    found = _search(_SWITCHED, words)
    return Repair("set", found.group(1).rpartition(".")[2], found.group(2).lower() == "true") if found is not None else None


def _find_rename_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    found = _search(_RENAMED, words)
    if found is None or not (field := find_field(found.group(1), sent)):
        return None
    other = found.group(2)
    return Repair("rename", field, other) if re.fullmatch(r"\w+", other) else Repair("drop", field)


def _find_named_field_repair(words: str, error: Any, sent: dict[str, Any]) -> Repair | None:
    """Return a repair for the field that an error object names beside its text: `param`, or the `loc` of a validation error.

    An option is dropped whatever is wrong with it; a field of a message or a tool only if it is said to be unexpected.
    """
    extra = _search(_EXTRA, words) is not None
    found = (find_field(place, sent) for place in _named_fields(error))
    return next((Repair("drop", field) for field in found if field and (extra or "*" not in field)), None)


def _named_fields(error: Any) -> Iterator[str]:
    if isinstance(error, list):
        for each in cast("list[Any]", error):
            yield from _named_fields(each)
    if isinstance(error, dict):
        inner = cast("dict[str, Any]", error)
        kind = str(inner.get("type", ""))
        if isinstance(place := inner.get("param"), str):
            yield place
        if isinstance(loc := inner.get("loc"), list) and "missing" not in kind:
            yield ".".join([str(each) for each in cast("list[Any]", loc)])
        for name in ("error", "message", "detail", "details", "errors"):
            yield from _named_fields(inner.get(name))


def _find_worded_field_repair(words: str, _: Any, sent: dict[str, Any]) -> Repair | None:
    for number, pattern in enumerate(_UNKNOWN):
        for found in re.finditer(pattern, words, re.IGNORECASE):
            groups = [group for group in found.groups() if group]
            if number == 0:
                groups.reverse()  # the name comes before its place
            elif pattern.startswith("when using"):
                groups = groups[:1] if value_at(sent, groups[1]) is None else []
            named = ".".join([re.sub(r"[',\"\s]+|->", ".", group) for group in groups])
            if field := find_field(named, sent):
                return Repair("drop", field)
    return None
