"""Responses for the model: data as JSON, trimmed to the documented schema; and errors as a sentence or a problem.

Secrets that a server repeats are masked. Its error messages are quoted unless it is trusted.

Trimming leaves out undocumented fields and write-only ones. Where the document describes nothing, or something other than the
response, the value stays as it is.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.errors import ToolProblem
from treadle.guard.known_secrets import KnownSecrets
from treadle.http_guard.client import GuardedResponse
from treadle.http_guard.origins import parse_target
from treadle.http_guard.problems import MAYBE_DONE
from treadle.toolsets.openapi.bodies import is_json_type
from treadle.toolsets.openapi.document import (
    JsonObject,
    OpenApiDocument,
    list_or_empty,
    object_or_empty,
    strip_markup,
    text_or_empty,
    truncate_plain_text,
)


def trim_to_schema(value: Any, schema: Any, document: OpenApiDocument) -> Any:
    """Return the documented part of a value."""
    if isinstance(value, list):
        items = _find_part(schema, "items", document)
        return (
            [trim_to_schema(each, items, document) for each in list_or_empty(value)] if items is not None else list_or_empty(value)
        )
    if not isinstance(value, dict):
        return value
    found = object_or_empty(value)
    fields = _find_fields(schema, found, document, 0)
    if fields is None:
        return found
    kept = {name: trim_to_schema(inner, fields[name], document) for name, inner in found.items() if name in fields}
    shown = {name: inner for name, inner in kept.items() if document.dereference(fields[name]).get("writeOnly") is not True}
    return shown if kept or not found else found


def _find_part(schema: Any, keyword: str, document: OpenApiDocument) -> Any:
    """Return what a schema, or a part of it that may apply, has under a keyword."""
    found = document.dereference(schema)
    if keyword in found:
        return found[keyword]
    for branch in (*list_or_empty(found.get("allOf")), *list_or_empty(found.get("oneOf")), *list_or_empty(found.get("anyOf"))):
        inner = document.dereference(branch)
        if keyword in inner:
            return inner[keyword]
    return None


def _find_fields(schema: Any, value: JsonObject, document: OpenApiDocument, depth: int) -> JsonObject | None:
    """Return the schemas of the fields that an object may have; None where it may have any."""
    found = document.dereference(schema)
    if depth > 20 or not found:
        return None
    fields = dict(object_or_empty(found.get("properties")))
    for branch in list_or_empty(found.get("allOf")):
        inner = _find_fields(branch, value, document, depth + 1)
        if inner is None and _is_about_fields(branch, document):
            return None
        fields |= inner or {}
    for keyword in ("oneOf", "anyOf"):
        branches = list_or_empty(found.get(keyword))
        several = [_find_fields(branch, value, document, depth + 1) for branch in _find_matching(branches, found, value, document)]
        if any(inner is None for inner in several):
            return None
        for inner in several:
            fields |= inner or {}
    others = found.get("additionalProperties", False)
    if others is True or (not fields and others is False) or "patternProperties" in found:
        return None
    return fields if others is False else {**dict.fromkeys(value, others), **fields}


def _is_about_fields(branch: Any, document: OpenApiDocument) -> bool:
    """Return whether a branch is about fields at all, rather than only a description or a list of required fields."""
    return bool(set(document.dereference(branch)) - {"description", "required", "type", "title", "nullable", "example"})


def _find_matching(branches: list[Any], schema: JsonObject, value: JsonObject, document: OpenApiDocument) -> list[Any]:
    """Return the branches that may apply: the one that a discriminator names, else those whose required fields are present."""
    objects = [
        branch for branch in branches if document.dereference(branch).get("type", "object") in ("object", ["object", "null"])
    ]
    told = object_or_empty(schema.get("discriminator"))
    named = text_or_empty(value.get(text_or_empty(told.get("propertyName"))))
    if named:
        to = text_or_empty(object_or_empty(told.get("mapping")).get(named, named)).rpartition("/")[2]
        chosen = [branch for branch in objects if text_or_empty(object_or_empty(branch).get("$ref")).rpartition("/")[2] == to]
        if chosen:
            return chosen
    fitting = [branch for branch in objects if set(list_or_empty(document.dereference(branch).get("required"))) <= set(value)]
    return fitting or objects


MAX_TEXT = 1_000_000  # characters of a text; the engine shows less, and keeps the whole
MAX_PROBLEM = 1_500
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_TEXT = ("text/", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/graphql")
_HINTS = {
    401: "The person isn't signed in, or no longer: tell them to sign in again.",
    403: "The person isn't allowed to do this: tell them.",
    404: "Check the names and ids in the call.",
    409: "It clashes with how things are now: look at that first.",
    429: "There were too many calls: wait before the next one.",
}


class ResponseContext(Struct, frozen=True):
    """The call that a response belongs to."""

    name: str
    method: str
    responses: JsonObject
    reads: bool
    trusted: bool
    secrets: tuple[str, ...] = ()


class ParsedResponse(Struct, frozen=True):
    """A successful response: its data, if it is JSON, else its text."""

    value: Any = None
    text: str = ""
    is_data: bool = False


def parse_openapi_response(answer: GuardedResponse, asked: ResponseContext, document: OpenApiDocument) -> ParsedResponse:
    """Parse a successful response; raise a problem for any other."""
    if not 200 <= answer.status < 300:
        raise _status_problem(answer, asked)
    if asked.method == "HEAD":
        return ParsedResponse(text=_format_head(answer))
    if not answer.body:
        return ParsedResponse(text=f"Done: the server answered {answer.status} {_phrase(answer.status)}, with nothing more to say.")
    media = _find_media_type(answer, asked, document)
    if is_json_type(answer.kind) or (not answer.kind and answer.body.lstrip()[:1] in b"{["):
        return ParsedResponse(trim_to_schema(_parse_data(answer, asked), media.get("schema"), document), is_data=True)
    if _is_html(answer) and "schema" not in media:
        raise _make_problem(asked, "the server answered with a web page, not with data", _html_to_text(answer.text))
    if _is_text(answer):
        return ParsedResponse(text=_truncate(answer.text))
    return ParsedResponse(text=f"The answer is {answer.kind or 'of an unknown kind'}, {len(answer.body)} bytes, and isn't shown.")


def mask_caller_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return the text without the caller's secrets."""
    return KnownSecrets(secrets).mask(text)


def _find_media_type(answer: GuardedResponse, asked: ResponseContext, document: OpenApiDocument) -> JsonObject:
    """Return the document's media type object for the status and content type of a response."""
    for status in (str(answer.status), f"{answer.status // 100}XX", f"{answer.status // 100}xx", "default"):
        if status in asked.responses:
            content = object_or_empty(document.dereference(asked.responses[status]).get("content"))
            kinds = {kind.partition(";")[0].strip().lower(): object_or_empty(media) for kind, media in content.items()}
            alike = [media for kind, media in kinds.items() if kind == "*/*" or (is_json_type(kind) and is_json_type(answer.kind))]
            return kinds.get(answer.kind, alike[0] if alike else {})
    return {}


def _parse_data(answer: GuardedResponse, asked: ResponseContext) -> Any:
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError):
        raise _make_problem(asked, "the server said that it answers with JSON, but what came is none", answer.text) from None


def _is_html(answer: GuardedResponse) -> bool:
    start = answer.body[:500].lstrip().lower()
    return answer.kind in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype html", b"<html"))


def _is_text(answer: GuardedResponse) -> bool:
    if answer.kind.startswith(_TEXT) or answer.kind.endswith(("+xml", "+yaml")):
        return True
    looks = answer.body[:2000].decode(errors="replace")[:-4]  # the last letter may be cut in two
    return answer.kind in ("", "application/octet-stream") and not {"\0", "�"} & set(looks)


def _html_to_text(text: str) -> str:
    title = _TITLE.search(text[: MAX_PROBLEM * 10])
    words = strip_markup(title[1]) if title else ""
    return words or strip_markup(text)


def _truncate(text: str) -> str:
    missing = len(text) - MAX_TEXT
    return text if missing <= 0 else f"{text[:MAX_TEXT]}\n[… {missing} more characters]"


def _format_head(answer: GuardedResponse) -> str:
    wanted = ("content-type", "content-length", "last-modified", "etag", "location")
    told = [f"{name}: {answer.headers[name]}" for name in wanted if name in answer.headers]
    return "\n".join([f"{answer.status} {_phrase(answer.status)}", *told])


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


# problems


def _status_problem(answer: GuardedResponse, asked: ResponseContext) -> ToolProblem:
    said = f"{answer.status} {_phrase(answer.status)}".strip()
    if answer.status < 400:
        return _make_problem(asked, f"the server answered {said}{_redirect_origin(answer)}", "")
    words = _html_to_text(answer.text) if _is_html(answer) else answer.text if is_json_type(answer.kind) or _is_text(answer) else ""
    if answer.status >= 500:
        after = "" if asked.reads else MAYBE_DONE
        return _make_problem(asked, f"the server failed ({said}).{after} Try again later, or do without", words)
    wait = (
        f" It asks to wait {answer.headers['retry-after'][:40]} seconds."
        if answer.status == 429 and _has_retry_after(answer)
        else ""
    )
    hint = _HINTS.get(answer.status, "Put the call right.")
    return _make_problem(asked, f"the server refused it ({said}). {hint}{wait}".rstrip("."), words)


def _has_retry_after(answer: GuardedResponse) -> bool:
    return answer.headers.get("retry-after", "").isdecimal()


def _redirect_origin(answer: GuardedResponse) -> str:
    """Return the target of a redirect: its origin, as the rest may contain secrets."""
    leads = parse_target(answer.url).towards(answer.headers.get("location", "")) if "location" in answer.headers else None
    return f" and sends on to {leads.origin}, where this tool doesn't go" if leads else " instead of an answer"


def _make_problem(asked: ResponseContext, what: str, words: str) -> ToolProblem:
    said = mask_caller_secrets(truncate_plain_text(words.strip(), MAX_PROBLEM), asked.secrets)
    own = f"{asked.name} brought nothing: {what}."
    if not said:
        return ToolProblem(own)
    return ToolProblem(f"{own}\nIt says: {said}") if asked.trusted else ToolProblem(f"{own}\nIt says: ", said)
