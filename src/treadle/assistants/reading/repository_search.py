"""Repository questions answered without a model: lines that match a pattern, and where a name is defined, called or mentioned.

References are found by names, not by types, in the symbol index. Files that may contain secrets are never opened.
"""

from asyncio import to_thread
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.reading.outline.source_text import decode_source, split_source_lines
from treadle.assistants.reading.source_files import load_workspace_file
from treadle.assistants.reading.symbols.extraction import ReferenceKind
from treadle.assistants.reading.symbols.index import IndexState, RequestedKind, SymbolIndex, SymbolLocation, format_pending
from treadle.files import Workspace, printable_name
from treadle.workspace import Search

MOST_REFERENCES = 100
MOST_HITS = 100
_MOST_TEXT = 200  # characters of a line


class Reference(Struct, frozen=True):
    """A line that mentions a name, and the definition around it."""

    path: str
    line: int
    kind: ReferenceKind
    inside: str
    text: str


class References(Struct, frozen=True):
    """Result of a reference search: the references listed, their total number, and the number of any kind.

    `pending_files` of `source_files` aren't indexed yet.
    """

    name: str
    kind: RequestedKind
    references: tuple[Reference, ...]
    total: int
    any_total: int
    pending_files: int = 0
    source_files: int = 0


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


async def find_references(index: SymbolIndex, name: str, under: str = "", kind: RequestedKind = "any") -> References:
    """Return where a name is defined, called or mentioned in the source files."""
    found, state = await index.find(name, under=under or ".")
    wanted = [each for each in found if kind in ("any", each.kind)]
    references = await to_thread(lambda: tuple(_read_lines(index.workspace, wanted[:MOST_REFERENCES])))
    return References(name, kind, references, len(wanted), len(found), state.pending, state.files)


def format_references(found: References) -> str:
    """Format references, one per line, and how many more there are."""
    pending = format_pending(IndexState(found.source_files, found.pending_files))
    notes = [pending] if pending else []
    if not found.any_total:
        return "\n".join([f"{found.name} isn't mentioned in any source file here.", *notes])
    if not found.total:
        others = f"There is no {found.kind} of {found.name} in any source file here, but {found.any_total} other references."
        return "\n".join([others, *notes])
    lines = [f"{each.path}:{each.line} {each.kind} in {each.inside or 'the file'}: {each.text}" for each in found.references]
    left = found.total - len(found.references)
    return "\n".join([*lines, *([f"… and {left} more; name a folder beneath."] if left else []), *notes])


def _read_lines(workspace: Workspace, found: Sequence[SymbolLocation]) -> Iterator[Reference]:
    """Yield locations with the text of their lines, which is read now; each file once."""
    for path, locations in groupby(found, key=attrgetter("path")):
        lines: Sequence[str] = ()
        with suppress(TreadleError):  # gone meanwhile
            lines = split_source_lines(decode_source(load_workspace_file(workspace, path)).text)
        for each in locations:
            text = lines[each.line - 1].strip() if each.line <= len(lines) else ""
            yield Reference(printable_name(path), each.line, each.kind, each.inside, text[:_MOST_TEXT])
