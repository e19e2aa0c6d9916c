"""Word documents (.docx): text, headings and tables, converted through HTML. No pictures; nothing outside the file is opened."""

from importlib import import_module
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from treadle.assistants.courses.material.course_types import Material
from treadle.assistants.courses.material.formats.html import html_to_material
from treadle.passages import UnreadableDocument

MAX_UNPACKED_BYTES = 200_000_000  # bytes of all that is in the file
MAX_XML_BYTES = 50_000_000  # bytes of what is read as a whole

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


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
