"""Keys under `[assistants.NAME]`: what an assistant's struct says about each, and the variables that stand for them.

How a file's tables are read is `toml`; which of a person, a project and a variable has its way is `settings`.
"""

import os
import re
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import NODEFAULT, Meta
from msgspec.structs import FieldInfo, fields

from treadle.app.plugins import load, names, settings_type
from treadle.app.settled import KEYS, Rule, default_of, pattern_of
from treadle.core.errors import SettingsError
from treadle.tools.names import nearest

_VARIABLE = re.compile(r"TREADLE_([A-Z0-9]+)_[A-Z0-9_]+")


class AssistantKey(NamedTuple):
    """Who may say it, what it has to be, for a sentence; its type, and what it is where nobody says anything."""

    rule: Rule
    what: str
    type: Any
    default: Any


class Spoken(NamedTuple):
    """What a variable says."""

    variable: str
    value: Any


def keys_of(assistant: str) -> dict[str, AssistantKey]:
    """The keys of an assistant, by the names of its struct's fields; none where it isn't installed or has no settings."""
    kind = settings_type(assistant)
    return {} if kind is None else {field.name: _key(field) for field in fields(kind)}


def rule_of(key: str) -> Rule:
    """Who may say a key, an assistant's or any other. What isn't known is the person's alone to say."""
    if not key.startswith("assistants."):
        return KEYS[pattern_of(key)].rule
    known = _known(key)
    return "user" if known is None else known.rule


def usual_of(key: str) -> Any:
    """What a key is where nobody says anything, an assistant's or any other; None for one that isn't known."""
    if not key.startswith("assistants."):
        return default_of(key)
    known = _known(key)
    return None if known is None else known.default


def _known(key: str) -> AssistantKey | None:
    _, assistant, field = key.split(".", 2)
    return keys_of(assistant).get(field)


def _key(field: FieldInfo) -> AssistantKey:
    metas = [each for each in get_args(field.type) if isinstance(each, Meta)]
    what = next((meta.description for meta in metas if meta.description), "what the assistant's page says")
    rule: Rule = next((meta.extra["project"] for meta in metas if meta.extra and "project" in meta.extra), "user")
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    return AssistantKey(rule, what, field.type, default)


def said_by_variables() -> dict[str, Spoken]:
    """What the environment says, by key. A variable that has an assistant's name, or nearly, and means nothing is an error."""
    there = sorted(variable for variable, text in os.environ.items() if text)
    found = [(match[1].lower(), variable) for variable in there if (match := _VARIABLE.fullmatch(variable))]
    known, said = names("assistants") if found else [], dict[str, Spoken]()
    for word, variable in found:
        assistant = next((each for each in known if variable.startswith(f"{_prefix(each)}_")), "")
        if assistant and variable not in getattr(load("assistants", assistant), "variables", ()):
            field = variable.removeprefix(f"{_prefix(assistant)}_").lower()
            said[f"assistants.{assistant}.{field}"] = Spoken(variable, _value(assistant, field, variable))
        elif not assistant and (near := nearest(word, known)):
            raise _unknown(variable, [variable.replace(word.upper(), each.upper(), 1) for each in near])
    return said


def variable_of(assistant: str, field: str) -> str:
    """The variable that stands for a key."""
    return f"{_prefix(assistant)}_{field.upper()}"


def _prefix(assistant: str) -> str:
    return f"TREADLE_{assistant.upper().replace('-', '_')}"


def _value(assistant: str, field: str, variable: str) -> Any:
    known = keys_of(assistant)
    if field not in known:
        raise _unknown(variable, [variable_of(assistant, each) for each in nearest(field, known) or known])
    text, key = os.environ[variable], known[field]
    listed = [item.strip() for item in text.split(",") if item.strip()]  # how a list is written
    for read in (text, listed):
        try:
            return msgspec.convert(read, key.type, strict=False)
        except msgspec.ValidationError:
            continue
    raise SettingsError(f"{variable} in the environment must be {key.what}.")


def _unknown(variable: str, meant: list[str]) -> SettingsError:
    hint = f" Did you mean {' or '.join(meant)}?" if meant else " Its assistant has no settings."
    return SettingsError(f"{variable} in the environment means nothing.{hint}")
