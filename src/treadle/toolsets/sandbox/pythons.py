"""The Python a workspace runs on, where it lies outside: a virtual environment is of no use without the one it was made from.

The workspace says where that is, and isn't to be trusted: only what is laid out like an installed Python counts.
"""

from pathlib import Path

from treadle.toolsets.sandbox.bubblewrap import within

ENVIRONMENTS = (".venv", "venv", "env")


def python_of(workspace: Path) -> tuple[Path, ...]:
    """Folders to add to `extra_read`."""
    return tuple(dict.fromkeys(found for name in ENVIRONMENTS if (found := _base(workspace / name)) is not None))


def _base(environment: Path) -> Path | None:
    if not (environment / "pyvenv.cfg").is_file():
        return None
    base = (environment / "bin" / "python").resolve().parent.parent
    outside = not within(base, environment.resolve(), Path("/usr"))
    return base if outside and _installed(base) and base != Path("/") else None


def _installed(base: Path) -> bool:
    return any((base / "lib").glob("python3*/os.py")) and (base / "bin" / "python3").is_file()
