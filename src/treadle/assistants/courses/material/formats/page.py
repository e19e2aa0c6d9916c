"""Pages of HTML made into Markdown: what is read of them, without what only browsers use. Fetches nothing."""

import re
from contextlib import suppress
from html import unescape
from typing import Any

from treadle.assistants.courses.material.tidy import plain
from treadle.assistants.courses.material.values import Material
from treadle.passages import Unreadable

_MANY_BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")
_WIDE = ("utf-16", "utf-32", "utf16", "utf32")


def read_html(data: bytes) -> Material:
    """A page of HTML."""
    return page_of(decoded(data))


def page_of(html: str) -> Material:
    """HTML as Markdown."""
    from treadle.assistants.courses.material.formats.markup import Page, ToMarkdown  # needs packages that not everybody has

    page = Page(html)
    title = unescape(page.title.decode_contents()) if page.title else ""
    try:
        markdown = ToMarkdown().convert_soup(_content(page))
    except RecursionError as error:
        raise Unreadable("its elements are nested too deeply") from error
    return Material(_MANY_BLANK.sub("\n\n", plain(markdown)).strip("\n"), markdown=True, title=title)


def decoded(data: bytes) -> str:
    """A page as text: by its byte order mark, by what it says itself, as UTF-8, or as Windows wrote it."""
    from bs4.dammit import EncodingDetector

    rest, marked = EncodingDetector.strip_byte_order_mark(data)
    declared = (EncodingDetector.find_declared_encoding(data, is_html=True) or "utf-8").lower()
    if declared.startswith(_WIDE):
        declared = "utf-8"  # it could not be read as far as that if it were true
    elif declared in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii"):
        declared = "cp1252"  # as browsers do
    for encoding in filter(None, (marked, declared, "utf-8")):
        with suppress(LookupError, ValueError):
            return rest.decode(encoding)
    return rest.decode("cp1252", "replace")


def _content(soup: Any) -> Any:
    """The part of a page that it says is its main one, if a heading stands there; else all of it."""
    mains = soup.find_all("main")
    return mains[0] if len(mains) == 1 and mains[0].find(["h1", "h2"]) else soup
