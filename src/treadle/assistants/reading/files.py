"""Files on disk, for reading: what can't be read is said in a sentence. A file is read once, so that it can't change on the way."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from treadle import TreadleError
from treadle.assistants.reading.outline.languages import canonical, language_of, languages
from treadle.assistants.reading.outline.source import is_minified, read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.source import Source, source_of
from treadle.files import Missing, NotOpened, Workspace, WorkspaceProblem, read_named, shown

LARGEST = 10_000_000  # bytes
MINIFIED = "It looks minified: its lines are too long to tell parts apart."
_PASSED = frozenset(
    (
        "node_modules",
        "vendor",
        "venv",
        "env",
        "__pycache__",
        "site-packages",
        "dist",
        "build",
        "target",
        "third_party",
        "bower_components",
    )
)


class NotReadable(TreadleError):
    """There is nothing here that could be read; says why."""


class Gone(NotReadable):
    """There is no such file, or no longer."""


def load(path: Path) -> bytes:
    """The bytes of a file that a person named, which may be a pipe in a shell."""
    try:
        return read_named(path, LARGEST, pipes=True)
    except NotOpened as error:
        raise NotReadable(str(error)) from error


def load_from(workspace: Workspace, path: str) -> bytes:
    """The bytes of a file in a folder."""
    try:
        return workspace.read_bytes(path, LARGEST)
    except Missing as error:
        raise Gone(f"There is no file {shown(path)}.") from error
    except WorkspaceProblem as error:
        raise NotReadable(str(error)) from error


async def open_source(path: Path, outliner: Outliner, language: str = "") -> Source:
    """A file that a person named, outlined; `-` is the standard input."""
    if str(path) == "-":
        return await source_from(await asyncio.to_thread(sys.stdin.buffer.read, LARGEST), "stdin", language, outliner)
    return await source_from(await asyncio.to_thread(load, path), path.name, language, outliner)


async def open_source_from(workspace: Workspace, path: str, outliner: Outliner) -> Source:
    """A file in a folder, outlined."""
    return await source_from(await asyncio.to_thread(load_from, workspace, path), path, "", outliner)


async def source_from(data: bytes | str, name: str, language: str, outliner: Outliner) -> Source:
    """A file's content, outlined. `language` empty means that its name tells."""
    try:
        found = read_source(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    except TreadleError as error:
        raise NotReadable(f"{name} can't be read: {error}") from error
    known = canonical(language) if language else language_of(name, found.text)
    if known is None:
        said = f"The language {language!r} isn't known" if language else f"What {name} is written in can't be told from its name"
        raise NotReadable(f"{said}. Known are: {', '.join(languages())}. Name it: `--language NAME`, `language` over HTTP.")
    notes = tuple(filter(None, (found.note, MINIFIED if is_minified(found.text) else "")))
    outline = await outliner.outline(found.text, known)
    return source_of(name, found.text, outline, notes)


def walk(workspace: Workspace, under: str = ".") -> Iterator[str]:
    """The paths of the source files in a folder, in order; without what is hidden, fetched or built."""
    try:
        yield from (path for path in workspace.files(under, passed=_is_passed) if language_of(path.rpartition("/")[2]))
    except WorkspaceProblem as error:
        raise NotReadable(str(error)) from error


def _is_passed(name: str) -> bool:
    return name.startswith(".") or name in _PASSED or name.endswith((".min.js", ".min.css"))
