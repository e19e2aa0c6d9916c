"""PDF: the text of its pages, lines joined into paragraphs. What is only pictures of text isn't recognised here."""

import re
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from logging import NullHandler, getLogger
from typing import TYPE_CHECKING

from treadle.assistants.courses.material.formats.flow import Flow
from treadle.assistants.courses.material.marks import plain_mark, said
from treadle.assistants.courses.material.values import Material
from treadle.passages import Unreadable

if TYPE_CHECKING:
    from pypdf import PdfReader

MOST_PAGES = 3_000

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
    """A PDF, page by page."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    getLogger("pypdf").addHandler(_SILENT)  # what it mends goes to a program's log, not to a person's terminal
    try:
        reader = PdfReader(BytesIO(data))
        _require_open(reader)
        pages = [_lines(page.extract_text()) for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except DependencyError as error:
        raise Unreadable("it is encrypted, which needs the package cryptography: pip install 'treadle[courses]'") from error
    except PdfReadError as error:
        raise Unreadable(f"it is no whole PDF ({error})") from error
    if not any(pages):
        raise Unreadable("there is no text in it (a scan?); run text recognition over it first")
    return _flow(_without_edges(pages)).material(_sensible(title or ""))


_SILENT = NullHandler()


def _require_open(reader: "PdfReader") -> None:
    """A PDF that may be read, of a length that can be."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is protected by a password; save it without one")
    if len(reader.pages) > MOST_PAGES:
        raise Unreadable(f"it has over {MOST_PAGES:,} pages; divide it")


def _lines(page: str) -> list[str]:
    """The lines of a page that say something; space inside of them is one, and so are the dots that lead to a number."""
    lines = (" ".join(_LEADERS.sub(" … ", line.translate(_LIGATURES)).split()) for line in page.splitlines())
    return [line for line in lines if line]


def _without_edges(pages: list[list[str]]) -> list[list[str]]:
    """The pages without their numbers, and without the first or last line that most of them share, except for the first time."""
    for edge in (0, -1):
        shared = Counter(page[edge] for page in pages if page)
        often = {line for line, count in shared.items() if count > 2 and 2 * count > len(pages) and not _says_much(line)}
        seen: set[str] = set()
        for page in (each for each in pages if len(each) > 1):
            line = page[edge]
            if line in seen or _PAGE_NUMBER.fullmatch(line):
                del page[edge]
            seen |= {line} & often
    return pages


def _says_much(line: str) -> bool:
    return said(line) is not None or plain_mark(line, markdown=False) is not None


def _flow(pages: Sequence[Sequence[str]]) -> Flow:
    """The pages in paragraphs, which go on over the end of a page."""
    flow = Flow()
    width = 0  # of the page that the line before is on
    for number, page in enumerate(pages, 1):
        widest = max(map(len, page), default=0)
        for line in page:
            if flow.last and not flow.divided and _begins(flow.last, line, width):
                flow.end_paragraph()
            flow.add(line, f"page {number}")
            width = widest
    return flow


def _begins(before: str, line: str, width: int) -> bool:
    """Whether a line begins a paragraph: it is an item, or the line before ended early."""
    if _ITEM.match(line) or (before.endswith((".", "!", "?", ":", "…")) and len(before) < 0.85 * width):
        return True
    return len(before) < 0.6 * width and not line[0].islower()


def _sensible(title: str) -> str:
    """A title that a person gave; programs put names of files there."""
    said = " ".join(title.split())
    return said if 3 <= len(said) <= 120 and not _MADE_UP.fullmatch(said) else ""
