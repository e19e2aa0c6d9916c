"""A file opened by the ending of its name. Whatever is wrong with it is said in the same way: `Unreadable`, with why."""

from collections.abc import Callable
from pathlib import PurePosixPath

from treadle.assistants.courses.material.formats.notebook import read_notebook
from treadle.assistants.courses.material.formats.page import read_html
from treadle.assistants.courses.material.formats.pdf import read_pdf
from treadle.assistants.courses.material.formats.subtitles import read_srt, read_vtt
from treadle.assistants.courses.material.formats.text import read_markdown, read_text
from treadle.assistants.courses.material.formats.word import read_docx
from treadle.assistants.courses.material.values import Material
from treadle.passages import Unreadable

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
LARGEST = 50_000_000  # bytes of a file


def opened(source: str, data: bytes) -> Material:
    """The material in a file's bytes; `Unreadable` where there is none."""
    ending = PurePosixPath(source).suffix.lower()
    read = FORMATS.get(ending)
    if read is None:
        raise Unreadable(f"files that end in {ending or 'nothing'} can't be read here; these can: {', '.join(FORMATS)}")
    if not data.strip():
        raise Unreadable("empty")
    material = _read(read, data, ending)
    if not material.text.strip():
        raise Unreadable("empty")
    return material


def _read(read: Callable[[bytes], Material], data: bytes, ending: str) -> Material:
    try:
        return read(data)
    except Unreadable:
        raise
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise Unreadable(f"{ending} needs the package {package}: pip install 'treadle[courses]'") from error
    except Exception as error:  # a broken file can make the library that reads it raise anything
        raise Unreadable(f"it can't be read as {ending}: {type(error).__name__}: {str(error)[:200]}".rstrip(": ")) from error
