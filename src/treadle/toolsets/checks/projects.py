"""Where in a workspace the tests are that were asked for: the folder of their project, and the path from there."""

from pathlib import Path

from msgspec import Struct

from treadle.files.problems import BadPath, missing, outside, shown
from treadle.toolsets.checks.problems import NotRun
from treadle.toolsets.checks.runners import ENDINGS, MARKERS, kinds_of
from treadle.toolsets.checks.values import Kind, Wanted
from treadle.toolsets.sandbox.bubblewrap import within


class Project(Struct, frozen=True):
    """A project in a workspace. `path` is what was asked for, from the project's folder; `part` is what follows `::` in it.

    `seen_root` is where commands see the root: another path where the workspace is a private copy.
    """

    root: Path
    folder: Path
    kind: Kind
    path: str = ""
    part: str = ""
    seen_root: Path | None = None

    def seen(self, path: Path) -> Path:
        """Where commands see a path of the workspace."""
        return path if self.seen_root is None else self.seen_root / path.relative_to(self.root)

    @property
    def target(self) -> Path:
        """The file or folder of tests, or the project's folder."""
        return self.folder / self.path


def project_for(root: Path, wanted: Wanted, seen_root: Path | None = None) -> Project:
    """The project that the wanted tests belong to. Raises a problem where there is none, or no such path."""
    asked, _, part = wanted.path.partition("::")
    if seen_root is not None and within(Path(asked), seen_root):
        asked = str(Path(asked).relative_to(seen_root))
    target = _target(root, asked)
    kind: Kind = wanted.type if wanted.type != "auto" else ENDINGS.get(target.suffix, "auto")
    folder = _folder(root, target, kind)
    if kind == "auto":
        folder, kind = _guessed(root, folder, target)
        target = folder if target == root else target
    path = "" if target == folder else str(target.relative_to(folder))
    return Project(root, folder, kind, path, part, seen_root)


def _target(root: Path, asked: str) -> Path:
    if asked.startswith("-") or "\0" in asked:
        raise BadPath(f"{shown(asked)} is no path. Name a file or folder of tests, or leave it out to run all.")
    try:
        target = (root / asked.rstrip("/")).resolve()
        there = target.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, links in a circle, no characters
        raise BadPath(f"{shown(asked)} can't be looked at: {error}.") from error
    if not within(target, root):
        raise outside(asked)
    if not there:
        raise missing(asked)
    return target


def _folder(root: Path, target: Path, kind: Kind) -> Path:
    """The nearest folder, from the target up, with a file that marks such a project; else the one that the tests' folder is in."""
    markers = [name for known, names in MARKERS.items() if kind in (known, "auto") for name in names]
    start = target if target.is_dir() else target.parent
    above = [folder for folder in (start, *start.parents) if within(folder, root)]
    marked = (folder for folder in above if any((folder / name).is_file() for name in markers))
    beside = (folder.parent for folder in reversed(above) if folder != root and folder.name in ("tests", "test"))
    return next(marked, None) or next(beside, root)


def _guessed(root: Path, folder: Path, target: Path) -> tuple[Path, Kind]:
    """The kind by what is in the folder; where the workspace itself is no project, by what is in the folders of it."""
    kinds = kinds_of(folder)
    if kinds:
        return folder, kinds[0]
    children = {child: kinds_of(child) for child in _children(root)} if target == root else {}
    inner = [child for child, kinds in children.items() if kinds]
    if len(inner) == 1:
        return inner[0], children[inner[0]][0]
    if inner:
        names = ", ".join(shown(child.name) for child in inner)
        raise NotRun(f"There are several projects in the workspace: {names}. Repeat the call with path set to one of them.")
    raise NotRun(
        "No tests were found that a known runner could run: pytest, unittest, go test, cargo test or a test script of npm. "
        "If there are tests, repeat the call with type."
    )


def _children(root: Path) -> list[Path]:
    skipped = ("node_modules", "vendor", "target", "dist", "build")
    return sorted(child for child in root.iterdir() if child.is_dir() and child.name[0] != "." and child.name not in skipped)
