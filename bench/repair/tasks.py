"""The tasks: one operator mutated in a module of 100 to 600 lines, so that the package's own tests fail.

The packages are fetched as source archives, since these have the tests; nothing of them is kept here. A module is used only if
its tests pass as it is, and a mutation only if they fail with it.
"""

import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copyfile, copytree, ignore_patterns

from msgspec import Struct

from bench.review.mutations import apply_edits, list_functions, list_mutations

PACKAGES = (
    "boltons==25.0.0",
    "click==8.1.8",
    "h11==0.14.0",
    "humanize==4.11.0",
    "itsdangerous==2.2.0",
    "natsort==8.4.0",
    "networkx==3.4.2",
    "packaging==24.1",
    "pygments==2.19.1",
    "sqlparse==0.5.3",
    "toolz==1.0.0",
    "werkzeug==3.1.3",
)
FOLDER = Path(tempfile.gettempdir()) / "treadle-bench-repair"
MIN_LINES, MAX_LINES = 100, 600
MOST_OF_A_PACKAGE = 8  # modules, so that no package decides the result
SEED = 27
OLD_SETTINGS = ("boltons",)  # packages whose conftest.py is for an older pytest
TRIES = 6  # mutations of a module that are tried
SECONDS = 60  # that tests may take
SETTINGS = "[pytest]\npythonpath = src .\naddopts =\n"


class RepairTask(Struct, frozen=True):
    """A planted bug: the package's folder, its module and that module's tests, and the module before and after."""

    name: str
    root: Path
    module: str
    tests: tuple[str, ...]
    right: str
    buggy: str
    line: int
    defect: str


def fetch_packages(folder: Path = FOLDER, packages: Sequence[str] = PACKAGES) -> list[Path]:
    """Return the folders of the packages' sources, fetched where they aren't there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        if not _find_archives(folder, package):
            line = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", package]
            subprocess.run(line, cwd=folder, check=True)
        for archive in _find_archives(folder, package):
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
    return sorted(path for path in folder.iterdir() if path.is_dir())


def _find_archives(folder: Path, package: str) -> list[Path]:
    name, _, version = package.partition("==")
    return sorted(folder.glob(f"{name.replace('-', '_')}-{version}.tar.gz"))


def make_tasks(roots: Sequence[Path], most: int = 40, least_lines: int = MIN_LINES) -> Iterator[RepairTask]:
    """Yield a task for each module that has tests which a mutation makes fail: always the same ones."""
    chance, count = random.Random(SEED), 0
    for root in roots:
        modules = list(_list_modules(root, least_lines))
        chance.shuffle(modules)
        planted = 0
        for module, tests in modules:
            if count == most or planted == MOST_OF_A_PACKAGE:
                break
            task = _plant(root, module, tests, chance)
            if task is not None:
                count, planted = count + 1, planted + 1
                yield task


def _list_modules(root: Path, least_lines: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules of a suitable length, each with the tests that are named after it."""
    files = sorted(path.relative_to(root) for path in root.rglob("*.py"))
    for file in files:
        is_test = file.name.startswith("test") or "tests" in file.parts or file.parts[0] in ("docs", "setup.py")
        lines = 0 if is_test else len((root / file).read_text("utf-8", errors="replace").splitlines())
        names = {f"test_{file.stem}.py", f"test_{file.stem.strip('_')}.py", f"{file.stem}_test.py"}
        tests = tuple([path.as_posix() for path in files if path.name in names])
        if least_lines <= lines <= MAX_LINES and tests:
            yield file.as_posix(), tests


def _plant(root: Path, module: str, tests: tuple[str, ...], chance: random.Random) -> RepairTask | None:
    right = (root / module).read_text("utf-8")
    mutations = [(node.name, each) for node in list_functions(right) for each in list_mutations(right, node)]
    if not mutations or not run_tests(root, module, tests, right):
        return None
    for name, mutation in chance.sample(mutations, min(TRIES, len(mutations))):
        buggy = apply_edits(right, [mutation.edit])
        if not run_tests(root, module, tests, buggy):
            found = f"{root.name}/{module}:{name}"
            return RepairTask(found, root, module, tests, right, buggy, mutation.edit.line, mutation.kind)
    return None


def write_workspace(folder: Path, root: Path, module: str, tests: Sequence[str], source: str) -> None:
    """Write a workspace: the whole package, with this source of the module, and the tests that are named after it."""
    parts = Path(module).parts
    package = Path(*parts[: 2 if parts[0] == "src" else 1])
    if (root / package).is_dir():
        copytree(root / package, folder / package, ignore=ignore_patterns("__pycache__", "test_*.py"), dirs_exist_ok=True)
    for name in tests:
        for path in sorted((root / name).parent.iterdir()):  # with what the tests import
            if path.is_file() and (path == root / name or not path.name.startswith("test_")):
                target = folder / path.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                copyfile(path, target)
    for path in root.rglob("conftest.py"):
        target = folder / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        copyfile(path, target)
    if root.name.startswith(OLD_SETTINGS):
        for path in folder.rglob("conftest.py"):
            path.unlink()
    (folder / module).parent.mkdir(parents=True, exist_ok=True)
    (folder / module).write_text(source, "utf-8")
    (folder / "pytest.ini").write_text(SETTINGS)


def run_tests(root: Path, module: str, tests: Sequence[str], source: str) -> bool:
    """Return whether the tests of a module pass with this source, in a fresh workspace."""
    with tempfile.TemporaryDirectory(prefix="treadle-repair-") as name:
        write_workspace(Path(name), root, module, tests, source)
        line = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        try:
            ran = subprocess.run(line, cwd=name, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return False
        return ran.returncode == 0
