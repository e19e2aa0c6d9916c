"""Doubts about a value as sentences for the user who is asked: which value came from where. Pure."""

from treadle.guard.argument_kinds import ArgumentLeaf
from treadle.guard.origins import Origins
from treadle.guard.redaction import Redactor
from treadle.guard.secret_names import classify_name

_LONGEST_SHOWN = 60
_REDACTOR = Redactor()


def explain_source(leaf: ArgumentLeaf, value: str, origins: Origins) -> str:
    """Return which value came from where."""
    what = f"{leaf.path} {format_leaf_value(leaf, value)}"
    source = next((loose.name for loose in origins.loose if loose.says(value)), None)
    if source is None:
        return f"{what} was said neither by the person nor by trusted data."
    return f"{what} is from the result of {source} (untrusted)."


def explain_carried_code(leaf: ArgumentLeaf, code: str) -> str:
    """Return which code a text would carry."""
    return f"{leaf.path} carries {format_leaf_value(leaf, code)}, which the person didn't say."


def explain_leak(leaf: ArgumentLeaf, party: str) -> str:
    """Return what a third party would learn."""
    return f"{leaf.path} {format_leaf_value(leaf, str(leaf.value))} would tell {to_plain_line(party)} what the person didn't say."


def explain_field_leak(name: str, party: str) -> str:
    """Return what a third party would learn from the name of a field."""
    return f"The field {to_plain_line(name)} would tell {to_plain_line(party)} what the person didn't say."


def format_leaf_value(leaf: ArgumentLeaf, value: str) -> str:
    """Format a value for a person; hidden if its name stands for a secret."""
    return "(hidden)" if classify_name(leaf.name).kind else to_plain_line(value)


def to_plain_line(text: str) -> str:
    """Return a text on one line, with unusual characters escaped and secrets masked."""
    safe = _REDACTOR.text(text)  # before it is cut: a part of a secret isn't known as one
    spelled = safe if safe.isascii() and safe.isprintable() else safe.encode("unicode_escape").decode()
    return spelled if len(spelled) <= _LONGEST_SHOWN else f"{spelled[: _LONGEST_SHOWN - 1]}…"
