"""Questions over a repository that code answers alone: lines that fit a pattern, and where a name is defined, called or mentioned.

References are told by names, not by types. What may hold secrets is never opened.
"""

import re
from asyncio import to_thread
from contextlib import suppress
from itertools import islice
from typing import Literal

from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.reading.files import load_from, open_source_from, walk
from treadle.assistants.reading.outline.source import lines_of, read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.parts import part_at
from treadle.files import Workspace, shown
from treadle.workspace import Search

MOST_REFERENCES = 100
MOST_HITS = 100
_MOST_FILES = 2000  # that are searched
_MOST_TEXT = 200  # characters of a line
_HEAD = 3  # lines in which a definition has its name

ReferenceKind = Literal["definition", "call", "mention"]
WantedKind = ReferenceKind | Literal["any"]


class Reference(Struct, frozen=True):
    """A line that mentions a name, and the definition around it."""

    path: str
    line: int
    kind: ReferenceKind
    inside: str
    text: str


class References(Struct, frozen=True):
    """The data of a search for a name: as many references as are listed, how many there are, and how many of any kind."""

    name: str
    kind: WantedKind
    references: tuple[Reference, ...]
    total: int
    any_total: int


class TextHit(Struct, frozen=True):
    """A line that fits a pattern."""

    path: str
    line: int
    text: str


class TextHits(Struct, frozen=True):
    """The data of a search for text. `complete` is false where there is more, or it is `late`: the time was up."""

    hits: tuple[TextHit, ...]
    complete: bool
    late: bool = False


async def search_text(
    workspace: Workspace, pattern: str, under: str = "", file_pattern: str = "", *, ignore_case: bool = False
) -> TextHits:
    """Return the lines that fit a regular expression, in files of any kind."""
    globs = [file_pattern] if file_pattern else []
    found = await Search(workspace).grep(pattern, under or ".", globs, ignore_case=ignore_case, most=MOST_HITS)
    hits = tuple([TextHit(shown(hit.path), hit.line, hit.text.strip()[:_MOST_TEXT]) for hit in found.hits])
    return TextHits(hits, not (found.more or found.late), found.late)


async def find_references(
    workspace: Workspace, outliner: Outliner, name: str, under: str = "", kind: WantedKind = "any"
) -> References:
    """Return where a name is defined, called or mentioned in the source files."""
    files = await to_thread(_mentions, workspace, name, under or ".")
    found = [each for path, lines in files for each in await _references(workspace, path, lines, name, outliner)]
    wanted = [each for each in found if kind in ("any", each.kind)]
    return References(name, kind, tuple(wanted[:MOST_REFERENCES]), len(wanted), len(found))


def references_text(found: References) -> str:
    """References, a line each, and how many more there are."""
    if not found.any_total:
        return f"{found.name} isn't mentioned in any source file here."
    if not found.total:
        return f"There is no {found.kind} of {found.name} in any source file here, but {found.any_total} other references."
    lines = [f"{each.path}:{each.line} {each.kind} in {each.inside or 'the file'}: {each.text}" for each in found.references]
    left = found.total - len(found.references)
    return "\n".join([*lines, *([f"… and {left} more; name a folder beneath."] if left else [])])


def _mentions(workspace: Workspace, name: str, under: str) -> list[tuple[str, list[int]]]:
    """The files that mention a name, with the lines, as far as they can be read."""
    word, found = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])"), list[tuple[str, list[int]]]()
    for path in islice(walk(workspace, under), _MOST_FILES):
        with suppress(TreadleError):  # what can't be read mentions nothing
            text = read_source(load_from(workspace, path)).text
            if lines := [number for number, line in enumerate(lines_of(text), 1) if word.search(line)]:
                found.append((path, lines))
    return found


async def _references(workspace: Workspace, path: str, lines: list[int], name: str, outliner: Outliner) -> list[Reference]:
    """The mentions of a name in a file, each with the definition that it is in."""
    try:
        source = await open_source_from(workspace, path, outliner)
    except TreadleError:
        return []
    called = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\(")
    found: list[Reference] = []
    for line in lines:
        part = part_at(source.parts, line)
        text, element = source.lines[line - 1].strip(), part.elements[0].name if part is not None and part.elements else ""
        defines = part is not None and part.node.name == name and line < part.start + _HEAD
        kind = "definition" if defines else "call" if called.search(text) else "mention"
        found.append(Reference(shown(path), line, kind, element, text[:_MOST_TEXT]))
    return found
