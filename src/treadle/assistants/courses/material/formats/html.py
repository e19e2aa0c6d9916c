"""HTML pages converted to Markdown, without what only browsers use. Fetches nothing."""

import re
from contextlib import suppress
from html import unescape
from typing import Any

from treadle.assistants.courses.material.course_types import Material
from treadle.assistants.courses.material.text_cleanup import normalize_material_text
from treadle.passages import UnreadableDocument

_MANY_BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")
_WIDE = ("utf-16", "utf-32", "utf16", "utf32")


def read_html(data: bytes) -> Material:
    """Parse an HTML page."""
    return html_to_material(decode_html(data))


def html_to_material(html: str) -> Material:
    """Convert HTML to Markdown."""
    from treadle.assistants.courses.material.formats.html_to_markdown import (  # needs packages that not everybody has
        FilteredSoup,
        HtmlToMarkdown,
    )

    page = FilteredSoup(html)
    title = unescape(page.title.decode_contents()) if page.title else ""
    try:
        markdown = HtmlToMarkdown().convert_soup(_main_content(page))
    except RecursionError as error:
        raise UnreadableDocument("its elements are nested too deeply") from error
    return Material(_MANY_BLANK.sub("\n\n", normalize_material_text(markdown)).strip("\n"), markdown=True, title=title)


def decode_html(data: bytes) -> str:
    """Decode a page by its byte order mark, its declared encoding, as UTF-8, or as Windows-1252."""
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


def _main_content(soup: Any) -> Any:
    """Return the page's declared main element if it has a heading, else the whole page."""
    mains = soup.find_all("main")
    return mains[0] if len(mains) == 1 and mains[0].find(["h1", "h2"]) else soup
