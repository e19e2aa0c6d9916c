"""The environments of a project, and the Python of one where it lies outside: it is of no use without the one it was made from.

The workspace says where that is, and isn't to be trusted: only what is laid out like an installed Python counts.
"""

from pathlib import Path

from treadle.toolsets.sandbox.bubblewrap import within

ENVIRONMENTS = (".venv", "venv", "env")
MODULES = "node_modules"
_PACKAGES = (MODULES, f"*/{MODULES}", f"*/*/{MODULES}")  # of the project, and of packages in it


def environments_in(project: Path) -> tuple[Path, ...]:
    """The folders in which a project has what is installed for it. Only folders: a link may lead anywhere."""
    named = [project / name for name in ENVIRONMENTS if (project / name / "pyvenv.cfg").is_file()]
    modules = [
        path
        for pattern in _PACKAGES
        for path in sorted(project.glob(pattern))
        if path.relative_to(project).parts.count(MODULES) == 1
    ]
    return tuple(path for path in (*named, *modules) if path.is_dir() and path.resolve() == path)


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
