"""YAML as the core schema of its version 1.2 has it: `no` and dates are text, keys are text. Only what JSON could hold comes out.

PyYAML parses; what the nodes mean is decided here. A text whose aliases would make it grow without bounds is refused.
"""

import re
from functools import cache
from typing import Any

from treadle.core.errors import SettingsError

MOST_VALUES = 5_000_000  # once every alias is written out
_TAG = "tag:yaml.org,2002:"
_PLAIN = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    ("float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")),
    ("merge", re.compile(r"<<")),  # of version 1.1, but too common to do without
)
_LONGEST_NUMBER = 300


class Unreadable(SettingsError):
    """A text that is no YAML, or too much of it."""


def read_yaml(text: str) -> Any:
    """The value of a text. Needs `pip install 'treadle[openapi]'`."""
    yaml = _yaml()
    try:
        node = yaml.compose(text, Loader=_loader())
        if node is None:
            return None
        if _size(node, {}) > MOST_VALUES:
            raise Unreadable(f"Its aliases stand for more than {MOST_VALUES} values.")
        return _value(node, {})
    except yaml.YAMLError as error:
        raise Unreadable(_words(error)) from None
    except RecursionError:
        raise Unreadable("It is nested too deeply.") from None


def _yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise SettingsError("Documents in YAML need the package PyYAML: pip install 'treadle[openapi]'") from error
    return yaml


@cache
def _loader() -> Any:
    yaml = _yaml()

    class Core(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # without the C library it is slow, not wrong
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML looks for it on the class

    for kind, pattern in _PLAIN:
        Core.add_implicit_resolver(_TAG + kind, re.compile(rf"(?:{pattern.pattern})\Z"), None)
    return Core


def _words(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or type(error).__name__
    return f"{problem}, line {mark.line + 1}." if mark else f"{problem}."


def _size(node: Any, sizes: dict[int, int]) -> int:
    """How many values a node stands for, with every alias written out. One that contains itself is refused."""
    found = sizes.get(id(node))
    if found is not None:
        if found < 0:
            raise Unreadable("One of its aliases contains itself.")
        return found
    sizes[id(node)] = -1
    sizes[id(node)] = size = 1 + sum([_size(part, sizes) for part in _parts(node)])
    return size


def _parts(node: Any) -> list[Any]:
    match node.id:
        case "mapping":
            return [part for pair in node.value for part in pair]
        case "sequence":
            return node.value
        case _:
            return []


def _value(node: Any, made: dict[int, Any]) -> Any:
    """The value of a node; the same one wherever an alias stands for it."""
    if id(node) not in made:
        match node.id:
            case "mapping":
                made[id(node)] = _mapping(node, made)
            case "sequence":
                made[id(node)] = [_value(item, made) for item in node.value]
            case _:
                made[id(node)] = _scalar(node.tag.removeprefix(_TAG), node.value)
    return made[id(node)]


def _mapping(node: Any, made: dict[int, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, inner in node.value:
        if key.tag == _TAG + "merge":
            for part in inner.value if inner.id == "sequence" else [inner]:
                found = _value(part, made)
                merged = {**found, **merged} if part.id == "mapping" else merged
        elif key.id == "scalar":
            own[key.value] = _value(inner, made)
        else:
            raise Unreadable(f"A key in line {key.start_mark.line + 1} is no text.")
    return {**merged, **own}


def _scalar(kind: str, text: str) -> Any:
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if len(text) < _LONGEST_NUMBER:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        case "float" if len(text) < _LONGEST_NUMBER:
            return float(text)
        case _:
            return text
