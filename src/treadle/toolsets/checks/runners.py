"""Detection of a project's test runner, by its files. Only inspects; `commands` starts it."""

import re
from itertools import chain, islice
from pathlib import Path
from typing import assert_never, cast

import msgspec

from treadle.files.named_files import head_of
from treadle.toolsets.checks.programs import find_python
from treadle.toolsets.checks.values import Kind, Runner

MARKERS: dict[Kind, tuple[str, ...]] = {
    "python": ("pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini"),
    "go": ("go.mod",),
    "rust": ("Cargo.toml",),
    "npm": ("package.json",),
}
ENDINGS: dict[str, Kind] = {
    ".py": "python",
    ".go": "go",
    ".rs": "rust",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"), "npm"),
}
_PYTHON_TESTS = ("test_*.py", "*_test.py", "test*/test*.py", "test*/*/test*.py", "test*/*_test.py")
_NODE_TESTS = ("*.test.?js", "*.test.js", "test/*.js", "test/*.?js", "*/*.test.js", "*/*.test.?js")
_PYTEST_SETTINGS = ("[tool.pytest", "[tool:pytest]", "[pytest]")
_UNWRITTEN = "no test specified"  # what npm puts into a new package.json
_MAX_BYTES = 1_000_000  # bytes of a settings file


class NpmPackage(msgspec.Struct, frozen=True):
    """The parts of package.json that concern tests."""

    scripts: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = msgspec.field(default={}, name="devDependencies")


def detect_runner(folder: str | Path, kind: Kind = "auto") -> Runner | None:
    """Return the runner of a project's tests; None where no known one is found."""
    place = Path(folder)
    kinds = detect_kinds(place) if kind == "auto" else (kind,)
    chosen = kinds[0] if kinds else "auto"
    match chosen:
        case "auto":
            return None
        case "go":
            return "go"
        case "rust":
            return "cargo"
        case "python":
            return "pytest" if find_python([place]).pytest else "unittest"
        case "npm":
            package = load_package(place)
            return detect_npm_runner(package, find_script(package, "test"))
        case _:
            assert_never(chosen)


def detect_kinds(folder: Path) -> tuple[Kind, ...]:
    """Return all kinds of tests a project has, likeliest first. Settings alone say least: many projects have some for a tool."""
    found: list[Kind] = []
    if _has_any(folder, _PYTHON_TESTS) or _has_pytest_settings(folder):
        found.append("python")
    compiled: tuple[Kind, ...] = ("go", "rust")
    found.extend(kind for kind in compiled if (folder / MARKERS[kind][0]).is_file())
    if (folder / "package.json").is_file() and _has_npm_tests(folder):
        found.append("npm")
    if any((folder / name).is_file() for name in MARKERS["python"]) and "python" not in found:
        found.append("python")
    return tuple(found)


def load_package(folder: Path) -> NpmPackage:
    """Load package.json; empty if it can't be read."""
    try:
        return msgspec.json.decode(read_settings_text(folder / "package.json"), type=NpmPackage)
    except msgspec.DecodeError:
        return NpmPackage()


def find_script(package: NpmPackage, name: str) -> str:
    """Return a script's command line, unless it is npm's placeholder."""
    line = package.scripts.get(name, "")
    return "" if _UNWRITTEN in line else line


def detect_npm_runner(package: NpmPackage, line: str) -> Runner:
    """Detect the runner by the script's command line, else by the project's dependencies."""
    if re.search(r"\bnode\b.*\s--test\b", line):
        return "node"
    for known in ("vitest", "jest", "mocha"):
        if re.search(rf"\b{known}\b", line):
            return known
    depended = {**package.dependencies, **package.dev_dependencies}
    by_need = next((known for known in ("vitest", "jest", "mocha") if known in depended), None)
    return cast("Runner", by_need or ("npm" if line else "node"))


def _has_npm_tests(folder: Path) -> bool:
    package = load_package(folder)
    return bool(find_script(package, "test")) or detect_npm_runner(package, "") != "node" or _has_any(folder, _NODE_TESTS)


def _has_pytest_settings(folder: Path) -> bool:
    texts = (read_settings_text(folder / name) for name in MARKERS["python"])
    return (folder / "pytest.ini").is_file() or any(sign in text for text in texts for sign in _PYTEST_SETTINGS)


def _has_any(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(islice(chain.from_iterable(folder.glob(pattern) for pattern in patterns), 1))


def read_settings_text(path: Path) -> str:
    """Return the beginning of a file; nothing of what is no regular file, such as a pipe without a writer."""
    return head_of(path, _MAX_BYTES).decode(errors="replace")
