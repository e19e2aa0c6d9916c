"""YAML with the core schema of version 1.2: `no` and dates are strings, keys are strings. Only JSON values come out.

PyYAML parses; the nodes are interpreted here. A text whose aliases would make it grow without bounds is refused.
"""

import re
from functools import cache
from typing import Any

from treadle.core.errors import SettingsError

MAX_VALUES = 5_000_000  # once every alias is written out
_TAG = "tag:yaml.org,2002:"
_PLAIN = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    ("float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")),
    ("merge", re.compile(r"<<")),  # of version 1.1, but too common to do without
)
_MAX_NUMBER = 300


class InvalidYaml(SettingsError):
    """A text that is no YAML, or too large."""


def read_yaml(text: str) -> Any:
    """Parse a text. Needs `pip install 'treadle[openapi]'`."""
    yaml = _import_yaml()
    try:
        node = yaml.compose(text, Loader=_make_loader())
        if node is None:
            return None
        if _count_values(node, {}) > MAX_VALUES:
            raise InvalidYaml(f"Its aliases stand for more than {MAX_VALUES} values.")
        return _build_value(node, {})
    except yaml.YAMLError as error:
        raise InvalidYaml(_describe_error(error)) from None
    except RecursionError:
        raise InvalidYaml("It is nested too deeply.") from None


def find_item_lines(text: str, key: str) -> list[int]:
    """Return the line of each item of the list under a key of the document, from 1 on; for messages about one of them."""
    node = _import_yaml().compose(text, Loader=_make_loader())
    pairs: list[Any] = node.value if getattr(node, "id", "") == "mapping" else []
    return [
        item.start_mark.line + 1 for name, inner in pairs if name.value == key and inner.id == "sequence" for item in inner.value
    ]


def _import_yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise SettingsError("Documents in YAML need the package PyYAML: pip install 'treadle[openapi]'") from error
    return yaml


@cache
def _make_loader() -> Any:
    yaml = _import_yaml()

    class Core(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # without the C library it is slow, not wrong
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML looks for it on the class

    for kind, pattern in _PLAIN:
        Core.add_implicit_resolver(_TAG + kind, re.compile(rf"(?:{pattern.pattern})\Z"), None)
    return Core


def _describe_error(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or type(error).__name__
    return f"{problem}, line {mark.line + 1}." if mark else f"{problem}."


def _count_values(node: Any, sizes: dict[int, int]) -> int:
    """Count the values of a node with every alias expanded. One that contains itself is refused."""
    found = sizes.get(id(node))
    if found is not None:
        if found < 0:
            raise InvalidYaml("One of its aliases contains itself.")
        return found
    sizes[id(node)] = -1
    sizes[id(node)] = size = 1 + sum([_count_values(part, sizes) for part in _child_nodes(node)])
    return size


def _child_nodes(node: Any) -> list[Any]:
    match node.id:
        case "mapping":
            return [part for pair in node.value for part in pair]
        case "sequence":
            return node.value
        case _:
            return []


def _build_value(node: Any, made: dict[int, Any]) -> Any:
    """Return the value of a node; the same object wherever an alias refers to it."""
    if id(node) not in made:
        match node.id:
            case "mapping":
                made[id(node)] = _build_mapping(node, made)
            case "sequence":
                made[id(node)] = [_build_value(item, made) for item in node.value]
            case _:
                made[id(node)] = _build_scalar(node.tag.removeprefix(_TAG), node.value)
    return made[id(node)]


def _build_mapping(node: Any, made: dict[int, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, inner in node.value:
        if key.tag == _TAG + "merge":
            for part in inner.value if inner.id == "sequence" else [inner]:
                found = _build_value(part, made)
                merged = {**found, **merged} if part.id == "mapping" else merged
        elif key.id == "scalar":
            own[key.value] = _build_value(inner, made)
        else:
            raise InvalidYaml(f"A key in line {key.start_mark.line + 1} is no text.")
    return {**merged, **own}


def _build_scalar(kind: str, text: str) -> Any:
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if len(text) < _MAX_NUMBER:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        case "float" if len(text) < _MAX_NUMBER:
            return float(text)
        case _:
            return text
