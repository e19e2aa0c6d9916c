"""What a dialect's parser makes of a reply, whole or cut into pieces; and the tools most tests offer."""

import random
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from treadle.core.calls import Written
from treadle.core.requests import ToolSpec
from treadle.core.seams import Dialect


def tool(name: str, **properties: object) -> ToolSpec:
    schemas = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in properties.items()}
    return ToolSpec(name, f"Does {name}.", {"type": "object", "properties": schemas})


TOOLS = (
    tool("grep", pattern="string", path="string", ignore_case="boolean", max_count="integer"),
    tool("read_file", path="string", start="integer", end="integer"),
    tool("write_file", path="string", content="string"),
    tool("search", query="string", limit="integer", tags={"type": "array", "items": {"type": "string"}}),
    tool("ls", path="string", all="boolean"),
)


class Heard(Struct, frozen=True):
    """All of a reply: its words, its thinking, its calls."""

    text: str
    thinking: str
    calls: tuple[Written, ...]

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.calls]

    @property
    def made(self) -> list[tuple[str, object]]:
        """Names and arguments of the calls that weren't cut off."""
        return [(call.name, msgspec.json.decode(call.text)) for call in self.calls if not call.cut]


def hear_pieces(
    dialect: Dialect, pieces: Iterable[str], tools: Sequence[ToolSpec] = TOOLS, reasoning_open: bool | None = None
) -> Heard:
    parser = dialect.parser(tools, reasoning_open)
    text, thinking, calls = "", "", ()
    for one in (*map(parser.feed, pieces), parser.close()):
        if one.recant:
            text, thinking = "", text
        text, thinking, calls = text + one.text, thinking + one.thinking, (*calls, *one.calls)
    return Heard(text, thinking.strip(), calls)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def cut_anyhow(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = chance.choice((1, 2, 3, 5, 8, 20, 100))
        pieces.append(text[at : at + size])
        at += size
    return pieces


def hear(dialect: Dialect, text: str, tools: Sequence[ToolSpec] = TOOLS, reasoning_open: bool | None = None) -> Heard:
    """What is heard of the whole text; and it has to be the same however the text is cut."""
    whole = hear_pieces(dialect, [text], tools, reasoning_open)
    for size in (1, 2, 3, 7):
        assert hear_pieces(dialect, cut(text, size), tools, reasoning_open) == whole
    assert hear_pieces(dialect, cut_anyhow(text, len(text)), tools, reasoning_open) == whole
    return whole
