"""The body of a request: which of the kinds that a document names is sent, and how arguments become its bytes.

An object whose fields have names of their own is given field by field; everything else is given as one argument.
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
from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text
from treadle.toolsets.openapi.parameters import fit_name
from treadle.toolsets.openapi.schemas import LEFT_OUT, Schemas
from treadle.toolsets.openapi.shaping import opened
from treadle.toolsets.openapi.styles import empty, in_query, text_of

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_BYTES = "Text; or bytes, as data:;base64,… with the bytes in Base64."
_DATA = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_PLAIN_OBJECT = frozenset(("type", "properties", "required", "description", "additionalProperties", "default", LEFT_OUT))


class Encoding(Struct, frozen=True):
    """How one field of a form is written; `style` is empty where the document doesn't say."""

    style: str = ""
    explode: bool = True
    kind: str = ""
    binary: bool = False


class Body(Struct, frozen=True):
    """The body of an operation. `argument` is what it is given as, empty where its `fields` are given one by one."""

    kind: str
    required: bool
    schema: Any
    argument: str = ""
    fields: tuple[str, ...] = ()
    encodings: dict[str, Encoding] = {}

    @property
    def is_json(self) -> bool:
        """Whether it is sent as JSON."""
        return is_json(self.kind)


def is_json(kind: str) -> bool:
    """Whether a content type is JSON, or a kind of it."""
    plain = kind.partition(";")[0].strip().lower()
    return plain in ("application/json", "text/json") or plain.endswith("+json")


def body_of(document: Document, schemas: Schemas, operation: Object, taken: Collection[str]) -> Body | None:
    """The body of an operation, if it has one. `taken` are the names that arguments have already."""
    told = document.followed(operation.get("requestBody"))
    content = as_object(told.get("content"))
    if not content:
        return None
    kind = min(content, key=_preference)  # of equals the first
    media = as_object(content[kind])
    schema = schemas.converted(media.get("schema", {}))
    outer = as_object(opened(schema, schemas.defs)[0])
    required = told.get("required") is True
    if _says_nothing(outer) and not required:
        return None
    if kind == "*/*":
        kind = "text/plain" if outer.get("type") == "string" else "application/json"
    encodings = _encodings(document, media, outer) if kind in (FORM, MULTIPART) else {}
    if not is_json(kind) and kind not in (FORM, MULTIPART):
        words = as_text(told.get("description")) or f"The body, as {kind}."
        schema = {"type": "string", "description": f"{words} {_BYTES if _is_binary(kind) else ''}".strip()}
    if _can_be_flat(kind, outer, taken, required=required):
        return Body(kind, required, _with_words(outer, encodings), fields=tuple(outer["properties"]), encodings=encodings)
    argument = "body" if "body" not in taken else "request_body"
    described = schema if as_text(as_object(schema).get("description")) or not told.get("description") else _under(schema, told)
    return Body(kind, required, described, argument=argument, encodings=encodings)


def _says_nothing(outer: Object) -> bool:
    """Whether a body could only be an empty object."""
    return outer.get("type") == "object" and not outer.get("properties") and outer.get("additionalProperties") is False


def _under(schema: Any, told: Object) -> Any:
    return {**as_object(schema), "description": as_text(told["description"])}


def _preference(kind: str) -> int:
    plain = kind.partition(";")[0].strip().lower()
    exact = ("application/json", "application/merge-patch+json")
    if plain in exact:
        return exact.index(plain)
    return 2 + next(at for at, known in enumerate(("+json", "*/*", FORM, MULTIPART, "text/", "yaml", "")) if known in plain)


def _is_binary(kind: str) -> bool:
    return not (kind.startswith("text/") or "yaml" in kind or "xml" in kind)


def _can_be_flat(kind: str, outer: Object, taken: Collection[str], *, required: bool) -> bool:
    """Whether the fields can be arguments: an object of exactly these, whose names are free and can be written."""
    names = as_object(outer.get("properties"))
    if not (is_json(kind) or kind in (FORM, MULTIPART)) or not names or outer.get("type") != "object":
        return False
    if set(outer) - _PLAIN_OBJECT or outer.get("additionalProperties", False) is not False:
        return False
    if not required and outer.get("required"):
        return False
    return all(name not in taken and fit_name(name) == name for name in names) and set(outer.get("required", ())) <= set(names)


def _encodings(document: Document, media: Object, outer: Object) -> dict[str, Encoding]:
    told = as_object(media.get("encoding"))
    raw = as_object(document.followed(media.get("schema")).get("properties"))
    fields = as_object(outer.get("properties"))
    return {name: _encoding(as_object(told.get(name)), document.followed(raw.get(name))) for name in fields}


def _encoding(told: Object, schema: Object) -> Encoding:
    style = as_text(told.get("style")) or ("form" if "explode" in told else "")
    explode = told.get("explode")
    items = as_object(schema.get("items"))
    formats = (schema.get("format"), items.get("format"))
    return Encoding(
        style,
        explode if isinstance(explode, bool) else style in ("", "form"),
        as_text(told.get("contentType")).partition(",")[0].strip(),
        "binary" in formats or "contentMediaType" in schema,
    )


def _with_words(outer: Object, encodings: Mapping[str, Encoding]) -> Object:
    """The fields; those that are files say how they are given."""
    fields = {
        name: {**as_object(part), "description": f"{as_text(as_object(part).get('description'))} {_BYTES}".strip()}
        if name in encodings and encodings[name].binary
        else part
        for name, part in outer["properties"].items()
    }
    return {**outer, "properties": fields}


# from arguments to bytes


def encode(body: Body, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """The content type and the bytes; None where there is nothing to send."""
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
        return FORM, _form(body, as_object(value)).encode()
    if body.kind == MULTIPART:
        return _multipart(body, as_object(value))
    return body.kind, as_bytes(text_of(value)) if _is_binary(body.kind) else text_of(value).encode()


def as_bytes(text: str) -> bytes:
    """What a model gives as a file: text as it is, or bytes in a `data:` address."""
    head = _DATA.match(text)
    if head is None:
        return text.encode()
    try:
        return a2b_base64(text[head.end() :], strict_mode=True)
    except (NotBase64, ValueError):
        raise ToolProblem("What follows `base64,` is no Base64. Give text as it is, or the bytes in Base64.") from None


def _form(body: Body, value: Object) -> str:
    pairs: list[tuple[str, str]] = []
    for name, inner in value.items():
        how = body.encodings.get(name, Encoding())
        if how.style:
            pairs += in_query(name, inner, how.style, explode=how.explode)
        elif inner == []:
            raise empty(name)
        elif isinstance(inner, list):
            pairs += [(quote(name, safe=""), quote(text_of(each), safe="")) for each in cast("list[Any]", inner)]
        else:
            pairs.append((quote(name, safe=""), quote(text_of(inner), safe="")))
    return "&".join([f"{key}={each}" for key, each in pairs])


def _multipart(body: Body, value: Object) -> tuple[str, bytes]:
    parts = [
        _part(name, each, body.encodings.get(name, Encoding()))
        for name, inner in value.items()
        for each in (as_list(inner) if isinstance(inner, list) else [inner])
    ]
    boundary = token_hex(16)
    while any(boundary.encode() in part for part in parts):  # pragma: no cover - chance has to be against us
        boundary = token_hex(16)
    joined = b"".join([b"--%b\r\n%b\r\n" % (boundary.encode(), part) for part in parts])
    return f"{MULTIPART}; boundary={boundary}", joined + f"--{boundary}--\r\n".encode()


def _part(name: str, value: Any, how: Encoding) -> bytes:
    own = name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    file = f'; filename="{own}"' if how.binary else ""
    kind = how.kind or ("application/octet-stream" if how.binary else "application/json" if isinstance(value, dict) else "")
    head = f'Content-Disposition: form-data; name="{own}"{file}\r\n' + (f"Content-Type: {kind}\r\n" if kind else "")
    return head.encode() + b"\r\n" + (as_bytes(text_of(value)) if how.binary else text_of(value).encode())
