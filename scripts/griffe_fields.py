"""Griffe extension: the aligned field lists in our docstrings become Markdown lists in the API reference.

A line such as `limit    maximum characters of one result` under a first paragraph is one item; deeper lines continue it.
"""

import re
from typing import Any

import griffe

FIELD = re.compile(r"^(\w+(?:, \w+)*) {2,}(\S.*)$")


def list_fields(text: str) -> str:
    """Return a docstring with its aligned field lists as Markdown lists."""
    lines: list[str] = []
    in_list = False
    for line in text.splitlines():
        field = FIELD.match(line)
        if field:
            lines += [] if in_list else [""]
            lines.append(f"- `{field[1]}`: {field[2]}")
        elif in_list and line.startswith("    "):
            lines.append(f"    {line.strip()}")
        else:
            lines.append(line)
        in_list = field is not None or (in_list and line.startswith("    "))
    return "\n".join(lines)


class FieldLists(griffe.Extension):
    """Rewrites the docstring of every object."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = list_fields(obj.docstring.value)
