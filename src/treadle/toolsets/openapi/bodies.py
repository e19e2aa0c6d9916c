"""Request bodies: which of a document's content types is sent, and how arguments become its bytes.

An object with named fields is given field by field; everything else is given as one argument.
"""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Collection, Mapping
from secrets import token_hex
from typing import Any, cast
from urllib.parse import quote

import msgspec
from msgspec import Struct

from treadle.core.errors import ToolProblem
from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty
from treadle.toolsets.openapi.parameters import empty_value_problem, format_query_value, to_argument_name, to_parameter_text
from treadle.toolsets.openapi.schemas import LEFT_OUT, SchemaConverter, resolve_outer

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_BYTES = "Text; or bytes, as data:;base64,… with the bytes in Base64."
_DATA = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_PLAIN_OBJECT = frozenset(("type", "properties", "required", "description", "additionalProperties", "default", LEFT_OUT))


class FieldEncoding(Struct, frozen=True):
    """Encoding of one form field; `style` is empty where the document doesn't give one."""

    style: str = ""
    explode: bool = True
    kind: str = ""
    binary: bool = False


class RequestBody(Struct, frozen=True):
    """The body of an operation. `argument` is the name it is given by, empty where its `fields` are given one by one."""

    kind: str
    required: bool
    schema: Any
    argument: str = ""
    fields: tuple[str, ...] = ()
    encodings: dict[str, FieldEncoding] = {}

    @property
    def is_json(self) -> bool:
        """Whether it is sent as JSON."""
        return is_json_type(self.kind)


def is_json_type(kind: str) -> bool:
    """Return whether a content type is JSON, or a `+json` type."""
    plain = kind.partition(";")[0].strip().lower()
    return plain in ("application/json", "text/json") or plain.endswith("+json")


def parse_request_body(
    document: OpenApiDocument, schemas: SchemaConverter, operation: JsonObject, taken: Collection[str]
) -> RequestBody | None:
    """Parse the body of an operation, if it has one. `taken` are the names of other arguments."""
    told = document.dereference(operation.get("requestBody"))
    content = object_or_empty(told.get("content"))
    if not content:
        return None
    kind = min(content, key=_preference)  # of equals the first
    media = object_or_empty(content[kind])
    schema = schemas.convert(media.get("schema", {}))
    outer = object_or_empty(resolve_outer(schema, schemas.defs)[0])
    required = told.get("required") is True
    if _is_empty_object(outer) and not required:
        return None
    if kind == "*/*":
        kind = "text/plain" if outer.get("type") == "string" else "application/json"
    encodings = _parse_encodings(document, media, outer) if kind in (FORM, MULTIPART) else {}
    if not is_json_type(kind) and kind not in (FORM, MULTIPART):
        words = text_or_empty(told.get("description")) or f"The body, as {kind}."
        schema = {"type": "string", "description": f"{words} {_BYTES if _is_binary(kind) else ''}".strip()}
    if _is_flattenable(kind, outer, taken, required=required):
        return RequestBody(
            kind, required, _describe_files(outer, encodings), fields=tuple(outer["properties"]), encodings=encodings
        )
    argument = "body" if "body" not in taken else "request_body"
    described = (
        schema
        if text_or_empty(object_or_empty(schema).get("description")) or not told.get("description")
        else _add_description(schema, told)
    )
    return RequestBody(kind, required, described, argument=argument, encodings=encodings)


def _is_empty_object(outer: JsonObject) -> bool:
    """Return whether a body could only be an empty object."""
    return outer.get("type") == "object" and not outer.get("properties") and outer.get("additionalProperties") is False


def _add_description(schema: Any, told: JsonObject) -> Any:
    return {**object_or_empty(schema), "description": text_or_empty(told["description"])}


def _preference(kind: str) -> int:
    plain = kind.partition(";")[0].strip().lower()
    exact = ("application/json", "application/merge-patch+json")
    if plain in exact:
        return exact.index(plain)
    return 2 + next(at for at, known in enumerate(("+json", "*/*", FORM, MULTIPART, "text/", "yaml", "")) if known in plain)


def _is_binary(kind: str) -> bool:
    return not (kind.startswith("text/") or "yaml" in kind or "xml" in kind)


def _is_flattenable(kind: str, outer: JsonObject, taken: Collection[str], *, required: bool) -> bool:
    """Return whether the fields can be arguments: an object of exactly these, whose names are free and valid."""
    names = object_or_empty(outer.get("properties"))
    if not (is_json_type(kind) or kind in (FORM, MULTIPART)) or not names or outer.get("type") != "object":
        return False
    if set(outer) - _PLAIN_OBJECT or outer.get("additionalProperties", False) is not False:
        return False
    if not required and outer.get("required"):
        return False
    return all(name not in taken and to_argument_name(name) == name for name in names) and set(outer.get("required", ())) <= set(
        names
    )


def _parse_encodings(document: OpenApiDocument, media: JsonObject, outer: JsonObject) -> dict[str, FieldEncoding]:
    told = object_or_empty(media.get("encoding"))
    raw = object_or_empty(document.dereference(media.get("schema")).get("properties"))
    fields = object_or_empty(outer.get("properties"))
    return {name: _parse_encoding(object_or_empty(told.get(name)), document.dereference(raw.get(name))) for name in fields}


def _parse_encoding(told: JsonObject, schema: JsonObject) -> FieldEncoding:
    style = text_or_empty(told.get("style")) or ("form" if "explode" in told else "")
    explode = told.get("explode")
    items = object_or_empty(schema.get("items"))
    formats = (schema.get("format"), items.get("format"))
    return FieldEncoding(
        style,
        explode if isinstance(explode, bool) else style in ("", "form"),
        text_or_empty(told.get("contentType")).partition(",")[0].strip(),
        "binary" in formats or "contentMediaType" in schema,
    )


def _describe_files(outer: JsonObject, encodings: Mapping[str, FieldEncoding]) -> JsonObject:
    """Return the fields; descriptions of files say how they are given."""
    fields = {
        name: {
            **object_or_empty(part),
            "description": f"{text_or_empty(object_or_empty(part).get('description'))} {_BYTES}".strip(),
        }
        if name in encodings and encodings[name].binary
        else part
        for name, part in outer["properties"].items()
    }
    return {**outer, "properties": fields}


# from arguments to bytes


def encode_body(body: RequestBody, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return the content type and the bytes; None where there is nothing to send."""
    if body.argument:
        if body.argument not in arguments:
            return None
        value = arguments[body.argument]
    else:
        value = {name: arguments[name] for name in body.fields if name in arguments}
        if not value and not body.required:
            return None
    if body.is_json:
        return body.kind, msgspec.json.encode(value)
    if body.kind == FORM:
        return FORM, _encode_form(body, object_or_empty(value)).encode()
    if body.kind == MULTIPART:
        return _encode_multipart(body, object_or_empty(value))
    return body.kind, decode_file(to_parameter_text(value)) if _is_binary(body.kind) else to_parameter_text(value).encode()


def decode_file(text: str) -> bytes:
    """Decode a file given by the model: text as it is, or bytes in a `data:` URL."""
    head = _DATA.match(text)
    if head is None:
        return text.encode()
    try:
        return a2b_base64(text[head.end() :], strict_mode=True)
    except (NotBase64, ValueError):
        raise ToolProblem("What follows `base64,` is no Base64. Give text as it is, or the bytes in Base64.") from None


def _encode_form(body: RequestBody, value: JsonObject) -> str:
    pairs: list[tuple[str, str]] = []
    for name, inner in value.items():
        how = body.encodings.get(name, FieldEncoding())
        if how.style:
            pairs += format_query_value(name, inner, how.style, explode=how.explode)
        elif inner == []:
            raise empty_value_problem(name)
        elif isinstance(inner, list):
            pairs += [(quote(name, safe=""), quote(to_parameter_text(each), safe="")) for each in cast("list[Any]", inner)]
        else:
            pairs.append((quote(name, safe=""), quote(to_parameter_text(inner), safe="")))
    return "&".join([f"{key}={each}" for key, each in pairs])


def _encode_multipart(body: RequestBody, value: JsonObject) -> tuple[str, bytes]:
    parts = [
        _encode_part(name, each, body.encodings.get(name, FieldEncoding()))
        for name, inner in value.items()
        for each in (list_or_empty(inner) if isinstance(inner, list) else [inner])
    ]
    boundary = token_hex(16)
    while any(boundary.encode() in part for part in parts):  # pragma: no cover - chance has to be against us
        boundary = token_hex(16)
    joined = b"".join([b"--%b\r\n%b\r\n" % (boundary.encode(), part) for part in parts])
    return f"{MULTIPART}; boundary={boundary}", joined + f"--{boundary}--\r\n".encode()


def _encode_part(name: str, value: Any, how: FieldEncoding) -> bytes:
    own = name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    file = f'; filename="{own}"' if how.binary else ""
    kind = how.kind or ("application/octet-stream" if how.binary else "application/json" if isinstance(value, dict) else "")
    head = f'Content-Disposition: form-data; name="{own}"{file}\r\n' + (f"Content-Type: {kind}\r\n" if kind else "")
    return head.encode() + b"\r\n" + (decode_file(to_parameter_text(value)) if how.binary else to_parameter_text(value).encode())
