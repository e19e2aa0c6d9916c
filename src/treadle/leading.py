"""For plans that lead a small model (`Led`): what a message is about, what was done about it so far, and JSON as it reads best.

Public, and pure. A small model that may choose among tools mostly chooses none; asked what a message is about, it is right.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.core.calls import Opaque, Result
from treadle.core.messages import Message
from treadle.core.requests import Options
from treadle.models.led import WIRE, Question

__all__ = ["Choice", "lines_of", "state_of", "turn_of"]

_NOISE = frozenset(("id", "version", "links", "metadata"))  # what says nothing to a reader


class Choice(Struct, frozen=True):
    """What a message may be about: names with what each means, and examples. `other` is for what is none of them."""

    intro: str
    about: Mapping[str, str]
    examples: tuple[tuple[str, str], ...]
    other: str = "talk"

    def question(self, message: str) -> Question:
        """How a model is asked. All but the message is always the same, so that a server reads it once."""
        told = [f"- {name}: {what}" for name, what in self.about.items()]
        shown = [f'\nMessage: {text}\n{{"about": "{about}"}}' for text, about in self.examples]
        names = {"about": {"type": "string", "enum": list(self.about)}}
        shape = {"type": "object", "properties": names, "required": ["about"], "additionalProperties": False}
        instructions = "\n".join([self.intro, *told, *shown])
        return Question(f"Message: {' '.join(message.split())[:2000]}", instructions, Options(temperature=0, max_tokens=30), shape)

    def read(self, said: str) -> str:
        """What the model said it is about."""
        try:
            about = msgspec.json.decode(said, type=dict[str, Any]).get("about")
        except msgspec.DecodeError:
            return self.other
        return about if isinstance(about, str) and about in self.about else self.other


def turn_of(history: Iterable[Message]) -> tuple[str, list[Result]]:
    """What the person said last, and what calls have brought since."""
    message = ""
    results: list[Result] = []
    for each in history:
        if each.role == "person":
            message, results = each.text, []
        results += [part for part in each.parts if isinstance(part, Result)]
    return message, results


def state_of(history: Iterable[Message]) -> Any:
    """Return the state that the plan's last move had one with; None where none had."""
    states = [part.json for each in history for part in each.parts if isinstance(part, Opaque) and part.wire == WIRE]
    return msgspec.json.decode(states[-1]) if states else None


def lines_of(result: Result) -> str:
    """What a call brought, as plain lines: fewer tokens than JSON, and easier to read. Words stay as they are."""
    data: Any = result.data
    return "\n".join(_lines(data, "")) if isinstance(data, dict | list) else result.content


def _lines(value: Any, indent: str) -> Iterator[str]:
    match value:
        case dict():
            for key, each in _kept(value):
                if isinstance(each, dict | list):
                    yield f"{indent}{key}:"
                    yield from _lines(each, f"{indent}  ")
                else:
                    yield f"{indent}{key}: {each}"
        case list():
            for each in cast("list[Any]", value):
                yield f"{indent}- {_line(each)}"
        case _:
            yield f"{indent}{value}"


def _line(value: Any) -> str:
    """A thing of a list, in one line."""
    match value:
        case dict():
            return "; ".join([f"{key}: {_line(each)}" for key, each in _kept(value)])
        case list():
            return ", ".join([_line(each) for each in cast("list[Any]", value)])
        case _:
            return str(value)


def _kept(value: Any) -> list[tuple[str, Any]]:
    fields = cast("dict[str, Any]", value).items()
    return [(key, each) for key, each in fields if key not in _NOISE and each not in (None, "", [], {})]
