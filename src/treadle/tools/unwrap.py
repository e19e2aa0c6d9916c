"""Repairs malformed calls that have exactly one reading: wrapped in a list or a call, encoded twice, name and arguments swapped.

It moves values to where they belong and changes none. Whether the arguments are then valid is up to `validate`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle.tools.compiled_schema import CompiledSchema
from treadle.tools.name_matching import match_name
from treadle.tools.values import as_list, as_object

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs")
_WRAPPERS = ("function", "function_call", "tool_call", "tool_calls", "call")
_BESIDE = frozenset(("id", "call_id", "tool_call_id", "type", "index"))  # may stand beside a call and says nothing
_MOST = 5  # wrappings of wrappings


class UnwrappedCall(Struct, frozen=True):
    """A call with everything in its place, and what was repaired, in words."""

    name: str
    arguments: dict[str, Any]
    what: str


class _CallShape(Struct, frozen=True):
    """A call in the course of its repair."""

    name: str
    arguments: Any
    notes: tuple[str, ...] = ()


def unwrap_call(name: str, arguments: Any, known: Mapping[str, dict[str, Any]]) -> UnwrappedCall | None:
    """Return the intended call, where there is one reading; None where there is nothing to repair, or no certain way to."""
    if name in known and CompiledSchema.of_arguments(known[name]).accepts(arguments):
        return None
    shape = _CallShape(match_name(name, known) or name, arguments)
    for _ in range(_MOST):
        better = _repair(shape, known)
        if better is None:
            break
        shape = better
    inner = as_object(shape.arguments)
    if not shape.notes or inner is None or shape.name not in known:
        return None
    return UnwrappedCall(shape.name, inner, "; ".join(shape.notes))


def _repair(shape: _CallShape, known: Mapping[str, dict[str, Any]]) -> _CallShape | None:
    for repair in (_unswap, _decode_arguments, _unwrap_list, _unwrap_nested_call):
        better = repair(shape, known)
        if better is not None:
            return better
    return None


def _unswap(shape: _CallShape, known: Mapping[str, dict[str, Any]]) -> _CallShape | None:
    """Repair arguments that are in the place of the name."""
    written = _parse_object(shape.name)
    if written is None:
        return None
    if isinstance(shape.arguments, str) and (name := match_name(shape.arguments, known)) is not None:
        return _CallShape(name, written, (*shape.notes, "name and arguments were swapped"))
    if shape.arguments in (None, "", "{}", {}):
        return _CallShape("", written, (*shape.notes, "the whole call stood in place of the name"))
    return None


def _decode_arguments(shape: _CallShape, _: Mapping[str, dict[str, Any]]) -> _CallShape | None:
    """Repair arguments that are JSON text."""
    if not isinstance(shape.arguments, str):
        return None
    value = _parse_json(shape.arguments)
    if not isinstance(value, dict | list | str):
        return None
    return _CallShape(shape.name, value, (*shape.notes, "the arguments were encoded twice"))


def _unwrap_list(shape: _CallShape, _: Mapping[str, dict[str, Any]]) -> _CallShape | None:
    items = as_list(shape.arguments)
    if items is None or len(items) != 1 or not isinstance(items[0], dict):
        return None
    return _CallShape(shape.name, items[0], (*shape.notes, "the call was wrapped in a list"))


def _unwrap_nested_call(shape: _CallShape, known: Mapping[str, dict[str, Any]]) -> _CallShape | None:
    """Repair arguments that are a whole call, or contain nothing but the arguments."""
    outer = as_object(shape.arguments)
    if outer is None or _has_own_argument(outer, known.get(shape.name)):
        return None
    said = {key: value for key, value in outer.items() if key not in _BESIDE}
    notes = (*shape.notes, "the arguments were wrapped in a call")
    named = [key for key in said if key in _NAMES]
    held = [key for key in said if key in _ARGUMENTS]
    if len(said) == 2 and named and held:
        return _unwrap_named_call(shape, said[named[0]], said[held[0]], known, notes)
    if len(said) != 1 or not (_is_wrapper(said) or (held and len(outer) == 1)):
        return None
    (inner,) = said.values()
    return _CallShape(shape.name, inner, notes)


def _is_wrapper(said: dict[str, Any]) -> bool:
    return any(key in _WRAPPERS and not isinstance(value, str) for key, value in said.items())


def _unwrap_named_call(
    shape: _CallShape, name: Any, arguments: Any, known: Mapping[str, dict[str, Any]], notes: tuple[str, ...]
) -> _CallShape | None:
    """Unwrap a call inside a call. Where both name a tool, and not the same one, it is ambiguous."""
    inner = match_name(name, known) if isinstance(name, str) else None
    outer = match_name(shape.name, known)
    if inner is None or outer not in (None, inner):
        return None
    return _CallShape(inner, {} if arguments is None else arguments, notes)


def _has_own_argument(arguments: dict[str, Any], schema: dict[str, Any] | None) -> bool:
    """Return whether any of these is an argument that the tool itself has."""
    properties = as_object((schema or {}).get("properties")) or {}
    return any(key in properties for key in arguments)


def _parse_object(text: str) -> dict[str, Any] | None:
    return as_object(_parse_json(text)) if text.lstrip().startswith("{") else None


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
