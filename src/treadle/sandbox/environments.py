"""The environments of a project, and the base Python of one where it lies outside: a virtual environment is useless without it.

The workspace says where that is and isn't trusted: only what is laid out like an installed Python counts.
"""

from pathlib import Path

from treadle.sandbox.bubblewrap import ENVIRONMENT, is_within

ENVIRONMENTS = (".venv", "venv", "env")
NODE_MODULES = "node_modules"
_PACKAGES = (NODE_MODULES, f"*/{NODE_MODULES}", f"*/*/{NODE_MODULES}")  # of the project, and of packages in it


def find_environments(project: Path) -> tuple[Path, ...]:
    """Return the folders with a project's installed packages. Only real folders: a symlink may lead anywhere."""
    named = [project / name for name in ENVIRONMENTS if (project / name / "pyvenv.cfg").is_file()]
    modules = [
        path
        for pattern in _PACKAGES
        for path in sorted(project.glob(pattern))
        if path.relative_to(project).parts.count(NODE_MODULES) == 1
    ]
    return tuple(path for path in (*named, *modules) if path.is_dir() and path.resolve() == path)


def build_path_environment(workspace: Path) -> dict[str, str]:
    """Return the environment with the workspace's own programs first, as after activating its virtual environment."""
    folders = [workspace / name / "bin" for name in ENVIRONMENTS] + [workspace / NODE_MODULES / ".bin"]
    there = [str(folder) for folder in folders if folder.is_dir()]
    return {"PATH": ":".join([*there, ENVIRONMENT["PATH"]])}


def find_base_pythons(workspace: Path) -> tuple[Path, ...]:
    """Return folders to add to `extra_read`."""
    return tuple(dict.fromkeys(found for name in ENVIRONMENTS if (found := _find_base(workspace / name)) is not None))


def _find_base(environment: Path) -> Path | None:
    if not (environment / "pyvenv.cfg").is_file():
        return None
    base = (environment / "bin" / "python").resolve().parent.parent
    outside = not is_within(base, environment.resolve(), Path("/usr"))
    return base if outside and _is_installed_python(base) and base != Path("/") else None


def _is_installed_python(base: Path) -> bool:
    return any((base / "lib").glob("python3*/os.py")) and (base / "bin" / "python3").is_file()
