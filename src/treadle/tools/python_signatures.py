"""Tools as Python functions with types, for a model that writes programs which call them. Pure.

Names that Python doesn't take are changed: `docs-read` is called as `docs_read`, a parameter `from` as `from_`.
"""

import keyword
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.core.requests import ToolSpec

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DEEPEST = 6  # levels of a type that are written out
_MOST_CHOICES = 12


class PythonFunction(Struct, frozen=True):
    """A tool as a function: the tool's name, its parameters by their names in Python, required ones first, and its text.

    `text` declares it as asynchronous. `keys` are those of objects in its result, as far as they are known. `reads` says that it
    changes nothing.
    """

    tool: str
    parameters: dict[str, str]
    text: str
    keys: frozenset[str] = frozenset()
    reads: bool = False

    @property
    def plain_text(self) -> str:
        """The signature for a program that doesn't await its calls. A small model fills in the body of what begins with `def`."""
        return self.text.removeprefix("async def ")


def write_functions(
    specs: Iterable[ToolSpec], returns: Mapping[str, Mapping[str, Any]], read_only: Container[str] = ()
) -> dict[str, PythonFunction]:
    """Return tools as functions, by their names in Python.

    `returns` has the schemas of results that are known, `read_only` the tools that change nothing.
    """
    functions: dict[str, PythonFunction] = {}
    for spec in specs:
        name = _free_name(spec.name, functions)
        functions[name] = _write_function(name, spec, returns.get(spec.name), reads=spec.name in read_only)
    return functions


def to_identifier(name: str) -> str:
    """Return a name that Python takes."""
    plain = re.sub(r"\W", "_", name) or "_"
    if plain[0].isdigit():
        plain = f"_{plain}"
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    plain = to_identifier(name)
    while plain in taken:
        plain += "_"
    return plain


def _write_function(name: str, spec: ToolSpec, returns: Mapping[str, Any] | None, *, reads: bool) -> PythonFunction:
    schema = spec.parameters
    properties = cast("dict[str, Any]", schema.get("properties") or {})
    required = cast("list[str]", schema.get("required") or [])
    parameters: dict[str, str] = {}
    written: list[str] = []
    for each in sorted(properties, key=lambda key: key not in required):
        alias = _free_name(each, parameters)
        parameters[alias] = each
        written.append(_write_parameter(alias, properties[each], schema, is_required=each in required))
    result = "Any" if returns is None else _write_type(returns, returns)
    head = f"async def {name}({', '.join(written)}) -> {result}"
    text = "\n".join([head, *_write_docstring(spec, parameters, properties)])
    return PythonFunction(spec.name, parameters, text, frozenset(_find_keys(returns)), reads)


def _find_keys(schema: Any) -> Iterator[str]:
    match schema:
        case Mapping():
            known = cast("Mapping[str, Any]", schema)
            yield from _as_mapping(known.get("properties"))
            for each in known.values():
                yield from _find_keys(each)
        case list():
            for each in cast("list[Any]", schema):
                yield from _find_keys(each)
        case _:
            pass


def _write_parameter(name: str, schema: Any, whole: Mapping[str, Any], *, is_required: bool) -> str:
    text = f"{name}: {_write_type(schema, whole)}"
    if is_required:
        return text
    default = _as_mapping(schema).get("default")
    return f"{text} = {default!r}" if isinstance(default, str | int | float | bool | None) else f"{text} = ..."


def _write_docstring(spec: ToolSpec, parameters: Mapping[str, str], properties: Mapping[str, Any]) -> list[str]:
    lines = spec.description.strip().splitlines()
    for alias, name in parameters.items():
        told = _as_mapping(properties[name]).get("description")
        if told:
            lines.append(f"{alias}: {' '.join(str(told).split())}")
    return [f"    # {line}" if line else "    #" for line in lines]


def _as_mapping(schema: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {}


def _write_type(schema: Any, whole: Mapping[str, Any], depth: int = 0) -> str:
    """Return a JSON schema as a type. What Python has no type for is `Any`."""
    known = _as_mapping(schema)
    if depth > _DEEPEST:
        return "Any"
    if "$ref" in known:
        definitions = _as_mapping(whole.get("$defs"))
        return _write_type(definitions.get(str(known["$ref"]).rpartition("/")[2]), whole, depth + 1)
    choices: Sequence[Any] | None = [known["const"]] if "const" in known else known.get("enum")
    if choices is not None and 0 < len(choices) <= _MOST_CHOICES:
        return f"Literal[{', '.join(map(repr, choices))}]"
    options = known.get("anyOf") or known.get("oneOf")
    if options:
        return _join([_write_type(option, whole, depth + 1) for option in options])
    kind = known.get("type")
    if isinstance(kind, list):
        return _join([_write_type({**known, "type": each}, whole, depth + 1) for each in cast("list[str]", kind)])
    if kind == "array":
        return f"list[{_write_type(known.get('items'), whole, depth + 1)}]"
    if kind == "object":
        return _write_object(known, whole, depth)
    return _SIMPLE.get(str(kind), "Any")


def _write_object(known: Mapping[str, Any], whole: Mapping[str, Any], depth: int) -> str:
    fields = _as_mapping(known.get("properties"))
    if not fields:
        return f"dict[str, {_write_type(known.get('additionalProperties'), whole, depth + 1)}]"
    written = [f"{name!r}: {_write_type(each, whole, depth + 1)}" for name, each in fields.items()]
    return f"{{{', '.join(written)}}}"


def _join(types: Iterable[str]) -> str:
    unique = list(dict.fromkeys(types))
    return "Any" if "Any" in unique or not unique else " | ".join(unique)
