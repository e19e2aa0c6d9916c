"""Fields of a request's body by path: which of them a server's message names, and where they are.

The parts of a path are separated by dots: a name, `*` for each item of a list or each value of an object, `*[user]` for those
of them with that type or role, and `**` for everything beneath, at any depth. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

FieldPath = tuple[str, ...]

REQUIRED_FIELDS = frozenset(
    ("model", "messages", "input", "contents", "tools", "instructions", "system", "systemInstruction", "toolConfig")
)
_NAMES = frozenset(("properties", "$defs", "definitions", "patternProperties"))  # objects whose keys are the schema's own names
_DATA = frozenset(("input", "arguments", "args", "response", "json"))  # what calls and results carry
# What a message, a block or a tool isn't one without.
_SHAPE = frozenset(
    (
        *("role", "content", "parts", "type", "description", "properties", "items", "parameters"),
        *("function", "tool_calls", "functionDeclarations", "functionCall", "functionResponse"),
        *("toolSpec", "inputSchema", "toolUse", "toolResult"),
        *("image", "image_url", "input_image", "audio", "input_audio", "video", "document", "file", "input_file"),
        *("source", "inlineData", "fileData", "data", "bytes", "url"),
    )
)
_ESSENTIAL = _SHAPE | {"text", "name", "id", "arguments", "output", "input", "call_id", "tool_call_id", "toolUseId", "tool_use_id"}


def find_field(named: str, sent: dict[str, Any], *, any_field: bool = False) -> str:
    """Return the path under which a field that a server names was sent; empty if it wasn't.

    A field that every request needs is found only with `any_field`.
    """
    parts = [part for part in re.split(r"[.\[\]/#\s]|->", named.strip("`'\". ")) if part and part != "body"]
    wanted = [_normalize_name(part) for part in parts if not part.isdecimal()]
    if not wanted:
        return ""
    fitting = [
        path
        for path in dict.fromkeys(_walk_paths(sent, ()))
        if _matches_path([_normalize_name(each) for each in path if each != "*"], wanted)
    ]
    if fitting:
        path = (min if len(wanted) == 1 else max)(fitting, key=len)
        kinds = _element_kinds(path, parts)
        return _format_path(path, kinds) if any_field or _is_optional(path, kinds) else ""
    first = next((name for name in sent if len(wanted) > 1 and _normalize_name(name) == wanted[0]), "")
    return "" if first in REQUIRED_FIELDS else first


def find_value(value: str, sent: dict[str, Any]) -> str:
    """Return the path of the one option that was sent with a value; empty if there isn't exactly one."""
    flat = {name: inner for name, inner in sent.items() if name not in REQUIRED_FIELDS}
    found = [path for path in dict.fromkeys(_walk_paths(flat, ())) if "*" not in path and value_at(flat, ".".join(path)) == value]
    return ".".join(found[0]) if len(found) == 1 else ""


def value_at(sent: dict[str, Any], path: str) -> Any:
    """Return what was sent under a path without `*`; None if nothing was."""
    here: Any = sent
    for name in path.split("."):
        here = cast("dict[str, Any]", here).get(name) if isinstance(here, dict) else None
    return here


def find_places(sent: dict[str, Any], path: str) -> list[tuple[dict[str, Any], str]]:
    """Return the objects that a path leads into, each with the last name of the path."""
    *steps, last = path.split(".")
    here: list[Any] = [sent]
    for step in steps:
        here = [inner for each in here for inner in _follow_step(each, step)]
    return [(cast("dict[str, Any]", each), last) for each in here if isinstance(each, dict)]


def _walk_paths(value: Any, before: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _walk_paths(each, (*before, "*"))
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            path = (*before, name)
            yield path
            if name in _NAMES and isinstance(inner, dict):
                for each in cast("dict[str, Any]", inner).values():
                    yield from _walk_paths(each, (*path, "*"))
            elif name not in _DATA or not before:
                yield from _walk_paths(inner, path)


def _matches_path(path: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether a path is the one that a server names.

    By its last name, by all of it, or with the server's words in between.
    """
    if len(wanted) == 1:
        return wanted[0] in (path[-1], "".join(path))
    rest = iter(wanted)
    return path[-1] == wanted[-1] and all(part in rest for part in path)


def _format_path(path: FieldPath, kinds: Sequence[str]) -> str:
    """Return a path as it is stored: with the kinds of elements that the server names, and schemas as a whole."""
    if any(name in _NAMES for name in path):
        return f"{path[0]}.**.{path[-1]}"
    return ".".join([f"*[{kind}]" if kind else part for part, kind in zip(path, kinds, strict=True)])


def _is_optional(path: FieldPath, kinds: Sequence[str]) -> bool:
    """Return whether a request works without a field. A field may be unexpected in one kind of block and required in another."""
    if "*" not in path:
        return path[-1] not in REQUIRED_FIELDS or len(path) > 1
    told_apart = kinds[-2] != "" if path[-2] == "*" else path[-1] == "id"
    return path[-1] not in _ESSENTIAL or (told_apart and path[-1] not in _SHAPE)


def _element_kinds(path: FieldPath, parts: Sequence[str]) -> list[str]:
    """Return for each part of a path the word that a server puts after its index: `user` in `messages.0.user.name`."""
    kinds = [""] * len(path)
    stars = [place for place, part in enumerate(path) if part == "*"]
    numbers = [place for place, part in enumerate(parts) if part.isdecimal()]
    for star, number in zip(stars, numbers, strict=False):
        word = parts[number + 1] if number + 1 < len(parts) else ""
        following = path[star + 1] if star + 1 < len(path) else ""
        kinds[star] = "" if _normalize_name(word) == _normalize_name(following) or word.isdecimal() else word
    return kinds


def _follow_step(value: Any, step: str) -> Iterator[Any]:
    if step == "**":
        yield from _nested_objects(value)
    elif step.startswith("*"):
        kind = step[2:-1]
        yield from (each for each in _list_elements(value) if not kind or _is_kind(each, kind))
    elif isinstance(value, dict) and step in value:
        yield value[step]


def _list_elements(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _is_kind(value: Any, kind: str) -> bool:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return kind in (fields.get("type"), fields.get("role"))


def _nested_objects(value: Any) -> Iterator[Any]:
    """Yield all objects inside of a value and itself, but not those whose keys are names: a property may have any name."""
    if isinstance(value, dict):
        yield value
    for name, inner in _list_entries(value):
        for each in _list_elements(inner) if name in _NAMES and isinstance(inner, dict) else [inner]:
            yield from _nested_objects(each)


def _list_entries(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).items())
    return [("", each) for each in _list_elements(value)]


def _normalize_name(name: str) -> str:
    """Return a name without its case and separators: `topK`, `top_k` and `top-k` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
