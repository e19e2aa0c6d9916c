"""File formats by extension. Every failure is raised as `UnreadableDocument`, with the reason."""

from collections.abc import Callable
from pathlib import PurePosixPath

from treadle.assistants.courses.material.course_types import Material, normalize_material_text
from treadle.assistants.courses.material.formats.html import read_docx, read_html
from treadle.assistants.courses.material.formats.notebook import read_notebook
from treadle.assistants.courses.material.formats.pdf import read_pdf
from treadle.assistants.courses.material.formats.subtitles import read_srt, read_vtt
from treadle.passages import UnreadableDocument, decode_document


def read_text(data: bytes) -> Material:
    """Parse plain text."""
    return Material(normalize_material_text(decode_document(data)), lines=True)


def read_markdown(data: bytes) -> Material:
    """Parse Markdown."""
    return Material(normalize_material_text(decode_document(data)), markdown=True, lines=True)


FORMATS: dict[str, Callable[[bytes], Material]] = {
    ".txt": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".html": read_html,
    ".htm": read_html,
    ".srt": read_srt,
    ".vtt": read_vtt,
    ".ipynb": read_notebook,
}
PATTERNS = tuple(f"**/*{ending}" for ending in FORMATS)
MAX_MATERIAL_BYTES = 50_000_000  # bytes of a file


def parse_material(source: str, data: bytes) -> Material:
    """Parse a file's bytes to material; raises `UnreadableDocument` if there is none."""
    ending = PurePosixPath(source).suffix.lower()
    read = FORMATS.get(ending)
    if read is None:
        raise UnreadableDocument(f"files that end in {ending or 'nothing'} can't be read here; these can: {', '.join(FORMATS)}")
    if not data.strip():
        raise UnreadableDocument("empty")
    material = _call_reader(read, data, ending)
    if not material.text.strip():
        raise UnreadableDocument("empty")
    return material


def _call_reader(read: Callable[[bytes], Material], data: bytes, ending: str) -> Material:
    try:
        return read(data)
    except UnreadableDocument:
        raise
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise UnreadableDocument(f"{ending} needs the package {package}: pip install 'treadle[courses]'") from error
    except Exception as error:  # a broken file can make the library that reads it raise anything
        raise UnreadableDocument(
            f"it can't be read as {ending}: {type(error).__name__}: {str(error)[:200]}".rstrip(": ")
        ) from error
