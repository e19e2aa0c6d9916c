"""Schemas of tools: whether they are JSON schemas at all, and what OpenAI's strict mode refuses. Knows no wire."""

import re
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def schema_problems(name: str, schema: Any) -> list[str]:
    """Why parameters can't be read as a JSON schema with every reference in it."""
    if schema is None:
        return []
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, _WrappedReferencingError

    try:
        Draft202012Validator.check_schema(schema)
        list(Draft202012Validator(schema).iter_errors({key: {} for key in schema.get("properties", {})}))
    except SchemaError as error:
        return [f"the schema of {name} is no JSON schema: {error.message}"]
    except _WrappedReferencingError as error:
        return [f"the schema of {name} has a reference to nowhere: {error}"]
    return []


def fits(schema: Any, value: Any) -> bool:
    """Whether a value fits a JSON schema."""
    from jsonschema import Draft202012Validator

    return schema is None or Draft202012Validator(schema).is_valid(value)


def function_rules(function: Any, *, strict: bool) -> Iterator[str]:
    """The name of a function, and its schema where it asks to be held to it and the server is `strict` about that."""
    if not NAME.fullmatch(function["name"]):
        yield f"the name {function['name']!r} of a tool doesn't match ^[a-zA-Z0-9_-]{{1,64}}$"
    schema = function.get("parameters")
    if schema is not None and schema.get("type") != "object":
        yield f"the schema of {function['name']} must be of type object"
    if strict and schema is not None:
        yield from (f"Invalid schema for function '{function['name']}': {line}" for line in _plain_problems(schema))
    if strict and function.get("strict"):
        for line in strict_problems(schema or {}):
            yield f"Invalid schema for function '{function['name']}': {line}"


def _plain_problems(schema: Any) -> Iterator[str]:
    """What OpenAI refuses in any schema of a function: langchain#39271, opencode#35516."""
    if {"oneOf", "anyOf", "allOf", "enum", "not"} & schema.keys() or "properties" not in schema:
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
    for name, inner in schema.get("properties", {}).items():
        if isinstance(inner, dict) and inner.get("type") == "array" and "items" not in inner:
            yield f"In context=('properties', '{name}'), array schema missing items"


def strict_problems(schema: Any, at: str = "") -> Iterator[str]:
    """What OpenAI refuses in a schema with `strict`."""
    if isinstance(schema, list):
        for item in schema:
            yield from strict_problems(item, at)
    if not isinstance(schema, dict):
        return
    for word in ("allOf", "not", "if", "then", "else", "oneOf", "default", "patternProperties", "dependentRequired"):
        if word in schema:
            yield f"'{word}' is not permitted (at {at or 'root'})"
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        if schema.get("additionalProperties") is not False:
            yield f"'additionalProperties' is required to be supplied and to be false (at {at or 'root'})"
        if set(schema.get("required", ())) != set(properties or ()):
            yield f"'required' is required to list every key in properties (at {at or 'root'})"
    for name, inner in {**(properties or {}), **schema.get("$defs", {})}.items():
        yield from strict_problems(inner, f"{at}.{name}")
    for word in ("items", "anyOf"):
        yield from strict_problems(schema.get(word), at)
