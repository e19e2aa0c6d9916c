"""Which runner a project's tests have, by its files. Looks only; how each is started is `commands`."""

import re
from itertools import chain, islice
from pathlib import Path
from typing import assert_never, cast

import msgspec

from treadle.files.named import head_of
from treadle.toolsets.checks.programs import python_for
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
_MOST = 1_000_000  # bytes of a settings file


class Package(msgspec.Struct, frozen=True):
    """What package.json says of tests."""

    scripts: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = msgspec.field(default={}, name="devDependencies")


def runner_for(folder: str | Path, kind: Kind = "auto") -> Runner | None:
    """The runner of a project's tests; None where it has none that is known."""
    place = Path(folder)
    kinds = kinds_of(place) if kind == "auto" else (kind,)
    chosen = kinds[0] if kinds else "auto"
    match chosen:
        case "auto":
            return None
        case "go":
            return "go"
        case "rust":
            return "cargo"
        case "python":
            return "pytest" if python_for([place]).pytest else "unittest"
        case "npm":
            package = package_of(place)
            return npm_runner(package, script_of(package, "test"))
        case _:
            assert_never(chosen)


def kinds_of(folder: Path) -> tuple[Kind, ...]:
    """All kinds of tests a project has, the likeliest first. Settings alone say least: many projects have some for a tool."""
    found: list[Kind] = []
    if _any(folder, _PYTHON_TESTS) or _pytest_settings(folder):
        found.append("python")
    compiled: tuple[Kind, ...] = ("go", "rust")
    found.extend(kind for kind in compiled if (folder / MARKERS[kind][0]).is_file())
    if (folder / "package.json").is_file() and _tests_of_npm(folder):
        found.append("npm")
    if any((folder / name).is_file() for name in MARKERS["python"]) and "python" not in found:
        found.append("python")
    return tuple(found)


def package_of(folder: Path) -> Package:
    """What package.json says, nothing if it can't be read."""
    try:
        return msgspec.json.decode(text_of(folder / "package.json"), type=Package)
    except msgspec.DecodeError:
        return Package()


def script_of(package: Package, name: str) -> str:
    """The line of a script, unless it is the one that says there is none."""
    line = package.scripts.get(name, "")
    return "" if _UNWRITTEN in line else line


def npm_runner(package: Package, line: str) -> Runner:
    """By what the script says, else by what the project depends on."""
    if re.search(r"\bnode\b.*\s--test\b", line):
        return "node"
    for known in ("vitest", "jest", "mocha"):
        if re.search(rf"\b{known}\b", line):
            return known
    depended = {**package.dependencies, **package.dev_dependencies}
    by_need = next((known for known in ("vitest", "jest", "mocha") if known in depended), None)
    return cast("Runner", by_need or ("npm" if line else "node"))


def _tests_of_npm(folder: Path) -> bool:
    package = package_of(folder)
    return bool(script_of(package, "test")) or npm_runner(package, "") != "node" or _any(folder, _NODE_TESTS)


def _pytest_settings(folder: Path) -> bool:
    texts = (text_of(folder / name) for name in MARKERS["python"])
    return (folder / "pytest.ini").is_file() or any(sign in text for text in texts for sign in _PYTEST_SETTINGS)


def _any(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(islice(chain.from_iterable(folder.glob(pattern) for pattern in patterns), 1))


def text_of(path: Path) -> str:
    """The beginning of a file; nothing of what is no file, such as a pipe that nobody writes to."""
    return head_of(path, _MOST).decode(errors="replace")
