"""Keys under `[assistants.NAME]`: what an assistant's settings struct declares, and their environment variables.

`toml` reads a file's tables; `loader` decides between user, project and variable.
"""

import os
import re
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import NODEFAULT, Meta
from msgspec.structs import FieldInfo, fields

from treadle.core.errors import SettingsError
from treadle.plugins.entry_points import assistant_settings_type, load_plugin, plugin_names
from treadle.settings.schema import KEYS, MergeRule, default_of, key_pattern
from treadle.tools.name_matching import nearest_names

_VARIABLE = re.compile(r"TREADLE_([A-Z0-9]+)_[A-Z0-9_]+")


class AssistantKey(NamedTuple):
    """A key's merge rule, its description for error messages, its type and its default."""

    rule: MergeRule
    what: str
    type: Any
    default: Any


class VariableValue(NamedTuple):
    """The value of an environment variable."""

    variable: str
    value: Any


def keys_of(assistant: str) -> dict[str, AssistantKey]:
    """Return an assistant's keys by the names of its struct's fields; empty where it isn't installed or has no settings."""
    kind = assistant_settings_type(assistant)
    return {} if kind is None else {field.name: _key_from_field(field) for field in fields(kind)}


def rule_of(key: str) -> MergeRule:
    """Return the merge rule of any key, an assistant's or another. An unknown key can only be set by the user."""
    if not key.startswith("assistants."):
        return KEYS[key_pattern(key)].rule
    known = _find_key(key)
    return "user" if known is None else known.rule


def default_value_of(key: str) -> Any:
    """Return the default of any key, an assistant's or another; None for an unknown one."""
    if not key.startswith("assistants."):
        return default_of(key)
    known = _find_key(key)
    return None if known is None else known.default


def _find_key(key: str) -> AssistantKey | None:
    _, assistant, field = key.split(".", 2)
    return keys_of(assistant).get(field)


def _key_from_field(field: FieldInfo) -> AssistantKey:
    metas = [each for each in get_args(field.type) if isinstance(each, Meta)]
    what = next((meta.description for meta in metas if meta.description), "what the assistant's page says")
    rule: MergeRule = next((meta.extra["project"] for meta in metas if meta.extra and "project" in meta.extra), "user")
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    return AssistantKey(rule, what, field.type, default)


def read_variables() -> dict[str, VariableValue]:
    """Return the environment's values by key. A variable that resembles an assistant's name but has no meaning is an error."""
    there = sorted(variable for variable, text in os.environ.items() if text)
    found = [(match[1].lower(), variable) for variable in there if (match := _VARIABLE.fullmatch(variable))]
    known, said = plugin_names("assistants") if found else [], dict[str, VariableValue]()
    for word, variable in found:
        assistant = next((each for each in known if variable.startswith(f"{_variable_prefix(each)}_")), "")
        if assistant and variable not in getattr(load_plugin("assistants", assistant), "variables", ()):
            field = variable.removeprefix(f"{_variable_prefix(assistant)}_").lower()
            said[f"assistants.{assistant}.{field}"] = VariableValue(variable, _parse_variable(assistant, field, variable))
        elif not assistant and (near := nearest_names(word, known)):
            raise _unknown_variable_error(variable, [variable.replace(word.upper(), each.upper(), 1) for each in near])
    return said


def variable_of(assistant: str, field: str) -> str:
    """Return the environment variable of a key."""
    return f"{_variable_prefix(assistant)}_{field.upper()}"


def _variable_prefix(assistant: str) -> str:
    return f"TREADLE_{assistant.upper().replace('-', '_')}"


def _parse_variable(assistant: str, field: str, variable: str) -> Any:
    known = keys_of(assistant)
    if field not in known:
        raise _unknown_variable_error(variable, [variable_of(assistant, each) for each in nearest_names(field, known) or known])
    text, key = os.environ[variable], known[field]
    listed = [item.strip() for item in text.split(",") if item.strip()]  # how a list is written
    for read in (text, listed):
        try:
            return msgspec.convert(read, key.type, strict=False)
        except msgspec.ValidationError:
            continue
    raise SettingsError(f"{variable} in the environment must be {key.what}.")


def _unknown_variable_error(variable: str, meant: list[str]) -> SettingsError:
    hint = f" Did you mean {' or '.join(meant)}?" if meant else " Its assistant has no settings."
    return SettingsError(f"{variable} in the environment isn't a known setting.{hint}")
