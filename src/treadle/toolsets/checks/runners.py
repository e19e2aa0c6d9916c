"""Test runners: which a project has, by its files, and the programs that run them. Only inspects; `commands` starts them.

Programs come from the user's own search path and the usual places, and only from what is laid out as such a program is when it
is installed: a whole home folder must never become readable because a program lies in it. A workspace's own Python comes first.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.files.named_files import head_of
from treadle.sandbox.bubblewrap import ENVIRONMENT, SYSTEM_FOLDERS, is_within
from treadle.sandbox.environments import ENVIRONMENTS, find_base_pythons
from treadle.toolsets.checks.values import ChecksNotRun, Kind, Runner

_SYSTEM = tuple(map(Path, SYSTEM_FOLDERS))
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


class RunnerProgram(Struct, frozen=True):
    """A program, the folders it needs besides the workspace, its environment, and the folders it may write to as well."""

    path: Path
    read: tuple[Path, ...] = ()
    env: dict[str, str] = {}
    write: tuple[Path, ...] = ()


class PythonRuntime(Struct, frozen=True):
    """A Python, and whether it has pytest."""

    program: RunnerProgram
    pytest: bool


def find_python(folders: Iterable[Path]) -> PythonRuntime:
    """Return the Python of the first folder that has its own; else one of the user's, preferably with pytest."""
    for folder in folders:
        own = [python for name in ENVIRONMENTS if (python := _read_python(folder / name, find_base_pythons(folder)))]
        if own:
            return own[0]
    prefixes = dict.fromkeys(map(Path, (os.environ.get("VIRTUAL_ENV") or sys.prefix, sys.prefix, "/usr")))
    found = [python for prefix in prefixes if (python := _read_python(prefix, _find_folders(prefix)))]
    if not found:
        raise ChecksNotRun("There is no Python here that commands in the sandbox can see. Tell the person to install one.")
    return next((python for python in found if python.pytest), found[0])


def _read_python(prefix: Path, read: tuple[Path, ...]) -> PythonRuntime | None:
    path = next((path for name in ("python", "python3") if (path := prefix / "bin" / name).exists()), None)
    if path is None or not any((prefix / "lib").glob("python3*")):
        return None
    base = path.resolve().parent.parent
    if not is_within(base, prefix, *read, *_SYSTEM):  # made from a Python that can't be shown
        return None
    env = {
        "PATH": f"{path.parent}:{ENVIRONMENT['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",  # no bytecode among the person's files, and none that is older than an edit
        "PYTHONUNBUFFERED": "1",  # what was printed before the time was over isn't lost
    }
    return PythonRuntime(RunnerProgram(path, read, env), _has_pytest(prefix, base))


def _find_folders(prefix: Path) -> tuple[Path, ...]:
    base = (prefix / "bin" / "python3").resolve().parent.parent
    return tuple(dict.fromkeys(folder for folder in (prefix, base) if not is_within(folder, *_SYSTEM)))


def _has_pytest(prefix: Path, base: Path) -> bool:
    """Return whether pytest is installed, by its files: starting a Python to ask would take longer than many a test."""
    settings = prefix / "pyvenv.cfg"
    shared = not settings.is_file() or "include-system-site-packages = true" in head_of(settings, 10_000).decode(errors="replace")
    places = [prefix, *([base] if shared else []), *([Path("/usr/local")] if shared and base == Path("/usr") else [])]
    return any(any((place / "lib").glob("python3*/*-packages/pytest/__init__.py")) for place in places)


def find_all_programs(root: Path) -> RunnerProgram:
    """Return all programs found, for a command that may use any of them. The first of them stands for all."""
    found: list[RunnerProgram] = []
    for program in (lambda: find_python([root]).program, lambda: find_node(root), lambda: find_go(root), lambda: find_cargo(root)):
        with suppress(ChecksNotRun):
            found.append(program())
    paths = [str(folder) for name in ENVIRONMENTS if (folder := root / name / "bin").is_dir()]
    paths += [str(root / "node_modules" / ".bin"), *[program.env.get("PATH", "") for program in found], ENVIRONMENT["PATH"]]
    env = {name: value for program in reversed(found) for name, value in program.env.items()}
    folders = dict.fromkeys(part for path in paths for part in path.split(":") if part)
    read = dict.fromkeys(folder for program in found for folder in program.read)
    write = tuple(folder for program in found for folder in program.write)
    return RunnerProgram(Path("/bin/sh"), tuple(read), {**env, "PATH": ":".join(folders)}, write)


def find_node(root: Path) -> RunnerProgram:
    """Return Node with its npm."""
    found = _find_installed("node", root, lambda home: (home / "lib" / "node_modules" / "npm").is_dir())
    quiet = {"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false"}
    return _with_env(found, quiet)


def find_go(root: Path) -> RunnerProgram:
    """Return Go with a read-only module cache, as it can fetch none; the build cache is for this workspace alone."""
    usual = [Path("/usr/local/go/bin"), *sorted(Path("/usr/lib").glob("go-*/bin"), reverse=True)]
    found = _find_installed("go", root, lambda home: (home / "src" / "runtime").is_dir(), usual)
    path = os.environ.get("GOPATH", "").split(":")[0] or Path.home() / "go"
    modules = Path(os.environ.get("GOMODCACHE") or Path(path, "pkg", "mod"))
    shown = {"GOMODCACHE": modules} if (modules / "cache").is_dir() else {}
    compiled = _make_cache("go", root)
    kept = {"GOCACHE": str(compiled)} if compiled is not None else {}
    env = {"GOPROXY": "off", "GOTOOLCHAIN": "local", **{name: str(path) for name, path in shown.items()}, **kept}
    program = _with_env(found, env, *shown.values())
    return replace(program, write=(compiled,)) if compiled is not None else program


def _make_cache(what: str, root: Path) -> Path | None:
    """Return our cache folder for a workspace's builds. No other one sees it: a process that writes there could write anything."""
    from hashlib import sha256

    from platformdirs import user_cache_path

    folder = user_cache_path("treadle", appauthor=False) / what / sha256(str(root).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None  # it is compiled anew each time
    return folder


def find_cargo(root: Path) -> RunnerProgram:
    """Return Cargo with what it has fetched before, and the toolchain it is a proxy for where rustup installed it."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    toolchains = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    found = _find_installed("cargo", root, lambda _: (home / "bin" / "cargo").exists() and toolchains.is_dir(), [home / "bin"])
    path = found.path if is_within(found.path, *_SYSTEM) else home / "bin" / "cargo"
    shown = {name: path for name, path in {"CARGO_HOME": home, "RUSTUP_HOME": toolchains}.items() if path.is_dir()}
    env = {"RUSTUP_AUTO_INSTALL": "0", **{name: str(path) for name, path in shown.items()}}
    return _with_env(RunnerProgram(path), env, *shown.values())


def _find_installed(name: str, root: Path, laid_out: Callable[[Path], bool], usual: Iterable[Path] = ()) -> RunnerProgram:
    """Return the first program of that name that is visible in the sandbox, or may be made visible."""
    for path in _find_on_path(name, root, usual):
        real = path.resolve()
        if is_within(real, *_SYSTEM):
            return RunnerProgram(real if real.name == name else path)
        home = real.parent.parent
        if laid_out(home):
            return RunnerProgram(real if real.name == name else path, (home,))
    raise ChecksNotRun(
        f"{name} isn't installed where commands in the sandbox can see it. Tell the person that these tests need it."
    )


def _find_on_path(name: str, root: Path, usual: Iterable[Path]) -> Iterator[Path]:
    """Yield files of that name on the user's search path, but none that the workspace could have put there."""
    searched = [Path(folder) for folder in os.environ.get("PATH", "").split(":")]
    for folder in dict.fromkeys([*searched, *usual]):
        path = folder / name
        if path.is_absolute() and not is_within(path, root) and path.is_file() and os.access(path, os.X_OK):
            yield path


def _with_env(found: RunnerProgram, env: dict[str, str], *more: Path) -> RunnerProgram:
    path = f"{found.path.parent}:{ENVIRONMENT['PATH']}"
    return RunnerProgram(found.path, (*found.read, *more), {"PATH": path, **env})


class NpmPackage(msgspec.Struct, frozen=True):
    """The parts of package.json that concern tests."""

    scripts: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = msgspec.field(default={}, name="devDependencies")


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
