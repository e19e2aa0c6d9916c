"""How calls are written as JSON for a model that is told of them, and the lesson that shows it how. Reading is done elsewhere."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from treadle.core.calls import Call
from treadle.dialects.forms import json_text

_EXAMPLE = Call("", "TOOL", {"ARGUMENT": "VALUE"})


class Spelling(Struct, frozen=True):
    """What stands around a call that is a JSON object, and which keys it has.

    listed   all calls stand in one list, with `before` and `after` around it
    between  what stands between one call and the next, if they aren't listed
    """

    before: str = ""
    after: str = ""
    listed: bool = False
    between: str = "\n"
    keys: tuple[str, str] = ("name", "arguments")

    def spell(self, calls: Sequence[Call]) -> str:
        """The calls, written so."""
        objects = [self._object(call) for call in calls]
        if self.listed:
            return f"{self.before}{json_text(objects)}{self.after}" if objects else ""
        return self.between.join(f"{self.before}{json_text(one)}{self.after}" for one in objects)

    def _object(self, call: Call) -> dict[str, Any]:
        name, arguments = self.keys
        return {name: call.name, arguments: call.arguments}


def lesson(spell: Callable[[Sequence[Call]], str], *, listed: bool = False) -> str:
    """How to write calls, by an example."""
    several = "List several calls together." if listed else "For several calls, write several of these."
    return f"To call a tool, write exactly this, with its name and its arguments as JSON:\n{spell([_EXAMPLE])}\n{several}"
