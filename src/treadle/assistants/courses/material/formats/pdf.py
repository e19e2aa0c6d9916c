"""PDF: the text of its pages, lines joined to paragraphs. Scanned text isn't recognised."""

import re
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from logging import NullHandler, getLogger
from typing import TYPE_CHECKING

from treadle.assistants.courses.material.course_types import Material
from treadle.assistants.courses.material.formats.paragraphs import ParagraphBuilder
from treadle.assistants.courses.material.line_parsing import parse_head_line, parse_line_mark
from treadle.passages import UnreadableDocument

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 3_000

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_LEADERS = re.compile(r"(?:\s?\.){5,}")
_PAGE_NUMBER = re.compile(r"\W{0,3}(?:page\s+)?\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?\W{0,3}", re.IGNORECASE)
_ITEM = re.compile(r"(?:[•▪‣◦●■*\-–]|\d{1,3}[.)])\s")
_MADE_UP = re.compile(
    r"""untitled.*|microsoft\s(?:word|powerpoint)\s-.*|powerpoint\spresentation|presentation\d*|document\d*|slide\s*\d+|title
        |.*\.(?:docx?|pptx?|odt|odp|tex|dvi|indd|qxd|pdf|html?|md|rtf|pages|key|txt)|\W*""",
    re.IGNORECASE | re.VERBOSE,
)


def read_pdf(data: bytes) -> Material:
    """Parse a PDF page by page."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    getLogger("pypdf").addHandler(_SILENT)  # what it mends goes to a program's log, not to a person's terminal
    try:
        reader = PdfReader(BytesIO(data))
        _require_readable(reader)
        pages = [_split_lines(page.extract_text()) for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except DependencyError as error:
        raise UnreadableDocument("it is encrypted, which needs the package cryptography: pip install 'treadle[courses]'") from error
    except PdfReadError as error:
        raise UnreadableDocument(f"it is no whole PDF ({error})") from error
    if not any(pages):
        raise UnreadableDocument("there is no text in it (a scan?); run text recognition over it first")
    return _build_paragraphs(_strip_headers_and_footers(pages)).material(_clean_title(title or ""))


_SILENT = NullHandler()


def _require_readable(reader: "PdfReader") -> None:
    """Raise if a PDF is encrypted or has too many pages."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocument("it is protected by a password; save it without one")
    if len(reader.pages) > MAX_PAGES:
        raise UnreadableDocument(f"it has over {MAX_PAGES:,} pages; divide it")


def _split_lines(page: str) -> list[str]:
    """Return the non-empty lines of a page, with whitespace and dot leaders collapsed."""
    lines = (" ".join(_LEADERS.sub(" … ", line.translate(_LIGATURES)).split()) for line in page.splitlines())
    return [line for line in lines if line]


def _strip_headers_and_footers(pages: list[list[str]]) -> list[list[str]]:
    """Remove page numbers, and the first or last line that most pages share, except for its first occurrence."""
    for edge in (0, -1):
        shared = Counter(page[edge] for page in pages if page)
        often = {line for line, count in shared.items() if count > 2 and 2 * count > len(pages) and not _is_meaningful(line)}
        seen: set[str] = set()
        for page in (each for each in pages if len(each) > 1):
            line = page[edge]
            if line in seen or _PAGE_NUMBER.fullmatch(line):
                del page[edge]
            seen |= {line} & often
    return pages


def _is_meaningful(line: str) -> bool:
    return parse_head_line(line) is not None or parse_line_mark(line, markdown=False) is not None


def _build_paragraphs(pages: Sequence[Sequence[str]]) -> ParagraphBuilder:
    """Join the pages to paragraphs, which may continue over a page end."""
    flow = ParagraphBuilder()
    width = 0  # of the page that the line before is on
    for number, page in enumerate(pages, 1):
        widest = max(map(len, page), default=0)
        for line in page:
            if flow.last and not flow.divided and _starts_paragraph(flow.last, line, width):
                flow.end_paragraph()
            flow.add(line, f"page {number}")
            width = widest
    return flow


def _starts_paragraph(before: str, line: str, width: int) -> bool:
    """Return whether a line begins a paragraph: it is a list item, or the line before ended early."""
    if _ITEM.match(line) or (before.endswith((".", "!", "?", ":", "…")) and len(before) < 0.85 * width):
        return True
    return len(before) < 0.6 * width and not line[0].islower()


def _clean_title(title: str) -> str:
    """Return a title given by a person; programs put file names there."""
    said = " ".join(title.split())
    return said if 3 <= len(said) <= 120 and not _MADE_UP.fullmatch(said) else ""
