"""Word documents (.docx): their text, headings and tables, by way of HTML. No pictures; nothing outside the file is opened."""

from importlib import import_module
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from treadle.assistants.courses.material.formats.page import page_of
from treadle.assistants.courses.material.values import Material
from treadle.passages import Unreadable

LARGEST_UNPACKED = 200_000_000  # bytes of all that is in the file
LARGEST_XML = 50_000_000  # bytes of what is read as a whole

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def read_docx(data: bytes) -> Material:
    """A Word document."""
    mammoth: Any = import_module("mammoth")
    _require_sound(data)
    made = mammoth.convert_to_html(
        BytesIO(data), style_map=_STYLES, convert_image=_no_picture, external_file_access=False, include_embedded_style_map=False
    )
    return page_of(made.value)


def _no_picture(_: object) -> list[object]:
    return []


def _require_sound(data: bytes) -> None:
    """A packed file that is a document, and of a size that can be unpacked."""
    try:
        with ZipFile(BytesIO(data)) as packed:
            sizes = {each.filename: each.file_size for each in packed.infolist()}
    except BadZipFile as error:
        raise Unreadable("it is no Word document, or not a whole one") from error
    if "word/document.xml" not in sizes:
        raise Unreadable("it is no Word document")
    xml = sum(size for name, size in sizes.items() if name.endswith((".xml", ".rels")))
    if sum(sizes.values()) > LARGEST_UNPACKED or xml > LARGEST_XML:
        raise Unreadable(
            f"it is too large when unpacked (over {LARGEST_UNPACKED // 1_000_000} MB, or {LARGEST_XML // 1_000_000} MB of text)"
        )
