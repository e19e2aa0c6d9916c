"""The names of the installed assistants, read from the packages' own files: for help, which must be there at once.

Loading an assistant is `app.assistants`. The standard library's way of finding out takes longer than all the rest of help.
"""

import os
import sys

_SECTION = "[treadle.assistants]"


def names_of_assistants() -> list[str]:
    """What is registered, sorted. Packages in archives aren't looked at."""
    return sorted({name for folder in sys.path for text in _registrations(folder or ".") for name in _names_in(text)})


def _registrations(folder: str) -> list[str]:
    """What the packages of a folder register."""
    try:
        with os.scandir(folder) as entries:
            packages = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return []
    return [text for package in packages if _SECTION in (text := _read(f"{package}/entry_points.txt"))]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a path object costs more than reading it
            return file.read()
    except OSError:
        return ""


def _names_in(text: str) -> list[str]:
    lines = text.partition(_SECTION)[2].partition("\n[")[0].splitlines()
    return [name for line in lines if (name := line.partition("=")[0].strip()) and not name.startswith(("#", ";"))]
