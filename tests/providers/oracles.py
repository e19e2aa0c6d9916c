"""Requests against official sources: the types of the providers' own SDKs, and botocore's service model. Unknown keys count.

An SDK that isn't installed checks nothing, and `missing` says so. What servers enforce beyond types is in `servers`.
"""

import base64
import binascii
import enum
import re
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

import typing_extensions as extended

missing: dict[str, str] = {}  # SDKs that aren't here, and why nothing was checked by them

_SOURCES = {
    "openai": ("openai.types.chat.completion_create_params", "CompletionCreateParams"),
    "openai-responses": ("openai.types.responses.response_create_params", "ResponseCreateParams"),
    "anthropic": ("anthropic.types.message_create_params", "MessageCreateParams"),
    "anthropic-beta": ("anthropic.types.beta.message_create_params", "MessageCreateParams"),
    "mistral": ("mistralai.client.models", "ChatCompletionRequestTypedDict"),
    "google": ("google.genai.types", ""),
}


def type_of(source: str, name: str = "") -> Any:
    """The type that a source has for requests, or another one of its module; `Any` without a source, or without its SDK."""
    if not source:
        return Any
    module, request = _SOURCES[source]
    return loaded(module, name or request)


def loaded(module: str, name: str) -> Any:
    """What a module has by this name; `Any` where it isn't installed, which `missing` then says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what an SDK's own source is warned about is nothing to us
            return getattr(import_module(module), name)
    except ImportError as error:
        missing[module.partition(".")[0]] = str(error)
        return Any


def is_installed(package: str) -> bool:
    """Whether a package is here, without importing it."""
    top = package.partition(".")[0]
    return find_spec(top) is not None and find_spec(package) is not None


def mismatches(value: Any, kind: Any, at: str = "", *, snake: bool = False) -> list[str]:
    """Why a JSON value isn't of this type. `snake` says that the type's fields are snake_case and the wire's are camelCase."""
    return list(_Walk(snake).value(value, kind, at))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a TypedDict: their types, and whether each is required."""
    fields: dict[str, tuple[Any, bool]] = {}
    for name, hint in extended.get_type_hints(kind, include_extras=True).items():
        mark = get_origin(hint)
        required = mark in (Required, extended.Required)
        optional = mark in (NotRequired, extended.NotRequired)
        inner = get_args(hint)[0] if required or optional else hint
        fields[_ALIASES.get(name, name)] = inner, required or (not optional and name in kind.__required_keys__)
    return fields


_ALIASES = {"schema_definition": "schema"}  # what the SDK of Mistral calls it, and what it sends


class _Walk:
    def __init__(self, snake: bool) -> None:
        self._key: Callable[[str], str] = _snake if snake else str

    def value(self, value: Any, kind: Any, at: str) -> Iterable[str]:
        origin = get_origin(kind)
        if hasattr(kind, "__value__"):  # a named alias
            return self.value(value, kind.__value__[get_args(kind)] if get_args(kind) else kind.__value__, at)
        if origin in (Annotated, Required, NotRequired, extended.Required, extended.NotRequired):
            return self.value(value, get_args(kind)[0], at)
        if origin in (Union, types.UnionType):
            return self._union(value, get_args(kind), at)
        if origin in (Literal, extended.Literal):
            return () if any(value is given or value == given for given in get_args(kind)) else [_no(at, value, get_args(kind))]
        if extended.is_typeddict(kind):
            return self._object(value, kind, at)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(value, get_args(kind), at)
        if origin is not None:  # lists, by whichever name
            return self._list(value, get_args(kind), at)
        return _scalar(value, kind, at)

    def _union(self, value: Any, kinds: Sequence[Any], at: str) -> Iterable[str]:
        found = [list(self.value(value, kind, at)) for kind in kinds]
        return min(found, key=lambda problems: (sum(": must be" in line for line in problems), len(problems)))

    def _object(self, value: Any, kind: Any, at: str) -> Iterable[str]:
        if not isinstance(value, dict):
            return [f"{at}: must be an object ({kind.__name__})"]
        fields = _fields(kind)
        given = {self._key(name): (name, item) for name, item in value.items()}
        lax = getattr(kind, "__pydantic_config__", {}).get("extra") == "allow"
        found = [
            f"{at}.{name}: extra inputs are not permitted" for key, (name, _) in given.items() if key not in fields and not lax
        ]
        found += [f"{at}.{name}: field required" for name, (_, required) in fields.items() if required and name not in given]
        for key, (name, item) in given.items():
            if key in fields:
                found += self.value(item, fields[key][0], f"{at}.{name}")
        return found

    def _mapping(self, value: Any, args: Sequence[Any], at: str) -> Iterable[str]:
        if not isinstance(value, dict):
            return [f"{at}: must be an object"]
        return [line for name, item in value.items() for line in self.value(item, args[1] if args else Any, f"{at}.{name}")]

    def _list(self, value: Any, args: Sequence[Any], at: str) -> Iterable[str]:
        if not isinstance(value, list):
            return [f"{at}: must be a list"]
        return [line for index, item in enumerate(value) for line in self.value(item, args[0] if args else Any, f"{at}.{index}")]


def _scalar(value: Any, kind: Any, at: str) -> Iterable[str]:
    if kind in (Any, object) or (kind in (None, type(None)) and value is None):
        return ()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        known = {str(member.value).lower() for member in kind}
        return () if str(value).lower() in known else [_no(at, value, sorted(known))]
    if kind is bytes:
        return () if isinstance(value, str) and _is_base64(value) else [f"{at}: must be base64"]
    if kind is float:
        kind = int | float
    fits = kind in (str, int, bool, int | float) and isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return () if fits else [f"{at}: must be {getattr(kind, '__name__', kind)}"]


def _no(at: str, value: Any, known: Iterable[Any]) -> str:
    return f"{at}: must be one of {', '.join(map(repr, known))}, not {value!r}"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        return False
    return True


@cache
def _shapes() -> dict[str, Any]:
    try:
        from botocore.loaders import Loader
    except ImportError as error:
        missing["botocore"] = str(error)
        return {}
    return Loader().load_service_model("bedrock-runtime", "service-2")["shapes"]


def shape_mismatches(value: Any, name: str, at: str = "") -> list[str]:
    """Why a JSON body isn't of this shape of bedrock-runtime."""
    shape = _shapes().get(name)
    if shape is None or shape.get("document"):
        return []
    return list(_SHAPES.get(shape["type"], _shape_scalar)(value, shape, at))


def _structure(value: Any, shape: Any, at: str) -> Iterable[str]:
    if not isinstance(value, dict):
        return [f"{at}: must be an object"]
    members = {member: of for member, of in shape["members"].items() if of.get("location") not in ("uri", "header", "querystring")}
    found = [f"{at}.{member}: extra inputs are not permitted" for member in value if member not in members]
    found += [f"{at}.{member}: field required" for member in shape.get("required", ()) if member in members and member not in value]
    if shape.get("union") and len(value) != 1:
        found.append(f"{at}: exactly one member must be set, not {sorted(value)}")
    for member in value.keys() & members.keys():
        found += shape_mismatches(value[member], members[member]["shape"], f"{at}.{member}")
    return found


def _sequence(value: Any, shape: Any, at: str) -> Iterable[str]:
    if not isinstance(value, list):
        return [f"{at}: must be a list"]
    of = shape["member"]["shape"]
    short = [f"{at}: has fewer than {shape['min']} members"] if len(value) < shape.get("min", 0) else []
    return [*short, *(line for index, item in enumerate(value) for line in shape_mismatches(item, of, f"{at}.{index}"))]


def _map(value: Any, shape: Any, at: str) -> Iterable[str]:
    if not isinstance(value, dict):
        return [f"{at}: must be an object"]
    return [line for key, item in value.items() for line in shape_mismatches(item, shape["value"]["shape"], f"{at}.{key}")]


def _shape_text(value: Any, shape: Any, at: str) -> Iterable[str]:
    if not isinstance(value, str):
        return [f"{at}: must be a string"]
    if "enum" in shape and value not in shape["enum"]:
        return [_no(at, value, shape["enum"])]
    if len(value) < shape.get("min", 0) or len(value) > shape.get("max", 1 << 30):
        return [f"{at}: its length is {len(value)}, which isn't between {shape.get('min', 0)} and {shape.get('max')}"]
    pattern = shape.get("pattern")
    return () if pattern is None or re.fullmatch(pattern, value, re.DOTALL) else [f"{at}: {value[:80]!r} doesn't match {pattern}"]


def _shape_scalar(value: Any, shape: Any, at: str) -> Iterable[str]:
    kinds: dict[str, Any] = {"boolean": bool, "integer": int, "long": int, "float": int | float, "double": int | float, "blob": str}
    kind = kinds.get(shape["type"], object)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        return [f"{at}: must be a {shape['type']}"]
    return [] if shape["type"] != "blob" or _is_base64(value) else [f"{at}: must be base64"]


_SHAPES: dict[str, Callable[[Any, Any, str], Iterable[str]]] = {
    "structure": _structure,
    "list": _sequence,
    "map": _map,
    "string": _shape_text,
}
