"""Whether the values of a call come from the conversation. A small model without the information makes values up. Pure.

Only required arguments without an enum count: `grounded_share` is how many of them can be found in the conversation. It is a
hint, weighed against how certain the model is that the tool fits; nothing is refused for it alone. An optional argument of a
lookup mostly narrows what is found: `drop_invented` leaves out those whose words or dates came from nowhere, so that the answer
isn't hidden by a filter that the model made up.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Written
from treadle.core.requests import ToolSpec
from treadle.guard.dates import contains_day, find_days, month_number, parse_day
from treadle.guard.numerals import WORDS

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_WORD = re.compile(r"[^\W_]{2,}")
_STEM = 5  # so many letters make two words the same: translate, translated, translation
_MONTH = re.compile(r"\d{4}-(\d{2})")  # such as 2026-03
_RELATIVE = re.compile(  # a date may follow from such words
    r"\b(?:(?:to|yester)?day|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|now|ago|recent(?:ly)?|since|until|between"
    r"|(?:last|next|this|past|coming|previous)\s+\w+)\b",
    re.IGNORECASE,
)
_SCALES = (1, 0.01, 100, 1000, 0.001, 1e6, 1e9, 12, 60, 3600)  # 5 % is 0.05, 2 k is 2000, 3 minutes are 180 seconds


class ConversationText:
    """The text of a conversation, prepared for searching."""

    def __init__(self, text: str) -> None:
        self._text = text.lower()
        self._words = _word_stems(self._text)
        self._numbers = set(_find_numbers(self._text))

    def grounded_share(self, call: Written, tool: ToolSpec) -> float:
        """Return the share of a call's required values that are in the conversation.

        1 for all, or if there are none to look for.
        """
        arguments = _decode_arguments(call.text)
        properties = cast("dict[str, dict[str, Any]]", tool.parameters.get("properties") or {})
        required = [key for key in tool.parameters.get("required") or () if key in arguments]
        judged = [self._contains(arguments[key], properties.get(key) or {}) for key in required]
        known = [found for found in judged if found is not None]
        return sum(known) / len(known) if known else 1.0

    def drop_invented(self, call: Written, tool: ToolSpec) -> Written:
        """Return the call without those optional words and dates that nothing in the conversation vouches for."""
        arguments = _decode_arguments(call.text)
        properties = cast("dict[str, dict[str, Any]]", tool.parameters.get("properties") or {})
        required = tool.parameters.get("required") or ()
        invented = {
            key
            for key, value in arguments.items()
            if key not in required and isinstance(value, str) and not self._vouches(value, properties.get(key) or {})
        }
        if not invented:
            return call
        kept = {key: value for key, value in arguments.items() if key not in invented}
        return replace(call, text=msgspec.json.encode(kept).decode())

    def _vouches(self, value: str, schema: dict[str, Any]) -> bool:
        """Return whether a text is in the conversation, or a date follows from it; True if that can't be told."""
        day, month = parse_day(value.strip()), _MONTH.fullmatch(value.strip())
        if day is None and month is None:
            return self._contains(value, schema) is not False
        if value.strip() in self._text or _RELATIVE.search(self._text):
            return True
        if day is not None:
            return contains_day(day, find_days(self._text))
        assert month is not None
        return any(month_number(word) == int(month[1]) for word in _WORD.findall(self._text))

    def _contains(self, value: Any, schema: dict[str, Any]) -> bool | None:
        """Return whether a value is in the conversation; None if it proves nothing, as a boolean or a choice."""
        match value:
            case None | bool():
                return None
            case _ if "enum" in schema or "enum" in (schema.get("items") or {}):
                return None
            case int() | float():
                return float(value) in self._numbers
            case str():
                spelled = value.lower().strip()
                return spelled in self._text or not self._words.isdisjoint(_word_stems(spelled)) if spelled else None
            case _:
                inner = [found for leaf in _leaf_values(value) if (found := self._contains(leaf, {})) is not None]
                return any(inner) if inner else None


def _word_stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text)}


def _find_numbers(text: str) -> Iterator[float]:
    for spelled in _NUMBER.findall(text):
        number = float(spelled.replace(",", ""))
        for scale in _SCALES:
            yield number * scale
    for word in _WORD.findall(text):
        if word in WORDS:
            yield float(WORDS[word])


def _decode_arguments(text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _leaf_values(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for inner in cast("dict[str, Any]", value).values():
                yield from _leaf_values(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _leaf_values(inner)
        case _:
            yield value
