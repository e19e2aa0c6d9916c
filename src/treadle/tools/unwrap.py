"""Calls of a wrong shape that have exactly one reading: wrapped in a list or a call, encoded twice, name and arguments swapped.

It moves things to where they belong and changes no value. Whether the arguments then fit is `validate`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle.tools.accept import Scope
from treadle.tools.names import canonical
from treadle.tools.values import as_list, as_object

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs")
_WRAPPERS = ("function", "function_call", "tool_call", "tool_calls", "call")
_BESIDE = frozenset(("id", "call_id", "tool_call_id", "type", "index"))  # may stand beside a call and says nothing
_MOST = 5  # wrappings of wrappings


class Unwrapped(Struct, frozen=True):
    """A call with everything in its place, and what was put right, in words."""

    name: str
    arguments: dict[str, Any]
    what: str


class _Shape(Struct, frozen=True):
    """A call on the way to its right shape."""

    name: str
    arguments: Any
    notes: tuple[str, ...] = ()


def unwrap(name: str, arguments: Any, known: Mapping[str, dict[str, Any]]) -> Unwrapped | None:
    """The call that was meant, where there is one reading; None where there is nothing to put right, or no certain way to."""
    if name in known and Scope.of_arguments(known[name]).accepts(arguments):
        return None
    shape = _Shape(canonical(name, known) or name, arguments)
    for _ in range(_MOST):
        better = _put_right(shape, known)
        if better is None:
            break
        shape = better
    inner = as_object(shape.arguments)
    if not shape.notes or inner is None or shape.name not in known:
        return None
    return Unwrapped(shape.name, inner, "; ".join(shape.notes))


def _put_right(shape: _Shape, known: Mapping[str, dict[str, Any]]) -> _Shape | None:
    for repair in (_swapped, _decoded, _out_of_list, _out_of_call):
        better = repair(shape, known)
        if better is not None:
            return better
    return None


def _swapped(shape: _Shape, known: Mapping[str, dict[str, Any]]) -> _Shape | None:
    """The arguments stand where the name belongs."""
    written = _json_object(shape.name)
    if written is None:
        return None
    if isinstance(shape.arguments, str) and (name := canonical(shape.arguments, known)) is not None:
        return _Shape(name, written, (*shape.notes, "name and arguments were swapped"))
    if shape.arguments in (None, "", "{}", {}):
        return _Shape("", written, (*shape.notes, "the whole call stood in place of the name"))
    return None


def _decoded(shape: _Shape, _: Mapping[str, dict[str, Any]]) -> _Shape | None:
    """The arguments are text that holds JSON."""
    if not isinstance(shape.arguments, str):
        return None
    value = _json(shape.arguments)
    if not isinstance(value, dict | list | str):
        return None
    return _Shape(shape.name, value, (*shape.notes, "the arguments were encoded twice"))


def _out_of_list(shape: _Shape, _: Mapping[str, dict[str, Any]]) -> _Shape | None:
    items = as_list(shape.arguments)
    if items is None or len(items) != 1 or not isinstance(items[0], dict):
        return None
    return _Shape(shape.name, items[0], (*shape.notes, "the call was wrapped in a list"))


def _out_of_call(shape: _Shape, known: Mapping[str, dict[str, Any]]) -> _Shape | None:
    """The arguments are a whole call, or hold nothing but the arguments."""
    outer = as_object(shape.arguments)
    if outer is None or _belongs(outer, known.get(shape.name)):
        return None
    said = {key: value for key, value in outer.items() if key not in _BESIDE}
    notes = (*shape.notes, "the arguments were wrapped in a call")
    named = [key for key in said if key in _NAMES]
    held = [key for key in said if key in _ARGUMENTS]
    if len(said) == 2 and named and held:
        return _named(shape, said[named[0]], said[held[0]], known, notes)
    if len(said) != 1 or not (_is_wrapper(said) or (held and len(outer) == 1)):
        return None
    (inner,) = said.values()
    return _Shape(shape.name, inner, notes)


def _is_wrapper(said: dict[str, Any]) -> bool:
    return any(key in _WRAPPERS and not isinstance(value, str) for key, value in said.items())


def _named(shape: _Shape, name: Any, arguments: Any, known: Mapping[str, dict[str, Any]], notes: tuple[str, ...]) -> _Shape | None:
    """A call inside a call. Where both name a tool, and not the same one, nobody can tell which was meant."""
    inner = canonical(name, known) if isinstance(name, str) else None
    outer = canonical(shape.name, known)
    if inner is None or outer not in (None, inner):
        return None
    return _Shape(inner, {} if arguments is None else arguments, notes)


def _belongs(arguments: dict[str, Any], schema: dict[str, Any] | None) -> bool:
    """Whether any of these is an argument that the tool itself has."""
    properties = as_object((schema or {}).get("properties")) or {}
    return any(key in properties for key in arguments)


def _json_object(text: str) -> dict[str, Any] | None:
    return as_object(_json(text)) if text.lstrip().startswith("{") else None


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
