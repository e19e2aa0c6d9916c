"""An outline as text for a model: a line for each node, its line numbers first, in as few tokens as are clear.

    1-9 import os, re, .stock (Item, Place)
    12-40 class Shelf(Base) # where stock lies
     15-18 def put(self, item: str) -> None
     20-38 … 4 more methods

What doesn't fit is shed by the steps in `detail`; what stays longest is the line range of each definition at the top.
"""

from treadle.assistants.reading.outline.detail import STEPS, Detail
from treadle.assistants.reading.outline.lines import written
from treadle.assistants.reading.outline.signatures import shortened
from treadle.assistants.reading.outline.tokens import estimated_tokens
from treadle.assistants.reading.outline.values import Outline

LONG = 500  # lines from which on an outline takes at most a quarter of its file
_SHARE = 0.25
_TOKEN_SHARE = 0.205  # as the count of tokens is a rough one
_HEADER = 200


def compact(outline: Outline, most_chars: int | None = None) -> str:
    """The outline as text, in at most `most_chars`; unless they are given, in at most a quarter of what a long file takes."""
    low, high = 0, len(STEPS) - 1
    while low < high:  # the first step that fits; each takes less than the one before
        middle = (low + high) // 2
        if _fits(_text(outline, STEPS[middle]), outline, most_chars):
            high = middle
        else:
            low = middle + 1
    text = _text(outline, STEPS[low])
    return text if most_chars is None else _cut(text, most_chars)


def _text(outline: Outline, detail: Detail) -> str:
    header: list[str] = []
    if outline.doc and detail.at_top.comment:
        header.append(f"# {shortened(' '.join(outline.doc.split()), _HEADER)}")
    if outline.note and detail.at_top.comment:
        header.append(f"# {outline.note}")
    return "\n".join([*header, *written(outline.nodes, detail)])


def _fits(text: str, outline: Outline, most_chars: int | None) -> bool:
    if most_chars is not None:
        return len(text) <= most_chars
    if outline.lines <= LONG:
        return len(text) <= max(outline.chars, LONG)
    return len(text) <= outline.chars * _SHARE and estimated_tokens(text) <= outline.tokens * _TOKEN_SHARE


def _cut(text: str, most: int) -> str:
    """At most so many characters, whole lines if possible."""
    if len(text) <= most:
        return text
    kept = text[: max(0, most - 1)]
    return f"{kept.rpartition(chr(10))[0] or kept}…"[:most]
