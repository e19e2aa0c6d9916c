"""Schemas of OpenAPI as JSON Schema for requests: what only a server may set is left out, and old spellings become new ones.

References stay references, to names in `defs`; `shaping` makes of it what a model is told.
"""

import re
from typing import Any

from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text

LEFT_OUT = "x-left-out"  # properties that were left out, for whoever merges their schema with one that requires them
_TYPES = frozenset(("string", "integer", "number", "boolean", "null", "array", "object"))
_NUMBERS = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_AS_THEY_ARE = ("enum", "const", "default", "pattern", "format", "uniqueItems", "contentEncoding", "contentMediaType")
_ONE = ("items", "additionalProperties", "not", "additionalItems", "if", "then", "else", "contains", "propertyNames")
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


class Schemas:
    """The schemas of one document, converted when they are first needed."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._names: dict[str, str] = {}  # by reference
        self.defs: dict[str, Any] = {}

    def converted(self, schema: Any) -> Any:
        """A schema as JSON Schema; `{"$ref": "#/$defs/name"}` where it refers to another one."""
        if isinstance(schema, bool):
            return schema
        found = as_object(schema)
        if "$ref" in found:
            return self._reference(found)
        out = self._keywords(found)
        self._put_types(found, out)
        self._put_bounds(found, out)
        self._put_choice(found, out)
        return out

    def _keywords(self, schema: Object) -> Object:
        out: Object = {}
        if as_text(schema.get("description")):
            out["description"] = schema["description"]
        for keyword in _AS_THEY_ARE:
            if keyword in schema:
                out[keyword] = schema[keyword]
        for keyword in _ONE:
            if isinstance(schema.get(keyword), dict | bool):
                out[keyword] = self.converted(schema[keyword])
        for keyword in _SEVERAL:
            if as_list(schema.get(keyword)):
                out[keyword] = [self.converted(branch) for branch in as_list(schema[keyword])]
        self._put_fields(schema, out)
        return out

    def _put_fields(self, schema: Object, out: Object) -> None:
        """The properties that a request may have."""
        properties = as_object(schema.get("properties"))
        left_out = [name for name, part in properties.items() if self._is_for_answers(part)]
        if properties:
            out["properties"] = {name: self.converted(part) for name, part in properties.items() if name not in left_out}
        if left_out:
            out[LEFT_OUT] = left_out
        required = [name for name in as_list(schema.get("required")) if isinstance(name, str) and name not in left_out]
        if required:
            out["required"] = required
        patterns = as_object(schema.get("patternProperties"))
        if patterns:
            out["patternProperties"] = {pattern: self.converted(part) for pattern, part in patterns.items()}

    def _is_for_answers(self, schema: Any) -> bool:
        """Whether only a server may set it."""
        found = self._document.followed(schema)
        parts = [found, *[self._document.followed(branch) for branch in as_list(found.get("allOf"))]]
        return any(part.get("readOnly") is True for part in parts)

    def _put_types(self, schema: Object, out: Object) -> None:
        named = schema.get("type")
        types = [name for name in (as_list(named) or [named]) if isinstance(name, str) and name in _TYPES]
        if self._document.old and types and schema.get("nullable") is True:
            types.append("null")
        if types:
            out["type"] = types[0] if len(types) == 1 else types
        elif "properties" in out and not any(keyword in out for keyword in _SEVERAL):
            out["type"] = "object"

    def _put_bounds(self, schema: Object, out: Object) -> None:
        for keyword in _NUMBERS:
            if _is_number(schema.get(keyword)):
                out[keyword] = schema[keyword]
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.title()}"
            if schema.get(exclusive) is True and bound in out:  # as 3.0 says it
                out[exclusive] = out.pop(bound)
            elif _is_number(schema.get(exclusive)):
                out[exclusive] = schema[exclusive]

    def _put_choice(self, schema: Object, out: Object) -> None:
        """A discriminator says which branch is meant: each branch then asks for its own value."""
        told = as_object(schema.get("discriminator"))
        name = as_text(told.get("propertyName"))
        keyword = "oneOf" if "oneOf" in out else "anyOf"
        if not name or keyword not in out:
            return
        mapping = {key: as_text(to) for key, to in as_object(told.get("mapping")).items()}
        branches = zip(as_list(schema[keyword]), out[keyword], strict=True)
        out[keyword] = [self._chosen(name, mapping, as_object(branch), made) for branch, made in branches]

    def _chosen(self, name: str, mapping: dict[str, str], branch: Object, made: Any) -> Any:
        own = as_text(branch.get("$ref"))
        if not own:
            return made
        short = own.rpartition("/")[2]
        values = [key for key, to in mapping.items() if to in (own, short)] or [short]
        asked = {"type": "object", "properties": {name: {"type": "string", "enum": values}}, "required": [name]}
        return {"allOf": [made, asked]}

    def _reference(self, schema: Object) -> Object:
        reference = as_text(schema["$ref"])
        if reference not in self._names:
            self._names[reference] = name = self._name(reference)
            self.defs[name] = True  # until it is converted: it may contain itself
            found = self._document.find(reference)
            self.defs[name] = True if found is None else self.converted(found)
        out: Object = {"$ref": f"#/$defs/{self._names[reference]}"}
        if self._document.old:  # where only words may stand beside a reference, and those by custom
            return {**out, "description": schema["description"]} if as_text(schema.get("description")) else out
        return {**self.converted({key: value for key, value in schema.items() if key != "$ref"}), **out}

    def _name(self, reference: str) -> str:
        name = base = _UNFIT.sub("_", reference.rpartition("/")[2]).strip("_") or "schema"
        number = 1
        while name in self.defs:
            number += 1
            name = f"{base}_{number}"
        return name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
