"""From the cases' way of describing functions to JSON schemas, and to names that every server takes. Pure."""

from typing import Any

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}  # `any` is a string to the checker too
_FOREIGN = frozenset(["optional"])  # said in some cases, and no part of JSON schema


def json_schema(described: Any) -> Any:
    """The JSON schema of a described parameter, or of all parameters."""
    if not isinstance(described, dict):
        return described
    return {key: _field(key, value) for key, value in described.items() if key not in _FOREIGN}


def _field(key: str, value: Any) -> Any:
    match key, value:
        case "type", str():
            return _TYPES.get(value, value)
        case "properties", dict():
            return {name: json_schema(each) for name, each in value.items()}
        case (("items" | "additionalProperties"), dict()):
            return json_schema(value)
        case _:
            return value


def safe_name(name: str) -> str:
    """The name as the chat completions allow it: `math.gcd` is `math_gcd` to every route."""
    return name.replace(".", "_")
