"""Location of the requested tests in a workspace: the folder of their project, and the path from there."""

from pathlib import Path

from msgspec import Struct

from treadle.files.problems import BadPath, missing_error, outside_error, printable_name
from treadle.sandbox.bubblewrap import is_within
from treadle.toolsets.checks.runners import ENDINGS, MARKERS, detect_kinds
from treadle.toolsets.checks.values import CheckSelection, ChecksNotRun, Kind


class CheckProject(Struct, frozen=True):
    """A project in a workspace. `path` is the requested path, relative to the project's folder; `part` is what follows `::` in it.

    `seen_root` is where commands see the root: another path where the workspace is a private copy.
    """

    root: Path
    folder: Path
    kind: Kind
    path: str = ""
    part: str = ""
    seen_root: Path | None = None

    def seen(self, path: Path) -> Path:
        """Return where commands see a path of the workspace."""
        return path if self.seen_root is None else self.seen_root / path.relative_to(self.root)

    @property
    def target(self) -> Path:
        """The file or folder of tests, or the project's folder."""
        return self.folder / self.path


def find_check_project(root: Path, wanted: CheckSelection, seen_root: Path | None = None) -> CheckProject:
    """Return the project that the selected tests belong to. Raises a problem where there is none, or no such path."""
    asked, _, part = wanted.path.partition("::")
    if seen_root is not None and is_within(Path(asked), seen_root):
        asked = str(Path(asked).relative_to(seen_root))
    target = _resolve_target(root, asked)
    kind: Kind = wanted.type if wanted.type != "auto" else ENDINGS.get(target.suffix, "auto")
    folder = _find_folder(root, target, kind)
    if kind == "auto":
        folder, kind = _guess_project(root, folder, target)
        target = folder if target == root else target
    path = "" if target == folder else str(target.relative_to(folder))
    return CheckProject(root, folder, kind, path, part, seen_root)


def _resolve_target(root: Path, asked: str) -> Path:
    if asked.startswith("-") or "\0" in asked:
        raise BadPath(f"{printable_name(asked)} is no path. Name a file or folder of tests, or leave it out to run all.")
    try:
        target = (root / asked.rstrip("/")).resolve()
        there = target.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, links in a circle, no characters
        raise BadPath(f"{printable_name(asked)} can't be looked at: {error}.") from error
    if not is_within(target, root):
        raise outside_error(asked)
    if not there:
        raise missing_error(asked)
    return target


def _find_folder(root: Path, target: Path, kind: Kind) -> Path:
    """Return the nearest folder, from the target up, with a file that marks a project; else the parent of the tests' folder."""
    markers = [name for known, names in MARKERS.items() if kind in (known, "auto") for name in names]
    start = target if target.is_dir() else target.parent
    above = [folder for folder in (start, *start.parents) if is_within(folder, root)]
    marked = (folder for folder in above if any((folder / name).is_file() for name in markers))
    beside = (folder.parent for folder in reversed(above) if folder != root and folder.name in ("tests", "test"))
    return next(marked, None) or next(beside, root)


def _guess_project(root: Path, folder: Path, target: Path) -> tuple[Path, Kind]:
    """Guess the kind from what is in the folder; where the workspace itself is no project, from its subfolders."""
    kinds = detect_kinds(folder)
    if kinds:
        return folder, kinds[0]
    children = {child: detect_kinds(child) for child in _list_children(root)} if target == root else {}
    inner = [child for child, kinds in children.items() if kinds]
    if len(inner) == 1:
        return inner[0], children[inner[0]][0]
    if inner:
        names = ", ".join(printable_name(child.name) for child in inner)
        raise ChecksNotRun(f"There are several projects in the workspace: {names}. Repeat the call with path set to one of them.")
    raise ChecksNotRun(
        "No tests were found that a known runner could run: pytest, unittest, go test, cargo test or a test script of npm. "
        "If there are tests, repeat the call with type."
    )


def _list_children(root: Path) -> list[Path]:
    skipped = ("node_modules", "vendor", "target", "dist", "build")
    return sorted(child for child in root.iterdir() if child.is_dir() and child.name[0] != "." and child.name not in skipped)
