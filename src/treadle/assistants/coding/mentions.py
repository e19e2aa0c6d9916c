"""Mentions in what is typed in a coding session: `@FILE`, `@symbol`, and images by their path.

Symbols are found by the reading assistant's symbol index; where that can't be used, in the project's Python sources.
"""

import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle import Image
from treadle.assistant import TypedPrompt, expand_mentions
from treadle.errors import BadMedia, TreadleError
from treadle.files import Workspace, WorkspaceProblem

if TYPE_CHECKING:
    from treadle.assistants.reading.symbols.index import SymbolLocation

MAX_PLACES = 3  # definitions of one name that are shown
MAX_LINES = 200  # of one definition
_SYMBOL = re.compile(r"(?<!\S)@([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?![\w/\"@])")
_IMAGE = re.compile(r"(?<![^\s'\"])(?:\\ |[^\s'\"@\\])+\.(?:png|jpe?g|gif|webp)(?=$|[\s'\",;:)])", re.IGNORECASE)


class SymbolDefinition(Struct, frozen=True):
    """A definition with its source."""

    path: str
    name: str
    start: int
    end: int
    source: str


SymbolFinder = Callable[[str], Awaitable[Sequence[SymbolDefinition]]]


class SymbolMentions(Struct, frozen=True):
    """The names in typed text that are defined in the project, and their definitions."""

    names: frozenset[str]
    definitions: tuple[SymbolDefinition, ...]

    def escape(self, text: str) -> str:
        """Return the text with these names marked as no files: `@Cart.total` could be one."""
        return _SYMBOL.sub(lambda match: f"\\{match[0]}" if match[1] in self.names else match[0], text)

    def add_to(self, prompt: TypedPrompt, typed: str) -> TypedPrompt:
        """Return a prompt with the definitions, and with the images whose paths are typed."""
        blocks = "".join(map(_format_definition, self.definitions))
        return TypedPrompt(prompt.text + blocks, (*prompt.attachments, *_find_images(typed)))


async def find_mentions(text: str, find_symbols: SymbolFinder) -> SymbolMentions:
    """Find the symbols that typed text mentions. `@name` is one unless there is a file of that name."""
    found = {name: (await find_symbols(name))[:MAX_PLACES] for name in _find_names(text)}
    names = frozenset(name for name, places in found.items() if places)
    return SymbolMentions(names, tuple([place for places in found.values() for place in places]))


async def expand_session_mentions(text: str, find_symbols: SymbolFinder) -> TypedPrompt:
    """Return typed text with what it mentions: files and definitions as text, images as attachments.

    A name that isn't found stays as it is typed.
    """
    mentions = await find_mentions(text, find_symbols)
    return mentions.add_to(expand_mentions(mentions.escape(text)), text)


def _find_names(text: str) -> Sequence[str]:
    """Return the names that are mentioned, without those of files."""
    return [name for name in dict.fromkeys(match[1] for match in _SYMBOL.finditer(text)) if not Path(name).is_file()]


def _format_definition(found: SymbolDefinition) -> str:
    lines = found.source.splitlines()[:MAX_LINES]
    more = found.end - found.start + 1 - len(lines)
    note = f"\n[{more} more lines]" if more > 0 else ""
    about = f'name="{found.name}" file="{found.path}" lines="{found.start}-{found.end}"'
    return f"\n\n<symbol {about}>\n" + "\n".join(lines) + f"{note}\n</symbol>"


def _find_images(text: str) -> list[Image]:
    """Return the images whose paths are typed, wherever they are: the user names them, as with `treadle ask -f`."""
    paths = dict.fromkeys(match[0].replace("\\ ", " ") for match in _IMAGE.finditer(text))
    there = [path for path in (Path(name).expanduser() for name in paths) if path.is_file()]
    return [image for path in there if (image := _read_image(path)) is not None]


def _read_image(path: Path) -> Image | None:
    try:
        return Image.from_path(path)
    except (BadMedia, OSError):  # a file that is only named like an image
        return None


def make_symbol_finder(folder: Path, data: Path | None) -> SymbolFinder:
    """Return a finder of definitions by name or end of it, by the symbol index, which is stored in the folder of a home.

    Without the grammars, or without ripgrep, it finds those of Python.
    """

    async def find_symbols(name: str) -> Sequence[SymbolDefinition]:
        if find_spec("tree_sitter"):
            from treadle.assistants.reading.symbols.index import find_symbol  # with the parsers, which a mention needs first

            with suppress(TreadleError):
                found = await find_symbol(folder, name, data)
                return await to_thread(_read_definitions, folder, name, found)
        return await to_thread(_find_python_definitions, folder, name)

    return find_symbols


def _read_definitions(folder: Path, name: str, found: "Sequence[SymbolLocation]") -> list[SymbolDefinition]:
    workspace = Workspace(folder)
    definitions: list[SymbolDefinition] = []
    for place in sorted(found, key=lambda each: (each.inside != name, each.path, each.start))[:MAX_PLACES]:
        with suppress(WorkspaceProblem):
            lines = workspace.read_bytes(place.path).decode("utf-8", errors="replace").splitlines()
            source = "\n".join(lines[place.start - 1 : place.end])
            definitions.append(SymbolDefinition(place.path, place.inside, place.start, place.end, source))
    return definitions


def _find_python_definitions(folder: Path, name: str) -> list[SymbolDefinition]:
    from treadle.assistants.coding.job_environment import read_project_sources

    sources = read_project_sources(folder)
    found: list[SymbolDefinition] = []
    for path, text in sources.files.items():
        lines = text.splitlines()
        for place in sources.module(path).places.values():
            if f".{place.name}".endswith(f".{name}"):
                source = "\n".join(lines[place.start - 1 : place.end])
                found.append(SymbolDefinition(path, place.name, place.start, place.end, source))
    return sorted(found, key=lambda each: (each.name != name, each.path, each.start))
