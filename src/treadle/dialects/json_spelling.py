"""How calls are written as JSON in a prompt, and the lesson that teaches the form. Reading is done elsewhere."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.calls import Call
from treadle.dialects.forms import to_json_text

_EXAMPLE = Call("", "TOOL", {"ARGUMENT": "VALUE"})


class JsonSpelling(Struct, frozen=True):
    """The text around a call that is a JSON object, and its keys.

    listed   all calls are in one list, with `before` and `after` around it
    between  the text between one call and the next, if they aren't listed
    """

    before: str = ""
    after: str = ""
    listed: bool = False
    between: str = "\n"
    keys: tuple[str, str] = ("name", "arguments")

    def spell(self, calls: Sequence[Call]) -> str:
        """Return the calls in this spelling."""
        objects = [self._to_object(call) for call in calls]
        if self.listed:
            return f"{self.before}{to_json_text(objects)}{self.after}" if objects else ""
        return self.between.join(f"{self.before}{to_json_text(one)}{self.after}" for one in objects)

    def _to_object(self, call: Call) -> dict[str, Any]:
        name, arguments = self.keys
        return {name: call.name, arguments: call.arguments}


def json_lesson(spell: Callable[[Sequence[Call]], str], *, listed: bool = False) -> str:
    """Return instructions for writing calls, with an example."""
    several = "List several calls together." if listed else "For several calls, write several of these."
    return f"To call a tool, write exactly this, with its name and its arguments as JSON:\n{spell([_EXAMPLE])}\n{several}"
