"""Fields of a request's body by path: which of them a server's words name, and where they are.

The parts of a path are divided by dots: a name, `*` for each of a list or each value of an object, `*[user]` for those of them
whose type or role that is, and `**` for everything beneath, at any depth. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

Path = tuple[str, ...]

KEEP = frozenset(("model", "messages", "input", "contents", "tools", "instructions", "system", "systemInstruction", "toolConfig"))
_NAMES = frozenset(("properties", "$defs", "definitions", "patternProperties"))  # objects whose keys are names of somebody's own
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
    """Return the path under which a field that a server names was sent; empty where it wasn't.

    A field that no request does without is found only where `any_field` is.
    """
    parts = [part for part in re.split(r"[.\[\]/#\s]|->", named.strip("`'\". ")) if part and part != "body"]
    wanted = [_plain(part) for part in parts if not part.isdecimal()]
    if not wanted:
        return ""
    fitting = [path for path in dict.fromkeys(_walk(sent, ())) if _fits([_plain(each) for each in path if each != "*"], wanted)]
    if fitting:
        path = (min if len(wanted) == 1 else max)(fitting, key=len)
        kinds = _kinds(path, parts)
        return _write(path, kinds) if any_field or _spare(path, kinds) else ""
    first = next((name for name in sent if len(wanted) > 1 and _plain(name) == wanted[0]), "")
    return "" if first in KEEP else first


def find_value(value: str, sent: dict[str, Any]) -> str:
    """Return the path of the one option that was sent with a value; empty where it isn't one."""
    flat = {name: inner for name, inner in sent.items() if name not in KEEP}
    found = [path for path in dict.fromkeys(_walk(flat, ())) if "*" not in path and value_at(flat, ".".join(path)) == value]
    return ".".join(found[0]) if len(found) == 1 else ""


def value_at(sent: dict[str, Any], path: str) -> Any:
    """Return what was sent under a path without `*`, None where nothing was."""
    here: Any = sent
    for name in path.split("."):
        here = cast("dict[str, Any]", here).get(name) if isinstance(here, dict) else None
    return here


def find_places(sent: dict[str, Any], path: str) -> list[tuple[dict[str, Any], str]]:
    """Return the objects that a path leads into, each with the last name of it."""
    *steps, last = path.split(".")
    here: list[Any] = [sent]
    for step in steps:
        here = [inner for each in here for inner in _step(each, step)]
    return [(cast("dict[str, Any]", each), last) for each in here if isinstance(each, dict)]


def _walk(value: Any, before: Path) -> Iterator[Path]:
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _walk(each, (*before, "*"))
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            path = (*before, name)
            yield path
            if name in _NAMES and isinstance(inner, dict):
                for each in cast("dict[str, Any]", inner).values():
                    yield from _walk(each, (*path, "*"))
            elif name not in _DATA or not before:
                yield from _walk(inner, path)


def _fits(path: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a path is the one that a server names: by its last name, by all of it, or with words of the server's in between."""
    if len(wanted) == 1:
        return wanted[0] in (path[-1], "".join(path))
    rest = iter(wanted)
    return path[-1] == wanted[-1] and all(part in rest for part in path)


def _write(path: Path, kinds: Sequence[str]) -> str:
    """A path as it is kept: with the kinds of elements that the server names, and schemas meant as a whole."""
    if any(name in _NAMES for name in path):
        return f"{path[0]}.**.{path[-1]}"
    return ".".join([f"*[{kind}]" if kind else part for part, kind in zip(path, kinds, strict=True)])


def _spare(path: Path, kinds: Sequence[str]) -> bool:
    """Whether a request can do without a field. A block of one kind may have too much what another can't do without."""
    if "*" not in path:
        return path[-1] not in KEEP or len(path) > 1
    told_apart = kinds[-2] != "" if path[-2] == "*" else path[-1] == "id"
    return path[-1] not in _ESSENTIAL or (told_apart and path[-1] not in _SHAPE)


def _kinds(path: Path, parts: Sequence[str]) -> list[str]:
    """For each part of a path the word that a server puts behind its number: `user` in `messages.0.user.name`."""
    kinds = [""] * len(path)
    stars = [place for place, part in enumerate(path) if part == "*"]
    numbers = [place for place, part in enumerate(parts) if part.isdecimal()]
    for star, number in zip(stars, numbers, strict=False):
        word = parts[number + 1] if number + 1 < len(parts) else ""
        following = path[star + 1] if star + 1 < len(path) else ""
        kinds[star] = "" if _plain(word) == _plain(following) or word.isdecimal() else word
    return kinds


def _step(value: Any, step: str) -> Iterator[Any]:
    if step == "**":
        yield from _beneath(value)
    elif step.startswith("*"):
        kind = step[2:-1]
        yield from (each for each in _elements(value) if not kind or _is_kind(each, kind))
    elif isinstance(value, dict) and step in value:
        yield value[step]


def _elements(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _is_kind(value: Any, kind: str) -> bool:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return kind in (fields.get("type"), fields.get("role"))


def _beneath(value: Any) -> Iterator[Any]:
    """All objects inside of a value and itself, but not those whose keys are names: a property may be called like anything."""
    if isinstance(value, dict):
        yield value
    for name, inner in _entries(value):
        for each in _elements(inner) if name in _NAMES and isinstance(inner, dict) else [inner]:
            yield from _beneath(each)


def _entries(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).items())
    return [("", each) for each in _elements(value)]


def _plain(name: str) -> str:
    """A name without the ways of writing it: `topK`, `top_k` and `top-k` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
