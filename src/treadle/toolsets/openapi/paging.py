"""Pagination: which operations have pages, and where the next page is. Pure; `caller` fetches.

In order of certainty: a `Link` header, a URL or a cursor in the response, the last item where the response says that there
are more, and a page number or an offset.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from treadle.http_guard.client import GuardedResponse
from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty
from treadle.toolsets.openapi.parameters import OpenApiParameter

MAX_PAGES = 10
ARGUMENT = "pages"
SCHEMA: JsonObject = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_PAGES,
    "description": f"How many pages of the list to fetch and join, up to {MAX_PAGES}; one unless you say otherwise.",
}

_NUMBERS = frozenset(("page", "pagenumber", "pagenum", "pageno"))
_OFFSETS = frozenset(("offset", "skip", "startat", "start", "startindex"))
_CURSORS = ("cursor", "pagetoken", "nexttoken", "continue", "marker", "nextcursor", "continuationtoken")
_CURSORS_AFTER = ("after", "startingafter", "pageafter", "sinceid")
_SIZES = ("limit", "perpage", "pagesize", "maxresults", "count")
_NEXT = frozenset(("next", "nextpage", "nexturl", "nextpageurl", "nextlink", "odatanextlink", "nextpageuri"))
_NEXT_CURSOR = frozenset(("nextcursor", "nextpagetoken", "nexttoken", "continue"))
_PERHAPS_CURSOR = frozenset(("cursor", "after"))
_WITHIN = frozenset(("links", "paging", "pagination", "meta", "metadata", "responsemetadata", "pageinfo", "cursors"))
_LISTS = ("data", "items", "results", "values", "entries", "records", "value")
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL_NEXT = re.compile(r"""\brel\s*=\s*"?[^",;]*\bnext\b""", re.IGNORECASE)


class NextPage(Struct, frozen=True):
    """Where the next page is: a URL, or the arguments that change."""

    url: str = ""
    arguments: dict[str, Any] = {}

    @property
    def certain(self) -> bool:
        """Whether the server reports that there is more, rather than that there may be."""
        return bool(self.url) or any(isinstance(value, str) for value in self.arguments.values())


def has_pages(method: str, parameters: Collection[OpenApiParameter], responses: JsonObject, document: OpenApiDocument) -> bool:
    """Return whether an operation's responses may be paginated."""
    if method != "GET":
        return False
    names = {_normalize_name(each.name) for each in parameters if each.where == "query"}
    if names & {*_NUMBERS, *_OFFSETS, *_CURSORS, *_CURSORS_AFTER}:
        return True
    told = document.dereference(responses.get("200"))
    if any(name.lower() == "link" for name in object_or_empty(told.get("headers"))):
        return True
    media = object_or_empty(next(iter(object_or_empty(told.get("content")).values()), None))
    fields = object_or_empty(document.dereference(media.get("schema")).get("properties"))
    return any(_normalize_name(name) in _NEXT | _NEXT_CURSOR for name in fields)


def find_next_page(
    answer: GuardedResponse, value: Any, parameters: Collection[OpenApiParameter], arguments: Mapping[str, Any]
) -> NextPage | None:
    """Return where the next page is, if there seems to be one."""
    linked = _read_link_header(answer)
    if linked:
        return NextPage(url=linked)
    asked = {_normalize_name(each.name): each for each in parameters if each.where == "query"}
    told = _read_next_field(object_or_empty(value), asked)
    if told is not None:
        return told
    return _next_by_number(value, asked, arguments)


def _read_link_header(answer: GuardedResponse) -> str:
    found = [url for url, rest in _LINK.findall(answer.headers.get("link", "")) if _REL_NEXT.search(rest)]
    return found[0] if found else ""


def _read_next_field(value: JsonObject, asked: Mapping[str, OpenApiParameter]) -> NextPage | None:
    """Return the next page that the response itself names."""
    places = [value, *[object_or_empty(inner) for name, inner in value.items() if _normalize_name(name) in _WITHIN]]
    places += [object_or_empty(inner) for place in places[1:] for name, inner in place.items() if _normalize_name(name) in _WITHIN]
    cursor = next((asked[name] for name in (*_CURSORS, *_CURSORS_AFTER) if name in asked), None)
    for place in places:
        for name, inner in place.items():
            plain = _normalize_name(name)
            to = text_or_empty(inner) or text_or_empty(object_or_empty(inner).get("href"))
            if plain in _NEXT and to.startswith(("http://", "https://", "/", "?")):
                return NextPage(url=to)
            if cursor is not None and to and plain in _NEXT_CURSOR | _NEXT | _PERHAPS_CURSOR:
                return NextPage(arguments={cursor.argument: to})
    return _next_after_last(value, asked)


def _next_after_last(value: JsonObject, asked: Mapping[str, OpenApiParameter]) -> NextPage | None:
    after = asked.get("startingafter")
    items = list_or_empty(value.get("data"))
    last = text_or_empty(object_or_empty(items[-1]).get("id")) if items else ""
    return NextPage(arguments={after.argument: last}) if after and last and value.get("has_more") is True else None


def _next_by_number(value: Any, asked: Mapping[str, OpenApiParameter], arguments: Mapping[str, Any]) -> NextPage | None:
    """Return the next page by number or offset, as long as pages are full."""
    items = find_page_items(value)
    size = next((arguments.get(asked[name].argument) for name in _SIZES if name in asked), None)
    if not items or (isinstance(size, int) and len(items) < size) or _is_last_page(object_or_empty(value)):
        return None
    for names, first, step in ((_NUMBERS, 1, 1), (_OFFSETS, 0, len(items))):
        for name in names:
            if name in asked and object_or_empty(asked[name].schema).get("type") in ("integer", "number", None):
                now = arguments.get(asked[name].argument, first)
                return NextPage(arguments={asked[name].argument: now + step}) if isinstance(now, int) else None
    return None


def _is_last_page(value: JsonObject) -> bool:
    """Return whether a response with a field for the next page says that there is none."""
    said = {_normalize_name(name): inner for name, inner in value.items()}
    no_more = any(said[name] in (None, "", False) for name in (*_NEXT, "hasmore", "more") if name in said)
    return no_more or said.get("islast") is True


def find_page_items(value: Any) -> list[Any]:
    """Return the list in a response: the response itself, or the field that holds it."""
    return (
        list_or_empty(value)
        if isinstance(value, list)
        else list_or_empty(object_or_empty(value).get(_find_list_field(object_or_empty(value))))
    )


def _find_list_field(value: JsonObject) -> str:
    lists = [name for name, inner in value.items() if isinstance(inner, list)]
    known = [name for name in _LISTS if name in lists]
    return known[0] if known else lists[0] if len(lists) == 1 else ""


def join_pages(pages: list[Any]) -> Any:
    """Join several pages: all items, and everything else from the last page."""
    if len(pages) == 1:
        return pages[0]
    items = [item for page in pages for item in find_page_items(page)]
    last = pages[-1]
    name = _find_list_field(object_or_empty(last)) or _find_list_field(object_or_empty(pages[0]))
    return items if isinstance(last, list) else {**object_or_empty(last), name: items}


def _normalize_name(name: str) -> str:
    """Return a name without case and punctuation: `nextPageToken` and `next_page_token` mean the same."""
    return "".join([letter for letter in name.lower() if letter.isalnum()])
