"""Jupyter notebooks (.ipynb): text cells as they are, code in fences, and what it printed as far as that is short text."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from treadle.assistants.courses.material.lines import closed
from treadle.assistants.courses.material.tidy import plain
from treadle.assistants.courses.material.values import Material
from treadle.passages import Unreadable, text_of

LONGEST_OUTPUT = 500  # characters
MOST_OUTPUT = 2_000  # characters of a cell's outputs together

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EMBEDDED = re.compile(r"\(data:[^)\s]*\)")
_TICKS = re.compile(r"`{3,}")


def read_notebook(data: bytes) -> Material:
    """A notebook of any version."""
    notebook = _opened(text_of(data))
    language = _language(notebook.get("metadata", {}))
    text, anchors = "", list[tuple[int, str]]()
    for number, cell in enumerate(notebook["cells"], 1):
        shown = plain("\n\n".join(_shown(cell, language))).strip("\n")
        if shown.strip():
            text += "\n\n" if text else ""
            anchors.append((len(text), f"cell {number}"))
            text += shown
    return Material(text, markdown=True, anchors=tuple(anchors), title=str(notebook.get("metadata", {}).get("title") or ""))


def _opened(text: str) -> Any:
    """The notebook in a text, as the newest version has it."""
    nbformat: Any = import_module("nbformat")  # without types

    try:
        found = nbformat.convert(nbformat.reader.reads(text), 4)
    except (ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        raise Unreadable("it is no notebook, or not a whole one") from error
    if not isinstance(found.get("cells"), list):
        raise Unreadable("it is no notebook: it has no cells")
    return found


def _language(about: Any) -> str:
    """The language that the code is in."""
    for place, name in (("kernelspec", "language"), ("language_info", "name")):
        known: dict[str, Any] = about.get(place) or {}
        if known.get(name):
            return str(known[name])
    return ""


def _shown(cell: Any, language: str) -> Iterator[str]:
    source = str(cell.get("source") or "")
    if cell.get("cell_type") != "code":
        yield closed(_EMBEDDED.sub("()", source))
    elif source.strip():
        yield _fenced(source, language)
    left = MOST_OUTPUT
    for output in cell.get("outputs", ()):
        most = min(LONGEST_OUTPUT, left)
        if most and (printed := _COLOUR.sub("", _printed(output)).strip("\n")):
            shown = printed if len(printed) <= most else f"{printed[: most - 1]}…"
            left -= len(shown)
            yield _fenced(shown, "text")


def _printed(output: Any) -> str:
    """What an output says in plain text; pictures have a line that says nothing."""
    if output.get("output_type") == "stream":
        return str(output.get("text", ""))
    kinds = output.get("data", {})
    return "" if any(kind.startswith("image/") for kind in kinds) else str(kinds.get("text/plain", ""))


def _fenced(code: str, language: str) -> str:
    ticks = max((len(found) for found in _TICKS.findall(code)), default=2) + 1
    return f"{'`' * ticks}{language}\n{code}\n{'`' * ticks}"
