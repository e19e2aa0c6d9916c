"""What a server answered, for the model: data as JSON, cut to what is described; and every other answer as a sentence or a problem.

Secrets that a server repeats are masked. What it says about an error is a quote unless it is trusted.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.errors import ToolProblem
from treadle.guard.known import Known
from treadle.toolsets.openapi.bodies import is_json
from treadle.toolsets.openapi.document import Document, Object, as_object
from treadle.toolsets.openapi.trimming import trimmed
from treadle.toolsets.openapi.wording import plain, shortened
from treadle.toolsets.outbound.answer import Answer
from treadle.toolsets.outbound.origins import target
from treadle.toolsets.outbound.problems import PERHAPS

LONGEST = 1_000_000  # characters of a text; the engine shows less, and keeps the whole
LONGEST_PROBLEM = 1_500
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_TEXT = ("text/", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/graphql")
_HINTS = {
    401: "The person isn't signed in, or no longer: tell them to sign in again.",
    403: "The person isn't allowed to do this: tell them.",
    404: "Check the names and ids in the call.",
    409: "It clashes with how things are now: look at that first.",
    429: "There were too many calls: wait before the next one.",
}


class Asked(Struct, frozen=True):
    """What an answer is an answer to."""

    name: str
    method: str
    responses: Object
    reads: bool
    trusted: bool
    secrets: tuple[str, ...] = ()


class Read(Struct, frozen=True):
    """A good answer: its data, if it is JSON, else its text."""

    value: Any = None
    text: str = ""
    is_data: bool = False


def read(answer: Answer, asked: Asked, document: Document) -> Read:
    """What a good answer says; a problem for any other."""
    if not 200 <= answer.status < 300:
        raise _refused(answer, asked)
    if asked.method == "HEAD":
        return Read(text=_head(answer))
    if not answer.body:
        return Read(text=f"Done: the server answered {answer.status} {_phrase(answer.status)}, with nothing more to say.")
    media = _media(answer, asked, document)
    if is_json(answer.kind) or (not answer.kind and answer.body.lstrip()[:1] in b"{["):
        return Read(trimmed(_data(answer, asked), media.get("schema"), document), is_data=True)
    if _is_page(answer) and "schema" not in media:
        raise _problem(asked, "the server answered with a web page, not with data", _page(answer.text))
    if _is_text(answer):
        return Read(text=_bounded(answer.text))
    return Read(text=f"The answer is {answer.kind or 'of an unknown kind'}, {len(answer.body)} bytes, and isn't shown.")


def masked(text: str, secrets: Iterable[str]) -> str:
    """Text without the secrets of whoever called."""
    return Known(secrets).mask(text)


def _media(answer: Answer, asked: Asked, document: Document) -> Object:
    """What the document says of an answer of this status and kind."""
    for status in (str(answer.status), f"{answer.status // 100}XX", f"{answer.status // 100}xx", "default"):
        if status in asked.responses:
            content = as_object(document.followed(asked.responses[status]).get("content"))
            kinds = {kind.partition(";")[0].strip().lower(): as_object(media) for kind, media in content.items()}
            alike = [media for kind, media in kinds.items() if kind == "*/*" or (is_json(kind) and is_json(answer.kind))]
            return kinds.get(answer.kind, alike[0] if alike else {})
    return {}


def _data(answer: Answer, asked: Asked) -> Any:
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError):
        raise _problem(asked, "the server said that it answers with JSON, but what came is none", answer.text) from None


def _is_page(answer: Answer) -> bool:
    start = answer.body[:500].lstrip().lower()
    return answer.kind in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype html", b"<html"))


def _is_text(answer: Answer) -> bool:
    if answer.kind.startswith(_TEXT) or answer.kind.endswith(("+xml", "+yaml")):
        return True
    looks = answer.body[:2000].decode(errors="replace")[:-4]  # the last letter may be cut in two
    return answer.kind in ("", "application/octet-stream") and not {"\0", "�"} & set(looks)


def _page(text: str) -> str:
    title = _TITLE.search(text[: LONGEST_PROBLEM * 10])
    words = plain(title[1]) if title else ""
    return words or plain(text)


def _bounded(text: str) -> str:
    missing = len(text) - LONGEST
    return text if missing <= 0 else f"{text[:LONGEST]}\n[… {missing} more characters]"


def _head(answer: Answer) -> str:
    wanted = ("content-type", "content-length", "last-modified", "etag", "location")
    told = [f"{name}: {answer.headers[name]}" for name in wanted if name in answer.headers]
    return "\n".join([f"{answer.status} {_phrase(answer.status)}", *told])


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


# problems


def _refused(answer: Answer, asked: Asked) -> ToolProblem:
    said = f"{answer.status} {_phrase(answer.status)}".strip()
    if answer.status < 400:
        return _problem(asked, f"the server answered {said}{_elsewhere(answer)}", "")
    words = _page(answer.text) if _is_page(answer) else answer.text if is_json(answer.kind) or _is_text(answer) else ""
    if answer.status >= 500:
        after = "" if asked.reads else PERHAPS
        return _problem(asked, f"the server failed ({said}).{after} Try again later, or do without", words)
    wait = f" It asks to wait {answer.headers['retry-after'][:40]} seconds." if answer.status == 429 and _wait(answer) else ""
    hint = _HINTS.get(answer.status, "Put the call right.")
    return _problem(asked, f"the server refused it ({said}). {hint}{wait}".rstrip("."), words)


def _wait(answer: Answer) -> bool:
    return answer.headers.get("retry-after", "").isdecimal()


def _elsewhere(answer: Answer) -> str:
    """Where a redirect leads: its origin, as the rest may hold secrets."""
    leads = target(answer.url).towards(answer.headers.get("location", "")) if "location" in answer.headers else None
    return f" and sends on to {leads.origin}, where this tool doesn't go" if leads else " instead of an answer"


def _problem(asked: Asked, what: str, words: str) -> ToolProblem:
    said = masked(shortened(words.strip(), LONGEST_PROBLEM), asked.secrets)
    own = f"{asked.name} brought nothing: {what}."
    if not said:
        return ToolProblem(own)
    return ToolProblem(f"{own}\nIt says: {said}") if asked.trusted else ToolProblem(f"{own}\nIt says: ", said)
