"""Files on disk, for reading: what can't be read is said in a sentence. A file is read once, so that it can't change on the way."""

import os
from collections.abc import Iterator
from pathlib import Path

from treadle import TreadleError
from treadle.assistants.reading.analyse import source_of
from treadle.assistants.reading.outline.languages import canonical, language_of, languages
from treadle.assistants.reading.outline.source import is_minified, read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.source import Source

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


def load(path: Path, name: str = "") -> bytes:
    """The bytes of a file. `name` is what a person knows it by."""
    name = name or str(path)
    try:
        if path.is_dir():
            raise NotReadable(f"{name} is a folder.")
        size = path.stat().st_size
        if size > LARGEST:
            raise NotReadable(f"{name} has {size / 1e6:.0f} MB; files up to {LARGEST // 1_000_000} MB are read.")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise NotReadable(f"There is no file {name}.") from error
    except OSError as error:
        raise NotReadable(f"{name} can't be read: {error.strerror}.") from error


async def open_source(path: Path, outliner: Outliner, language: str = "", name: str = "") -> Source:
    """A file from disk, outlined."""
    return await source_from(load(path), name or path.name, language, outliner)


async def source_from(data: bytes | str, name: str, language: str, outliner: Outliner) -> Source:
    """A file's content, outlined. `language` empty means that its name tells."""
    try:
        found = read_source(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    except TreadleError as error:
        raise NotReadable(f"{name} can't be read: {error}") from error
    known = canonical(language) if language else language_of(name, found.text)
    if known is None:
        said = f"The language {language!r} isn't known" if language else f"What {name} is written in can't be told from its name"
        raise NotReadable(f"{said}. Known are: {', '.join(languages())}.")
    notes = tuple(filter(None, (found.note, MINIFIED if is_minified(found.text) else "")))
    outline = await outliner.outline(found.text, known)
    return source_of(name, found.text, outline, notes)


def walk(folder: Path) -> Iterator[Path]:
    """The source files of a folder, in order; without what is hidden, fetched or built."""
    if not folder.is_dir():
        raise NotReadable(f"There is no folder {folder}.")
    for here, folders, names in os.walk(folder):
        folders[:] = sorted([name for name in folders if name not in _PASSED and not name.startswith(".")])
        for name in sorted(names):
            path = Path(here, name)
            if not name.startswith(".") and not name.endswith((".min.js", ".min.css")) and language_of(name) and path.is_file():
                yield path
