"""Programs that run tests, where the person has them: how the sandbox starts each, and which folders it has to see for that.

They come from the person's own search path and the usual places, and only from what is laid out as such a program is when it is
installed: a whole home folder must never become readable because a program lies in it. A workspace's own Python comes first.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle.files.named import head_of
from treadle.toolsets.checks.problems import NotRun
from treadle.toolsets.sandbox.bubblewrap import ENVIRONMENT, SYSTEM, within
from treadle.toolsets.sandbox.pythons import ENVIRONMENTS, python_of

_SYSTEM = tuple(map(Path, SYSTEM))


class Program(Struct, frozen=True):
    """A program, the folders it needs besides the workspace, its environment, and the folders it may write to as well."""

    path: Path
    read: tuple[Path, ...] = ()
    env: dict[str, str] = {}
    write: tuple[Path, ...] = ()


class Python(Struct, frozen=True):
    """A Python, and whether it has pytest."""

    program: Program
    pytest: bool


def python_for(folders: Iterable[Path]) -> Python:
    """The Python of the first folder that has one of its own; else one of the person's, best with pytest."""
    for folder in folders:
        own = [python for name in ENVIRONMENTS if (python := _python(folder / name, python_of(folder)))]
        if own:
            return own[0]
    prefixes = dict.fromkeys(map(Path, (os.environ.get("VIRTUAL_ENV") or sys.prefix, sys.prefix, "/usr")))
    found = [python for prefix in prefixes if (python := _python(prefix, _folders(prefix)))]
    if not found:
        raise NotRun("There is no Python here that commands in the sandbox can see. Tell the person to install one.")
    return next((python for python in found if python.pytest), found[0])


def _python(prefix: Path, read: tuple[Path, ...]) -> Python | None:
    path = next((path for name in ("python", "python3") if (path := prefix / "bin" / name).exists()), None)
    if path is None or not any((prefix / "lib").glob("python3*")):
        return None
    base = path.resolve().parent.parent
    if not within(base, prefix, *read, *_SYSTEM):  # made from a Python that can't be shown
        return None
    env = {
        "PATH": f"{path.parent}:{ENVIRONMENT['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",  # no bytecode among the person's files, and none that is older than an edit
        "PYTHONUNBUFFERED": "1",  # what was printed before the time was over isn't lost
    }
    return Python(Program(path, read, env), _has_pytest(prefix, base))


def _folders(prefix: Path) -> tuple[Path, ...]:
    base = (prefix / "bin" / "python3").resolve().parent.parent
    return tuple(dict.fromkeys(folder for folder in (prefix, base) if not within(folder, *_SYSTEM)))


def _has_pytest(prefix: Path, base: Path) -> bool:
    """By its files: starting a Python to ask would take longer than many a test."""
    settings = prefix / "pyvenv.cfg"
    shared = not settings.is_file() or "include-system-site-packages = true" in head_of(settings, 10_000).decode(errors="replace")
    places = [prefix, *([base] if shared else []), *([Path("/usr/local")] if shared and base == Path("/usr") else [])]
    return any(any((place / "lib").glob("python3*/*-packages/pytest/__init__.py")) for place in places)


def programs_for(root: Path) -> Program:
    """Everything that is there, for a command that may use any of it. The first of them stands for all."""
    found: list[Program] = []
    for program in (lambda: python_for([root]).program, lambda: node_for(root), lambda: go_for(root), lambda: cargo_for(root)):
        with suppress(NotRun):
            found.append(program())
    paths = [str(folder) for name in ENVIRONMENTS if (folder := root / name / "bin").is_dir()]
    paths += [str(root / "node_modules" / ".bin"), *[program.env.get("PATH", "") for program in found], ENVIRONMENT["PATH"]]
    env = {name: value for program in reversed(found) for name, value in program.env.items()}
    folders = dict.fromkeys(part for path in paths for part in path.split(":") if part)
    read = dict.fromkeys(folder for program in found for folder in program.read)
    write = tuple(folder for program in found for folder in program.write)
    return Program(Path("/bin/sh"), tuple(read), {**env, "PATH": ":".join(folders)}, write)


def node_for(root: Path) -> Program:
    """Node, with its npm."""
    found = _installed("node", root, lambda home: (home / "lib" / "node_modules" / "npm").is_dir())
    quiet = {"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false"}
    return _with_env(found, quiet)


def go_for(root: Path) -> Program:
    """Go, with the modules fetched before, to be read, as it can fetch none; what it compiles is kept for this workspace alone."""
    usual = [Path("/usr/local/go/bin"), *sorted(Path("/usr/lib").glob("go-*/bin"), reverse=True)]
    found = _installed("go", root, lambda home: (home / "src" / "runtime").is_dir(), usual)
    path = os.environ.get("GOPATH", "").split(":")[0] or Path.home() / "go"
    modules = Path(os.environ.get("GOMODCACHE") or Path(path, "pkg", "mod"))
    shown = {"GOMODCACHE": modules} if (modules / "cache").is_dir() else {}
    compiled = _cache_of("go", root)
    kept = {"GOCACHE": str(compiled)} if compiled is not None else {}
    env = {"GOPROXY": "off", "GOTOOLCHAIN": "local", **{name: str(path) for name, path in shown.items()}, **kept}
    program = _with_env(found, env, *shown.values())
    return replace(program, write=(compiled,)) if compiled is not None else program


def _cache_of(what: str, root: Path) -> Path | None:
    """A folder of ours for what is compiled in a workspace. No other one sees it: whoever writes there could write anything."""
    from hashlib import sha256

    from platformdirs import user_cache_path

    folder = user_cache_path("treadle", appauthor=False) / what / sha256(str(root).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None  # it is compiled anew each time
    return folder


def cargo_for(root: Path) -> Program:
    """Cargo, with what it has fetched before, and the toolchain it is a stand-in for where rustup installed it."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    toolchains = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    found = _installed("cargo", root, lambda _: (home / "bin" / "cargo").exists() and toolchains.is_dir(), [home / "bin"])
    path = found.path if within(found.path, *_SYSTEM) else home / "bin" / "cargo"
    shown = {name: path for name, path in {"CARGO_HOME": home, "RUSTUP_HOME": toolchains}.items() if path.is_dir()}
    env = {"RUSTUP_AUTO_INSTALL": "0", **{name: str(path) for name, path in shown.items()}}
    return _with_env(Program(path), env, *shown.values())


def _installed(name: str, root: Path, laid_out: Callable[[Path], bool], usual: Iterable[Path] = ()) -> Program:
    """The first of that name that the sandbox shows, or may be made to show."""
    for path in _named(name, root, usual):
        real = path.resolve()
        if within(real, *_SYSTEM):
            return Program(real if real.name == name else path)
        home = real.parent.parent
        if laid_out(home):
            return Program(real if real.name == name else path, (home,))
    raise NotRun(f"{name} isn't installed where commands in the sandbox can see it. Tell the person that these tests need it.")


def _named(name: str, root: Path, usual: Iterable[Path]) -> Iterator[Path]:
    """Files of that name on the person's search path, but none that the workspace could have put there."""
    searched = [Path(folder) for folder in os.environ.get("PATH", "").split(":")]
    for folder in dict.fromkeys([*searched, *usual]):
        path = folder / name
        if path.is_absolute() and not within(path, root) and path.is_file() and os.access(path, os.X_OK):
            yield path


def _with_env(found: Program, env: dict[str, str], *more: Path) -> Program:
    path = f"{found.path.parent}:{ENVIRONMENT['PATH']}"
    return Program(found.path, (*found.read, *more), {"PATH": path, **env})
