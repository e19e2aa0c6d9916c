"""HTML pages, and Word documents (.docx) through HTML, converted to Markdown.

Of a page, what only browsers use is left out, and nothing is fetched. Of a document, text, headings and tables are converted, no
pictures; nothing outside the file is opened.
"""

import re
from contextlib import suppress
from html import unescape
from importlib import import_module
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from treadle.assistants.courses.material.course_types import Material, normalize_material_text
from treadle.passages import UnreadableDocument

_MANY_BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")
_WIDE = ("utf-16", "utf-32", "utf16", "utf32")
MAX_UNPACKED_BYTES = 200_000_000  # bytes of all that is in the file
MAX_XML_BYTES = 50_000_000  # bytes of what is read as a whole

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


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


def read_docx(data: bytes) -> Material:
    """Parse a Word document."""
    mammoth: Any = import_module("mammoth")
    _require_valid_docx(data)
    made = mammoth.convert_to_html(
        BytesIO(data), style_map=_STYLES, convert_image=_drop_picture, external_file_access=False, include_embedded_style_map=False
    )
    return html_to_material(made.value)


def _drop_picture(_: object) -> list[object]:
    return []


def _require_valid_docx(data: bytes) -> None:
    """Raise if the file isn't a Word document, or too large to unpack."""
    try:
        with ZipFile(BytesIO(data)) as packed:
            sizes = {each.filename: each.file_size for each in packed.infolist()}
    except BadZipFile as error:
        raise UnreadableDocument("it is no Word document, or not a whole one") from error
    if "word/document.xml" not in sizes:
        raise UnreadableDocument("it is no Word document")
    xml = sum(size for name, size in sizes.items() if name.endswith((".xml", ".rels")))
    if sum(sizes.values()) > MAX_UNPACKED_BYTES or xml > MAX_XML_BYTES:
        raise UnreadableDocument(
            f"it is too large when unpacked (over {MAX_UNPACKED_BYTES // 1_000_000} MB, or {MAX_XML_BYTES // 1_000_000} MB of text)"
        )
