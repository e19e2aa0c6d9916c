"""OpenAPI schemas as JSON Schema for requests: read-only properties are left out, and old keywords become new ones.

References stay references, to names in `defs`; `tool_schemas` turns them into what a model sees.
"""

import re
from typing import Any

from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty

LEFT_OUT = "x-left-out"  # properties that were left out, for merging with a schema that requires them
_TYPES = frozenset(("string", "integer", "number", "boolean", "null", "array", "object"))
_NUMBERS = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_UNCHANGED = ("enum", "const", "default", "pattern", "format", "uniqueItems", "contentEncoding", "contentMediaType")
_ONE = ("items", "additionalProperties", "not", "additionalItems", "if", "then", "else", "contains", "propertyNames")
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")


class SchemaConverter:
    """The schemas of one document, converted on first use."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._document = document
        self._names: dict[str, str] = {}  # by reference
        self.defs: dict[str, Any] = {}

    def converted(self, schema: Any) -> Any:
        """Return a schema as JSON Schema; `{"$ref": "#/$defs/name"}` where it refers to another one."""
        if isinstance(schema, bool):
            return schema
        found = object_or_empty(schema)
        if "$ref" in found:
            return self._convert_reference(found)
        out = self._keywords(found)
        self._put_types(found, out)
        self._put_bounds(found, out)
        self._put_choice(found, out)
        return out

    def _keywords(self, schema: JsonObject) -> JsonObject:
        out: JsonObject = {}
        if text_or_empty(schema.get("description")):
            out["description"] = schema["description"]
        for keyword in _UNCHANGED:
            if keyword in schema:
                out[keyword] = schema[keyword]
        for keyword in _ONE:
            if isinstance(schema.get(keyword), dict | bool):
                out[keyword] = self.converted(schema[keyword])
        for keyword in _SEVERAL:
            if list_or_empty(schema.get(keyword)):
                out[keyword] = [self.converted(branch) for branch in list_or_empty(schema[keyword])]
        self._put_fields(schema, out)
        return out

    def _put_fields(self, schema: JsonObject, out: JsonObject) -> None:
        """Add the properties that a request may have."""
        properties = object_or_empty(schema.get("properties"))
        left_out = [name for name, part in properties.items() if self._is_read_only(part)]
        if properties:
            out["properties"] = {name: self.converted(part) for name, part in properties.items() if name not in left_out}
        if left_out:
            out[LEFT_OUT] = left_out
        required = [name for name in list_or_empty(schema.get("required")) if isinstance(name, str) and name not in left_out]
        if required:
            out["required"] = required
        patterns = object_or_empty(schema.get("patternProperties"))
        if patterns:
            out["patternProperties"] = {pattern: self.converted(part) for pattern, part in patterns.items()}

    def _is_read_only(self, schema: Any) -> bool:
        """Return whether only a server may set it."""
        found = self._document.followed(schema)
        parts = [found, *[self._document.followed(branch) for branch in list_or_empty(found.get("allOf"))]]
        return any(part.get("readOnly") is True for part in parts)

    def _put_types(self, schema: JsonObject, out: JsonObject) -> None:
        named = schema.get("type")
        types = [name for name in (list_or_empty(named) or [named]) if isinstance(name, str) and name in _TYPES]
        if self._document.old and types and schema.get("nullable") is True:
            types.append("null")
        if types:
            out["type"] = types[0] if len(types) == 1 else types
        elif "properties" in out and not any(keyword in out for keyword in _SEVERAL):
            out["type"] = "object"

    def _put_bounds(self, schema: JsonObject, out: JsonObject) -> None:
        for keyword in _NUMBERS:
            if _is_number(schema.get(keyword)):
                out[keyword] = schema[keyword]
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.title()}"
            if schema.get(exclusive) is True and bound in out:  # as 3.0 says it
                out[exclusive] = out.pop(bound)
            elif _is_number(schema.get(exclusive)):
                out[exclusive] = schema[exclusive]

    def _put_choice(self, schema: JsonObject, out: JsonObject) -> None:
        """Convert a discriminator: each branch then requires its own value."""
        told = object_or_empty(schema.get("discriminator"))
        name = text_or_empty(told.get("propertyName"))
        keyword = "oneOf" if "oneOf" in out else "anyOf"
        if not name or keyword not in out:
            return
        mapping = {key: text_or_empty(to) for key, to in object_or_empty(told.get("mapping")).items()}
        branches = zip(list_or_empty(schema[keyword]), out[keyword], strict=True)
        out[keyword] = [self._require_value(name, mapping, object_or_empty(branch), made) for branch, made in branches]

    def _require_value(self, name: str, mapping: dict[str, str], branch: JsonObject, made: Any) -> Any:
        own = text_or_empty(branch.get("$ref"))
        if not own:
            return made
        short = own.rpartition("/")[2]
        values = [key for key, to in mapping.items() if to in (own, short)] or [short]
        asked = {"type": "object", "properties": {name: {"type": "string", "enum": values}}, "required": [name]}
        return {"allOf": [made, asked]}

    def _convert_reference(self, schema: JsonObject) -> JsonObject:
        reference = text_or_empty(schema["$ref"])
        if reference not in self._names:
            self._names[reference] = name = self._name_reference(reference)
            self.defs[name] = True  # until it is converted: it may contain itself
            found = self._document.find(reference)
            self.defs[name] = True if found is None else self.converted(found)
        out: JsonObject = {"$ref": f"#/$defs/{self._names[reference]}"}
        if self._document.old:  # where only words may stand beside a reference, and those by custom
            return {**out, "description": schema["description"]} if text_or_empty(schema.get("description")) else out
        return {**self.converted({key: value for key, value in schema.items() if key != "$ref"}), **out}

    def _name_reference(self, reference: str) -> str:
        name = base = _INVALID_CHARACTERS.sub("_", reference.rpartition("/")[2]).strip("_") or "schema"
        number = 1
        while name in self.defs:
            number += 1
            name = f"{base}_{number}"
        return name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
