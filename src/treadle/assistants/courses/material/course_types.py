"""Course material as data: lessons, what a file states about its course, its text before splitting, and clean texts."""

import re
from urllib.parse import urlsplit

from msgspec import Struct

MAX_TITLE_CHARS = 200
MAX_LINK_CHARS = 2_000

_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile("[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")  # of no width, or turning the direction of writing
_LINKED = re.compile(r"\[[^\[\]]*\]\(<?(?P<address>[^()<>\s]*(?:\([^()<>\s]*\)[^()<>\s]*)*)>?(?:\s[^()]*)?\)")


def normalize_material_text(text: str) -> str:
    """Normalize line ends, and replace other control characters by spaces. Offsets are stable afterwards."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _UNSHOWN.sub(" ", lines))


def clean_title(text: str) -> str:
    """Return a title: one line, no control characters, limited length. HTML in it is left as it is."""
    shown = _HIDDEN.sub("", normalize_material_text(text))
    return " ".join(shown.split())[:MAX_TITLE_CHARS].rstrip()


def extract_web_link(text: str) -> str:
    """Return a web link, bare or in Markdown; empty for anything else."""
    said = text.strip().strip("*_").strip()
    linked = _LINKED.fullmatch(said)
    address = linked["address"] if linked else said.removeprefix("<").removesuffix(">")
    return address if len(address) <= MAX_LINK_CHARS and _is_web_url(address) else ""


def _is_web_url(address: str) -> bool:
    if not address.isprintable() or re.search(r"\s", address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


class Lesson(Struct, frozen=True):
    """A lesson of a course. Zero is a valid number; a lesson may have none."""

    number: int | None = None
    title: str = ""
    link: str = ""

    @property
    def heading(self) -> str:
        """The lesson as a heading: `Lesson 4: Shaping the loaf`."""
        if self.number is None:
            return self.title
        return f"Lesson {self.number}: {self.title}" if self.title else f"Lesson {self.number}"


class CourseFileInfo(Struct, frozen=True):
    """What one file states about its course. Files with the same `course` belong to one course."""

    course: str
    title: str
    link: str = ""
    instructor: str = ""
    lessons: tuple[Lesson, ...] = ()


class Material(Struct, frozen=True):
    """A file as one text, in any format.

    `anchors` are positions in it, each with its offset: `page 3`, `00:12:30`, `cell 4`. `lines` says whether its lines
    are the file's own. `title` is the file's title from outside its text.
    """

    text: str
    markdown: bool = False
    anchors: tuple[tuple[int, str], ...] = ()
    title: str = ""
    lines: bool = False
