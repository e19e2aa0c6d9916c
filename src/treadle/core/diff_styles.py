"""The style of each line of a diff at a terminal. Pure.

A removed line may begin with `--` itself, and an added one with `++`: what belongs to a hunk follows from the counts in its
header.
"""

import re
from collections.abc import Iterator

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_CHANGED = {"+": "green", "-": "red"}


def style_diff(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its style: none for lines that a change leaves as they are, and for text that is no diff."""
    removed = added = 0  # lines of the present hunk that are still to come
    is_header = False
    for line in text.removesuffix("\n").split("\n") if text else ():
        mark = line[:1]
        if (removed or added) and mark in ("", " ", "+", "-", "\\"):
            removed -= removed > 0 and mark in ("", " ", "-")
            added -= added > 0 and mark in ("", " ", "+")
            yield line, _CHANGED.get(mark, "")
        elif hunk := _HUNK.match(line):
            removed, added = (1 if count is None else int(count) for count in hunk.groups())
            is_header = False
            yield line, "cyan"
        else:
            removed = added = 0
            is_header = is_header or line.startswith("diff --git ")
            yield line, "bold" if is_header or line.startswith(("--- ", "+++ ")) else _CHANGED.get(mark, "")
