"""How calls with tagged parameters are written in a prompt, and the lesson that teaches the form.

Values that can't stand between tags make the call's arguments a JSON object, which is read as well.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from msgspec import Struct

from treadle.core.calls import Call
from treadle.dialects.forms import to_json_text
from treadle.dialects.parameters import CDATA, CDATA_END, ParameterTags

PLAIN_NAME = re.compile(r"[\w.-]+")

_EXAMPLE = Call("", "TOOL", {"ARGUMENT": "VALUE"})


class TagSpelling(Struct, frozen=True):
    """The layout of calls between their tags.

    wrap    the tag around calls, and what closes it; `each` puts it around each of them
    line    the text between tags; `inset` around a value
    typed   the tag of a value says whether it is a string
    """

    tags: ParameterTags
    wrap: tuple[str, str] = ("", "")
    each: bool = False
    line: str = "\n"
    inset: str = ""
    typed: bool = False

    def spell(self, calls: Sequence[Call]) -> str:
        """Return the calls in this spelling."""
        opens, close = (f"{self.wrap[0]}{self.line}", f"{self.line}{self.wrap[1]}") if self.wrap[0] else ("", "")
        written = [self._spell_call(call) for call in calls]
        if self.each:
            return self.line.join(f"{opens}{one}{close}" for one in written)
        return f"{opens}{self.line.join(written)}{close}" if written else ""

    def _spell_call(self, call: Call) -> str:
        lines = [self._spell_head(call.name)]
        if all(PLAIN_NAME.fullmatch(key) and self._fits(value) for key, value in call.arguments.items()):
            lines += [self._spell_parameter(key, value) for key, value in call.arguments.items()]
        else:
            lines.append(escape_tags(to_json_text(call.arguments)))
        return self.line.join([*lines, self.tags.close])

    def _spell_head(self, name: str) -> str:
        match self.tags.naming:
            case "plain":
                return f"{self.tags.opens[0]}{name}>"
            case "attribute":
                return f'{self.tags.opens[0]}"{name}">'
            case "pair":
                return f"{self.tags.opens[0]}{name}"
            case _:
                assert_never(self.tags.naming)

    def _spell_parameter(self, key: str, value: Any) -> str:
        opens, end = self.tags.keys[0], self.tags.end
        text = self._spell_text(value) if isinstance(value, str) else escape_tags(to_json_text(value))
        match self.tags.naming:
            case "plain":
                inset = "\n" if text[:1] == "\n" or text[-1:] == "\n" else self.inset
                return f"{opens}{key}>{inset}{text}{inset}{end}"
            case "attribute":
                kind = f' string="{to_json_text(isinstance(value, str))}"' if self.typed else ""
                return f'{opens}"{key}"{kind}>{text}{end}'
            case "pair":
                return f"{opens}{key}{self.tags.pair[0]}{self.line}{self.tags.pair[1]}{text}{end}"
            case _:
                assert_never(self.tags.naming)

    def _fits(self, value: object) -> bool:
        """Return whether a value can stand between tags: no text with such tags in it, unless it can be wrapped."""
        if not isinstance(value, str) or self.tags.cdata:
            return True
        return not any(tag in value for tag in (self.tags.end, self.tags.close, *self.tags.keys))

    def _spell_text(self, value: str) -> str:
        if self.tags.quoted and value.strip()[:1] == '"':
            return to_json_text(value)
        if self.tags.cdata and (value != value.strip() or "<" in value or "&" in value):
            return f"{CDATA}{value.replace(CDATA_END, f']]{CDATA_END}{CDATA}>')}{CDATA_END}"
        return value


def escape_tags(json: str) -> str:
    """Return the JSON with its tags escaped."""
    return json.replace("<", "\\u003c")


def tag_lesson(spell: Callable[[Sequence[Call]], str]) -> str:
    """Return instructions for writing calls, with an example."""
    rules = "Strings stand as they are, other values as JSON. For several calls, write several of these."
    return f"To call a tool, write exactly this:\n{spell([_EXAMPLE])}\n{rules}"
