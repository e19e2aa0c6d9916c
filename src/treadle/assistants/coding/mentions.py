"""Mentions in what is typed in a coding session: `@FILE`, `@symbol`, and images by their path."""

import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from treadle import Image
from treadle.assistant import Quote, TypedPrompt, expand_mentions
from treadle.assistants.coding.project_symbols import MAX_PLACES, SymbolDefinition
from treadle.errors import BadMedia

MAX_LINES = 200  # of one definition
_SYMBOL = re.compile(r"(?<!\S)@([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?![\w/\"@])")
_IMAGE = re.compile(r"(?<![^\s'\"])(?:\\ |[^\s'\"@\\])+\.(?:png|jpe?g|gif|webp)(?=$|[\s'\",;:)])", re.IGNORECASE)


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
        return TypedPrompt(prompt.text, (*prompt.attachments, *map(_quote_definition, self.definitions), *_find_images(typed)))


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


def _quote_definition(found: SymbolDefinition) -> Quote:
    lines = found.source.splitlines()[:MAX_LINES]
    more = found.end - found.start + 1 - len(lines)
    note = f"\n[{more} more lines]" if more > 0 else ""
    return Quote(f"{found.name} in {found.path}, lines {found.start}-{found.end}", "\n".join(lines) + note)


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
