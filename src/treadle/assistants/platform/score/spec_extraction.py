"""Find the spec in a model's answer: the first YAML fence, or the whole text if that is a spec."""

import re
from collections.abc import Iterator

from msgspec import Struct

from treadle.assistants.platform.score.spec import BadSpec
from treadle.assistants.platform.score.yaml_tree import YamlMapping, parse_yaml

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[^`]*")
_YAML = ("yaml", "yml")


class _Block(Struct, frozen=True):
    language: str
    text: str


def find_spec(text: str) -> str | None:
    """Return the first non-empty YAML fence; else a fence without a language, or the whole text, if that is a spec."""
    blocks = [block for block in _find_blocks(text) if block.text.strip()]
    for block in blocks:
        if block.language in _YAML:
            return block.text
    for block in blocks:
        if not block.language and _is_spec(block.text):
            return block.text
    return text if not blocks and _is_spec(text) else None


def _find_blocks(text: str) -> Iterator[_Block]:
    """Yield the fenced blocks in order; an unclosed one extends to the end."""
    lines = iter(text.splitlines())
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            continue
        inside: list[str] = []
        for within in lines:
            if _is_closing_fence(within, opening["fence"]):
                break
            inside.append(_outdent(within, len(opening["indent"])))
        yield _Block(opening["language"].lower(), "".join(f"{each}\n" for each in inside))


def _is_closing_fence(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _outdent(line: str, indent: int) -> str:
    """Return the line without its fence's indentation, as far as it has any."""
    space = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, space) :]


def _is_spec(text: str) -> bool:
    try:
        root, _ = parse_yaml(text)
    except BadSpec:
        return False
    return isinstance(root, YamlMapping) and root.get("metadata") is not None and root.get("containers") is not None
