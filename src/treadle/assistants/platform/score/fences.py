"""The spec in what a model says: the first YAML fence, or the whole text where that is a spec."""

import re
from collections.abc import Iterator

from msgspec import Struct

from treadle.assistants.platform.score.tree import Fields, parse
from treadle.assistants.platform.score.values import BadSpec

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[^`]*")
_YAML = ("yaml", "yml")


class _Block(Struct, frozen=True):
    language: str
    text: str


def spec_in(text: str) -> str | None:
    """The first YAML fence that has something in it; else a fence without a language, or the whole text, if that is a spec."""
    blocks = [block for block in _blocks(text) if block.text.strip()]
    for block in blocks:
        if block.language in _YAML:
            return block.text
    for block in blocks:
        if not block.language and _is_spec(block.text):
            return block.text
    return text if not blocks and _is_spec(text) else None


def _blocks(text: str) -> Iterator[_Block]:
    """The fenced blocks from top to bottom; one that isn't closed goes on to the end."""
    lines = iter(text.splitlines())
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            continue
        inside: list[str] = []
        for within in lines:
            if _closes(within, opening["fence"]):
                break
            inside.append(_outdented(within, len(opening["indent"])))
        yield _Block(opening["language"].lower(), "".join(f"{each}\n" for each in inside))


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _outdented(line: str, indent: int) -> str:
    """The line without the space that its fence is indented by, as far as it has any."""
    space = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, space) :]


def _is_spec(text: str) -> bool:
    try:
        root, _ = parse(text)
    except BadSpec:
        return False
    return isinstance(root, Fields) and root.get("metadata") is not None and root.get("containers") is not None
