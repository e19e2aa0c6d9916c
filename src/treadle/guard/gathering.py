"""All texts of a JSON value, to be looked at as one: that is far quicker than one by one, and enough to say that none is a secret.

Where names decide, this only says that they might; whoever asks has to look closer.
"""

from typing import Any, cast, get_args

from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Entry
from treadle.core.messages import Message, Text, Thinking
from treadle.core.requests import Usage
from treadle.guard.names import Extra, named

SHORTEST_KEY = 12  # no shorter name of a value is itself a secret
_VALUES = (*get_args(Entry), Allow, Call, Message, Result, Text, Thinking, Usage, Written)
_TAGS = ("kind", "part", "verdict")
# What values in entries are called, as far as it doesn't stand for a secret: these needn't be looked at each time.
OURS = frozenset([name for kind in _VALUES for name in (*_TAGS, *kind.__struct_fields__) if not named(name, ()).kind])


def gathered(value: Any, extra: Extra) -> tuple[list[str], bool]:
    """The texts in a value, names that are long enough among them, and whether a name in it may stand for a secret."""
    texts: list[str] = []
    is_named = False
    left: list[Any] = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, dict):
            pairs = cast("dict[Any, Any]", each)
            names = pairs.keys() if extra else pairs.keys() - OURS
            is_named = is_named or "value" in pairs or any(named(str(name), extra).kind for name in names)
            texts += [name for name in names if isinstance(name, str) and len(name) >= SHORTEST_KEY]
            left += pairs.values()
        elif isinstance(each, list | tuple):
            items = cast("list[Any]", each)
            is_named = is_named or any(isinstance(item, str) and item.startswith("-") for item in items)
            left += items
    return texts, is_named
