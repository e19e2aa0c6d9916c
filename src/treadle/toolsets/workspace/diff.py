"""Unified diff of an edit that is short enough to show. Pure."""

import re

from treadle.toolsets.workspace.edits import split_keeping_ends

MAX_LINES = 80
MAX_COMPARED = 4_000
CONTEXT = 3


def format_edit_diff(before: str, after: str, most: int | None = MAX_LINES) -> str:
    """Return the hunks without file names, at most `most` lines; only counts where more lines differ than can be compared.

    Without `most` nothing is left out: lines that can't be compared are all removed and all added.
    """
    old, new = split_keeping_ends(before), split_keeping_ends(after)
    same = _count_same(old, new)
    tail = _count_same(old[same:][::-1], new[same:][::-1])
    first, last = max(same - CONTEXT, 0), max(tail - CONTEXT, 0)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if len(old) + len(new) > MAX_COMPARED:
        if most is None:
            return "\n".join([*[f"-{line}".rstrip("\r\n") for line in old], *[f"+{line}".rstrip("\r\n") for line in new]])
        return f"[{len(old)} lines became {len(new)} lines]"
    lines = _build_hunks(old, new, first)
    left = 0 if most is None else len(lines) - most
    return "\n".join([*lines[:most], f"[{left} more lines of the difference]"] if left > 0 else lines)


def _build_hunks(old: list[str], new: list[str], skipped: int) -> list[str]:
    import difflib

    lines = list(difflib.unified_diff(old, new, n=CONTEXT))[2:]
    return [_shift_header(line, skipped) if line.startswith("@@") else line.rstrip("\r\n") for line in lines]


def _shift_header(header: str, skipped: int) -> str:
    """Return a header whose line numbers include the lines before the compared ones."""
    return re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + skipped}", header.rstrip("\n"))


def _count_same(old: list[str], new: list[str]) -> int:
    """Count the equal lines at the beginning."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count
