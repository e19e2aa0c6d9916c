"""An answer cut down to what the document describes: other fields are left out, and those that are only for requests. Pure.

Where the document describes nothing, or something else than what came, the value stays as it is.
"""

from typing import Any

from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text


def trimmed(value: Any, schema: Any, document: Document) -> Any:
    """The described part of a value."""
    if isinstance(value, list):
        items = _part(schema, "items", document)
        return [trimmed(each, items, document) for each in as_list(value)] if items is not None else as_list(value)
    if not isinstance(value, dict):
        return value
    found = as_object(value)
    fields = _fields(schema, found, document, 0)
    if fields is None:
        return found
    kept = {name: trimmed(inner, fields[name], document) for name, inner in found.items() if name in fields}
    shown = {name: inner for name, inner in kept.items() if document.followed(fields[name]).get("writeOnly") is not True}
    return shown if kept or not found else found


def _part(schema: Any, keyword: str, document: Document) -> Any:
    """What a schema, or a part of it that may apply, says under a keyword."""
    found = document.followed(schema)
    if keyword in found:
        return found[keyword]
    for branch in (*as_list(found.get("allOf")), *as_list(found.get("oneOf")), *as_list(found.get("anyOf"))):
        inner = document.followed(branch)
        if keyword in inner:
            return inner[keyword]
    return None


def _fields(schema: Any, value: Object, document: Document, depth: int) -> Object | None:
    """The schemas of the fields that an object may have; None where it may have any."""
    found = document.followed(schema)
    if depth > 20 or not found:
        return None
    fields = dict(as_object(found.get("properties")))
    for branch in as_list(found.get("allOf")):
        inner = _fields(branch, value, document, depth + 1)
        if inner is None and _says_something(branch, document):
            return None
        fields |= inner or {}
    for keyword in ("oneOf", "anyOf"):
        branches = as_list(found.get(keyword))
        several = [_fields(branch, value, document, depth + 1) for branch in _fitting(branches, found, value, document)]
        if any(inner is None for inner in several):
            return None
        for inner in several:
            fields |= inner or {}
    others = found.get("additionalProperties", False)
    if others is True or (not fields and others is False) or "patternProperties" in found:
        return None
    return fields if others is False else {**dict.fromkeys(value, others), **fields}


def _says_something(branch: Any, document: Document) -> bool:
    """Whether a branch is about fields at all, rather than words or a list of those required."""
    return bool(set(document.followed(branch)) - {"description", "required", "type", "title", "nullable", "example"})


def _fitting(branches: list[Any], schema: Object, value: Object, document: Document) -> list[Any]:
    """The branches that may be meant: the one that a discriminator names, else those whose required fields are there."""
    objects = [branch for branch in branches if document.followed(branch).get("type", "object") in ("object", ["object", "null"])]
    told = as_object(schema.get("discriminator"))
    named = as_text(value.get(as_text(told.get("propertyName"))))
    if named:
        to = as_text(as_object(told.get("mapping")).get(named, named)).rpartition("/")[2]
        chosen = [branch for branch in objects if as_text(as_object(branch).get("$ref")).rpartition("/")[2] == to]
        if chosen:
            return chosen
    fitting = [branch for branch in objects if set(as_list(document.followed(branch).get("required"))) <= set(value)]
    return fitting or objects
