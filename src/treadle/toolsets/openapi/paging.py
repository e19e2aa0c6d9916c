"""Lists that come in pages: which operations have them, and where the next page is. Pure; `calling` fetches.

In order of certainty: a `Link` header, an address or a cursor in the answer, the last item where the answer says that there are
more, and the number of a page or an offset.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text
from treadle.toolsets.openapi.parameters import Parameter
from treadle.toolsets.outbound.answer import Answer

MOST_PAGES = 10
ARGUMENT = "pages"
SCHEMA: Object = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_PAGES,
    "description": f"How many pages of the list to fetch and join, up to {MOST_PAGES}; one unless you say otherwise.",
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


class Next(Struct, frozen=True):
    """Where the next page is: an address, or the arguments that change."""

    url: str = ""
    arguments: dict[str, Any] = {}

    @property
    def certain(self) -> bool:
        """Whether the server has said that there is more, rather than that there may be."""
        return bool(self.url) or any(isinstance(value, str) for value in self.arguments.values())


def has_pages(method: str, parameters: Collection[Parameter], responses: Object, document: Document) -> bool:
    """Whether an operation's answers may come in pages."""
    if method != "GET":
        return False
    names = {_plain(each.name) for each in parameters if each.where == "query"}
    if names & {*_NUMBERS, *_OFFSETS, *_CURSORS, *_CURSORS_AFTER}:
        return True
    told = document.followed(responses.get("200"))
    if any(name.lower() == "link" for name in as_object(told.get("headers"))):
        return True
    media = as_object(next(iter(as_object(told.get("content")).values()), None))
    fields = as_object(document.followed(media.get("schema")).get("properties"))
    return any(_plain(name) in _NEXT | _NEXT_CURSOR for name in fields)


def next_page(answer: Answer, value: Any, parameters: Collection[Parameter], arguments: Mapping[str, Any]) -> Next | None:
    """Where the next page is, if there seems to be one."""
    linked = _linked(answer)
    if linked:
        return Next(url=linked)
    asked = {_plain(each.name): each for each in parameters if each.where == "query"}
    told = _told(as_object(value), asked)
    if told is not None:
        return told
    return _counted(value, asked, arguments)


def _linked(answer: Answer) -> str:
    found = [url for url, rest in _LINK.findall(answer.headers.get("link", "")) if _REL_NEXT.search(rest)]
    return found[0] if found else ""


def _told(value: Object, asked: Mapping[str, Parameter]) -> Next | None:
    """What the answer itself says of the next page."""
    places = [value, *[as_object(inner) for name, inner in value.items() if _plain(name) in _WITHIN]]
    places += [as_object(inner) for place in places[1:] for name, inner in place.items() if _plain(name) in _WITHIN]
    cursor = next((asked[name] for name in (*_CURSORS, *_CURSORS_AFTER) if name in asked), None)
    for place in places:
        for name, inner in place.items():
            plain = _plain(name)
            to = as_text(inner) or as_text(as_object(inner).get("href"))
            if plain in _NEXT and to.startswith(("http://", "https://", "/", "?")):
                return Next(url=to)
            if cursor is not None and to and plain in _NEXT_CURSOR | _NEXT | _PERHAPS_CURSOR:
                return Next(arguments={cursor.argument: to})
    return _after_last(value, asked)


def _after_last(value: Object, asked: Mapping[str, Parameter]) -> Next | None:
    after = asked.get("startingafter")
    items = as_list(value.get("data"))
    last = as_text(as_object(items[-1]).get("id")) if items else ""
    return Next(arguments={after.argument: last}) if after and last and value.get("has_more") is True else None


def _counted(value: Any, asked: Mapping[str, Parameter], arguments: Mapping[str, Any]) -> Next | None:
    """By number or offset, as long as pages are full."""
    items = items_of(value)
    size = next((arguments.get(asked[name].argument) for name in _SIZES if name in asked), None)
    if not items or (isinstance(size, int) and len(items) < size) or _says_no_more(as_object(value)):
        return None
    for names, first, step in ((_NUMBERS, 1, 1), (_OFFSETS, 0, len(items))):
        for name in names:
            if name in asked and as_object(asked[name].schema).get("type") in ("integer", "number", None):
                now = arguments.get(asked[name].argument, first)
                return Next(arguments={asked[name].argument: now + step}) if isinstance(now, int) else None
    return None


def _says_no_more(value: Object) -> bool:
    """Whether an answer that has a word for the next page says that there is none."""
    said = {_plain(name): inner for name, inner in value.items()}
    no_more = any(said[name] in (None, "", False) for name in (*_NEXT, "hasmore", "more") if name in said)
    return no_more or said.get("islast") is True


def items_of(value: Any) -> list[Any]:
    """The list in an answer: the answer itself, or the one of its fields that is it."""
    return as_list(value) if isinstance(value, list) else as_list(as_object(value).get(_list_in(as_object(value))))


def _list_in(value: Object) -> str:
    lists = [name for name, inner in value.items() if isinstance(inner, list)]
    known = [name for name in _LISTS if name in lists]
    return known[0] if known else lists[0] if len(lists) == 1 else ""


def joined(pages: list[Any]) -> Any:
    """Several pages as one: all items, and of everything else what the last page says."""
    if len(pages) == 1:
        return pages[0]
    items = [item for page in pages for item in items_of(page)]
    last = pages[-1]
    name = _list_in(as_object(last)) or _list_in(as_object(pages[0]))
    return items if isinstance(last, list) else {**as_object(last), name: items}


def _plain(name: str) -> str:
    """A name without case and signs: `nextPageToken` and `next_page_token` mean the same."""
    return "".join([letter for letter in name.lower() if letter.isalnum()])
