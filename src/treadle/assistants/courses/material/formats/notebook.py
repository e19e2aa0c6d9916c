"""Jupyter notebooks (.ipynb): text cells as they are, code in fences, and its output if that is short text."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from treadle.assistants.courses.material.course_types import Material, normalize_material_text
from treadle.assistants.courses.material.line_parsing import close_fence
from treadle.passages import UnreadableDocument, decode_document

LONGEST_OUTPUT = 500  # characters
MOST_OUTPUT = 2_000  # characters of a cell's outputs together

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EMBEDDED = re.compile(r"\(data:[^)\s]*\)")
_TICKS = re.compile(r"`{3,}")


def read_notebook(data: bytes) -> Material:
    """Parse a notebook of any version."""
    notebook = _load_notebook(decode_document(data))
    language = _code_language(notebook.get("metadata", {}))
    text, anchors = "", list[tuple[int, str]]()
    for number, cell in enumerate(notebook["cells"], 1):
        shown = normalize_material_text("\n\n".join(_format_cell(cell, language))).strip("\n")
        if shown.strip():
            text += "\n\n" if text else ""
            anchors.append((len(text), f"cell {number}"))
            text += shown
    return Material(text, markdown=True, anchors=tuple(anchors), title=str(notebook.get("metadata", {}).get("title") or ""))


def _load_notebook(text: str) -> Any:
    """Load a notebook, converted to the newest version."""
    nbformat: Any = import_module("nbformat")  # without types

    try:
        found = nbformat.convert(nbformat.reader.reads(text), 4)
    except (ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        raise UnreadableDocument("it is no notebook, or not a whole one") from error
    if not isinstance(found.get("cells"), list):
        raise UnreadableDocument("it is no notebook: it has no cells")
    return found


def _code_language(about: Any) -> str:
    """Return the language of the code."""
    for place, name in (("kernelspec", "language"), ("language_info", "name")):
        known: dict[str, Any] = about.get(place) or {}
        if known.get(name):
            return str(known[name])
    return ""


def _format_cell(cell: Any, language: str) -> Iterator[str]:
    source = str(cell.get("source") or "")
    if cell.get("cell_type") != "code":
        yield close_fence(_EMBEDDED.sub("()", source))
    elif source.strip():
        yield _fence_code(source, language)
    left = MOST_OUTPUT
    for output in cell.get("outputs", ()):
        most = min(LONGEST_OUTPUT, left)
        if most and (printed := _COLOUR.sub("", _output_text(output)).strip("\n")):
            shown = printed if len(printed) <= most else f"{printed[: most - 1]}…"
            left -= len(shown)
            yield _fence_code(shown, "text")


def _output_text(output: Any) -> str:
    """Return an output as plain text; the placeholder line of a picture is ignored."""
    if output.get("output_type") == "stream":
        return str(output.get("text", ""))
    kinds = output.get("data", {})
    return "" if any(kind.startswith("image/") for kind in kinds) else str(kinds.get("text/plain", ""))


def _fence_code(code: str, language: str) -> str:
    ticks = max((len(found) for found in _TICKS.findall(code)), default=2) + 1
    return f"{'`' * ticks}{language}\n{code}\n{'`' * ticks}"
