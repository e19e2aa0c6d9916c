"""What an edit changed, as a unified diff that is short enough to show. Pure."""

import re

from treadle.toolsets.workspace.edits import lines_of

MOST_LINES = 80
MOST_COMPARED = 4_000
CONTEXT = 3


def diff(before: str, after: str, most: int | None = MOST_LINES) -> str:
    """The hunks without file names, at most `most` lines of them; counts alone where more lines differ than can be compared.

    Without `most` nothing is left out: lines that can't be compared are all taken away and all added.
    """
    old, new = lines_of(before), lines_of(after)
    same = _same(old, new)
    tail = _same(old[same:][::-1], new[same:][::-1])
    first, last = max(same - CONTEXT, 0), max(tail - CONTEXT, 0)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if len(old) + len(new) > MOST_COMPARED:
        if most is None:
            return "\n".join([*[f"-{line}".rstrip("\r\n") for line in old], *[f"+{line}".rstrip("\r\n") for line in new]])
        return f"[{len(old)} lines became {len(new)} lines]"
    lines = _hunks(old, new, first)
    left = 0 if most is None else len(lines) - most
    return "\n".join([*lines[:most], f"[{left} more lines of the difference]"] if left > 0 else lines)


def _hunks(old: list[str], new: list[str], skipped: int) -> list[str]:
    import difflib

    lines = list(difflib.unified_diff(old, new, n=CONTEXT))[2:]
    return [_moved(line, skipped) if line.startswith("@@") else line.rstrip("\r\n") for line in lines]


def _moved(header: str, skipped: int) -> str:
    """A header whose line numbers count the lines before the compared ones."""
    return re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + skipped}", header.rstrip("\n"))


def _same(old: list[str], new: list[str]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count
