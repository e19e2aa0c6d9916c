"""Repository questions answered without a model: lines that match a pattern, and where a name is defined, called or mentioned.

References are found by names, not by types. Files that may contain secrets are never opened.
"""

import re
from asyncio import to_thread
from contextlib import suppress
from itertools import islice
from typing import Literal

from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.reading.file_parts import find_part_at
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source, split_source_lines
from treadle.assistants.reading.source_files import iter_source_files, load_workspace_file, open_workspace_source
from treadle.files import Workspace, printable_name
from treadle.workspace import Search

MOST_REFERENCES = 100
MOST_HITS = 100
_MOST_FILES = 2000  # that are searched
_MOST_TEXT = 200  # characters of a line
_HEAD = 3  # lines in which a definition has its name

ReferenceKind = Literal["definition", "call", "mention"]
RequestedKind = ReferenceKind | Literal["any"]


class Reference(Struct, frozen=True):
    """A line that mentions a name, and the definition around it."""

    path: str
    line: int
    kind: ReferenceKind
    inside: str
    text: str


class References(Struct, frozen=True):
    """Result of a reference search: the references listed, their total number, and the number of any kind."""

    name: str
    kind: RequestedKind
    references: tuple[Reference, ...]
    total: int
    any_total: int


class TextHit(Struct, frozen=True):
    """A line that matches a pattern."""

    path: str
    line: int
    text: str


class TextHits(Struct, frozen=True):
    """Result of a text search. `complete` is false if there is more, or if it is `late`: the time limit was reached."""

    hits: tuple[TextHit, ...]
    complete: bool
    late: bool = False


async def search_text(
    workspace: Workspace, pattern: str, under: str = "", file_pattern: str = "", *, ignore_case: bool = False
) -> TextHits:
    """Return the lines that match a regular expression, in files of any kind."""
    globs = [file_pattern] if file_pattern else []
    found = await Search(workspace).grep(pattern, under or ".", globs, ignore_case=ignore_case, most=MOST_HITS)
    hits = tuple([TextHit(printable_name(hit.path), hit.line, hit.text.strip()[:_MOST_TEXT]) for hit in found.hits])
    return TextHits(hits, not (found.more or found.late), found.late)


async def find_references(
    workspace: Workspace, outliner: Outliner, name: str, under: str = "", kind: RequestedKind = "any"
) -> References:
    """Return where a name is defined, called or mentioned in the source files."""
    files = await to_thread(_find_mentions, workspace, name, under or ".")
    found = [each for path, lines in files for each in await _find_file_references(workspace, path, lines, name, outliner)]
    wanted = [each for each in found if kind in ("any", each.kind)]
    return References(name, kind, tuple(wanted[:MOST_REFERENCES]), len(wanted), len(found))


def format_references(found: References) -> str:
    """Format references, one per line, and how many more there are."""
    if not found.any_total:
        return f"{found.name} isn't mentioned in any source file here."
    if not found.total:
        return f"There is no {found.kind} of {found.name} in any source file here, but {found.any_total} other references."
    lines = [f"{each.path}:{each.line} {each.kind} in {each.inside or 'the file'}: {each.text}" for each in found.references]
    left = found.total - len(found.references)
    return "\n".join([*lines, *([f"… and {left} more; name a folder beneath."] if left else [])])


def _find_mentions(workspace: Workspace, name: str, under: str) -> list[tuple[str, list[int]]]:
    """Return the readable files that mention a name, with the lines."""
    word, found = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])"), list[tuple[str, list[int]]]()
    for path in islice(iter_source_files(workspace, under), _MOST_FILES):
        with suppress(TreadleError):  # what can't be read mentions nothing
            text = decode_source(load_workspace_file(workspace, path)).text
            if lines := [number for number, line in enumerate(split_source_lines(text), 1) if word.search(line)]:
                found.append((path, lines))
    return found


async def _find_file_references(
    workspace: Workspace, path: str, lines: list[int], name: str, outliner: Outliner
) -> list[Reference]:
    """Return the mentions of a name in a file, each with its enclosing definition."""
    try:
        source = await open_workspace_source(workspace, path, outliner)
    except TreadleError:
        return []
    called = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\(")
    found: list[Reference] = []
    for line in lines:
        part = find_part_at(source.parts, line)
        text, element = source.lines[line - 1].strip(), part.elements[0].name if part is not None and part.elements else ""
        defines = part is not None and part.node.name == name and line < part.start + _HEAD
        kind = "definition" if defines else "call" if called.search(text) else "mention"
        found.append(Reference(printable_name(path), line, kind, element, text[:_MOST_TEXT]))
    return found
