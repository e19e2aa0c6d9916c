"""A call as the person reads it who decides about it: its tool, its arguments, and what it would do. Nothing is hidden or cut.

Arguments that the preview shows aren't printed beside it. The question itself is `approval_prompt`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from treadle.cli.ui.render import fold_line, to_visible_json
from treadle.cli.ui.screen import Screen
from treadle.core.diff_styles import style_diff
from treadle.core.wrapping import display_width
from treadle.engine.setup import Approval
from treadle.guard.visible_text import make_visible

_NAME = re.compile(r"[A-Za-z0-9_.$\[\]-]+")
_HUNK = re.compile(r"^@@ -\d", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:(?:\d+[.)]|[-*]) )?")
INDENT = "  "
MAX_COMPACT = 60  # characters of a list or an object that is one line


def print_call(screen: Screen, approval: Approval, before: str = "→ ", indent: str = "") -> None:
    """Print a call that waits for approval, with the arguments that its preview doesn't show, and the preview."""
    width = screen.fold_width
    head, *arguments = format_call_lines(approval, width, before, indent)
    screen.tell(head, "yellow")
    for line in arguments:
        screen.tell(line)
    if approval.preview:
        print_preview(screen, approval.preview, indent)


def format_call_lines(approval: Approval, width: int | None, before: str = "", indent: str = "") -> list[str]:
    """Return a line that names the tool, and the lines of its arguments.

    Beside a preview that shows some of them, the others are in the first line where they fit: `edit(path="a.py", …)`.
    """
    covered = set(approval.covers) if approval.preview else set[str]()
    others = {name: value for name, value in approval.arguments.items() if name not in covered}
    tool = make_visible(approval.name)
    if covered and others:
        inline = ", ".join([f"{_format_name(name)}={to_visible_json(value)}" for name, value in others.items()])
        head = f"{before}{tool}({inline}, …) needs approval"
        if width is None or display_width(head) <= width:
            return [head]
    room = None if width is None else width - len(indent)
    return [f"{before}{tool} needs approval", *[f"{indent}{line}" for line in format_arguments(others, room)]]


def format_arguments(arguments: Mapping[str, Any], width: int | None) -> list[str]:
    """Return arguments as lines, `name: value`; a text of several lines below its name. What isn't plain text is JSON.

    Where there is a width, no line is longer: what belongs to a value is indented, so that none of it passes for another argument.
    """
    lines: list[str] = []
    for name, value in arguments.items():
        first, *more = _format_value(value)
        lines += fold_line(f"{_format_name(name)}: {first}".rstrip(), width, INDENT)
        for line in more:
            lines += fold_line(INDENT + line, width, INDENT * 2)
    return lines


def _format_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else to_visible_json(name)


def _format_value(value: Any) -> Sequence[str]:
    """Return a value as lines. The first one is empty where a text of several lines begins below."""
    if isinstance(value, str) and _is_plain(value):
        lines = value.expandtabs(4).split("\n")
        return lines if len(lines) == 1 else ["", *lines]
    compact = to_visible_json(value)
    is_long = isinstance(value, dict | list) and len(compact) > MAX_COMPACT
    return to_visible_json(value, indent=2).split("\n") if is_long else [compact]


def _is_plain(text: str) -> bool:
    """Return whether a text can be printed as it is: nothing in it is hidden, and it can't pass for another value."""
    if make_visible(text) != text or not text.strip():
        return False
    return "\n" in text or ("\t" not in text and text == text.strip() and not _is_json(text))


def _is_json(text: str) -> bool:
    """Return whether a text reads like JSON: `12`, `true` or `"a"` would pass for another value."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def print_preview(screen: Screen, text: str, indent: str = "") -> None:
    """Print what a call would do: a diff in colour and as it is, other text folded at blanks."""
    shown = make_visible(text.rstrip("\n"))
    width = None if _HUNK.search(shown) or screen.fold_width is None else screen.fold_width - len(indent)
    for line, style in style_diff(shown):
        item = _ITEM.match(line)
        for piece in fold_line(line, width, " " * (item.end() if item else 0)):
            screen.tell(f"{indent}{piece}", style)
