"""Names of the installed assistants, read from package metadata files, for help, which must appear at once.

No assistant is loaded for this. The standard library's lookup takes longer than all the rest of help.
"""

import os
import sys

_SECTION = "[treadle.assistants]"


def list_assistant_names() -> list[str]:
    """Return the registered names, sorted. Packages in archives aren't searched."""
    return sorted({name for folder in sys.path for text in _read_registrations(folder or ".") for name in _parse_names(text)})


def _read_registrations(folder: str) -> list[str]:
    """Return the entry point files of a folder's packages that register assistants."""
    try:
        with os.scandir(folder) as entries:
            packages = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return []
    return [text for package in packages if _SECTION in (text := _read_text(f"{package}/entry_points.txt"))]


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a path object costs more than reading it
            return file.read()
    except OSError:
        return ""


def _parse_names(text: str) -> list[str]:
    lines = text.partition(_SECTION)[2].partition("\n[")[0].splitlines()
    return [name for line in lines if (name := line.partition("=")[0].strip()) and not name.startswith(("#", ";"))]
