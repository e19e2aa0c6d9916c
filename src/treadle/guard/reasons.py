"""Doubts about a value in words, for the person who is asked: which value came from where. Pure."""

from treadle.guard.kinds import Leaf
from treadle.guard.names import named
from treadle.guard.origins import Origins
from treadle.guard.redaction import Redactor

_LONGEST_SHOWN = 60
_REDACTOR = Redactor()


def source_reason(leaf: Leaf, value: str, origins: Origins) -> str:
    """Which value came from where."""
    what = f"{leaf.path} {shown_value(leaf, value)}"
    source = next((loose.name for loose in origins.loose if loose.says(value)), None)
    if source is None:
        return f"{what} was said neither by the person nor by trusted data."
    return f"{what} is from the result of {source} (untrusted)."


def carrying_reason(leaf: Leaf, code: str) -> str:
    """What a text would take along."""
    return f"{leaf.path} carries {shown_value(leaf, code)}, which the person didn't say."


def leaving_reason(leaf: Leaf, party: str) -> str:
    """What a third party would get to know."""
    return f"{leaf.path} {shown_value(leaf, str(leaf.value))} would tell {plain(party)} what the person didn't say."


def naming_reason(name: str, party: str) -> str:
    """What a third party would get to know by the name of a field."""
    return f"The field {plain(name)} would tell {plain(party)} what the person didn't say."


def shown_value(leaf: Leaf, value: str) -> str:
    """A value for a person to read; none of a name that stands for a secret."""
    return "(hidden)" if named(leaf.name).kind else plain(value)


def plain(text: str) -> str:
    """A text on one line, with strange letters spelled out, and no secret."""
    safe = _REDACTOR.text(text)  # before it is cut: a part of a secret isn't known as one
    spelled = safe if safe.isascii() and safe.isprintable() else safe.encode("unicode_escape").decode()
    return spelled if len(spelled) <= _LONGEST_SHOWN else f"{spelled[: _LONGEST_SHOWN - 1]}…"
