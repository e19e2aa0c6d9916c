"""How each runner is started for a selection: its arguments, what a user would have typed, and what it needs to see.

Pytest is started by `reporter`, since what pytest prints differs with every plug-in; a report in a file would be lost when
the time is over, or would have to lie among the user's files. npm runs the user's own script.
"""

import re
import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from treadle.files.problems import BadPath, missing_error, outside_error, printable_name
from treadle.sandbox.bubblewrap import is_within
from treadle.toolsets.checks.parsers.javascript import normalize_title
from treadle.toolsets.checks.runners import (
    ENDINGS,
    MARKERS,
    PythonRuntime,
    RunnerProgram,
    detect_kinds,
    detect_npm_runner,
    find_all_programs,
    find_cargo,
    find_go,
    find_node,
    find_python,
    find_script,
    load_package,
)
from treadle.toolsets.checks.values import CheckSelection, ChecksNotRun, Kind, Runner

_VALUED = {"--import", "--require", "-r", "--loader", "--test-reporter", "--test-reporter-destination", "--env-file"}
_SHELL = re.compile(r"""[;&|<>$`()\n"'\\]""")
_GO_IN = 'cd -- "$1" && shift && exec "$@"'


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


class CheckCommand(Struct, frozen=True):
    """A command that runs tests, and where. `printable_name` is what a user would have typed there."""

    runner: Runner
    words: tuple[str, ...]
    shown: str
    project: CheckProject
    program: RunnerProgram

    @property
    def from_root(self) -> tuple[str, ...]:
        """The arguments as started in the workspace's own folder."""
        if self.project.folder == self.project.root:
            return self.words
        return ("/bin/sh", "-c", _GO_IN, "sh", str(self.project.seen(self.project.folder)), *self.words)


def build_check_command(root: Path, wanted: CheckSelection, seen_root: Path | None = None) -> CheckCommand:
    """Build the command for a selection. Raises a problem where there is none. `seen_root` is where commands see the root."""
    for argument, text in {"package": wanted.package, "module": wanted.module, "the test's name": wanted.name}.items():
        if text.startswith("-"):
            raise ChecksNotRun(f"{argument} can't begin with a dash. Repeat the call with a name.")
    if re.match(r"[^:]+\.py::", wanted.name) and not wanted.path:  # a test as pytest writes it
        wanted = CheckSelection(wanted.type, wanted.name, "", wanted.package, wanted.script, wanted.module, wanted.count)
    if wanted.command and wanted.is_all:
        runner: Runner = "check" if wanted.command == wanted.check else "command"
        return _custom_command(CheckProject(root, root, "auto", seen_root=seen_root), wanted.command, runner)
    project = find_check_project(root.expanduser().resolve(), wanted, seen_root)
    match project.kind:
        case "python":
            return _python_command(project, wanted)
        case "go":
            return _go_command(project, wanted)
        case "rust":
            return _cargo_command(project, wanted)
        case _:
            return _npm_command(project, wanted)


def _custom_command(project: CheckProject, command: str, runner: Runner) -> CheckCommand:
    """Return the user's own shell line, with every program that runs tests visible to it."""
    return CheckCommand(runner, ("/bin/sh", "-c", command), command, project, find_all_programs(project.seen(project.root)))


def _python_command(project: CheckProject, wanted: CheckSelection) -> CheckCommand:
    python = find_python([project.seen(project.folder), project.seen(project.root)])
    if python.pytest:
        words = _pytest_words(project, wanted)
        started = (str(python.program.path), "-c", _read_reporter(), *words)
        return CheckCommand("pytest", started, shlex.join(["pytest", *words]), project, python.program)
    return _unittest_command(project, wanted, python)


@cache
def _read_reporter() -> str:
    return Path(__file__).with_name("reporter.py").read_text()


def _pytest_words(project: CheckProject, wanted: CheckSelection) -> list[str]:
    parts = [part for part in (project.part, wanted.name if "::" in wanted.name else "") if part]
    path = "::".join([project.path, *parts]) if project.path else ""
    words = [path] if path else []
    if wanted.module:
        module = _module_name(wanted.module)
        file = f"{module.replace('.', '/')}.py"
        words += [file] if (project.folder / file).is_file() else ["--pyargs", module]
    return words + (["-k", _to_keyword_expression(wanted.name)] if wanted.name and "::" not in wanted.name else [])


def _module_name(text: str) -> str:
    """Return a module's name, also for one that was named by its file."""
    name = text.removesuffix(".py").replace("/", ".")
    if re.fullmatch(r"\w+(\.\w+)*", name) is None:
        raise ChecksNotRun(f"{printable_name(text)} is no module. Repeat the call with one such as tests.test_shop, or with path.")
    return name


def _to_keyword_expression(name: str) -> str:
    """Return a name that `-k` understands, which doesn't accept all characters that a test's parameters may have."""
    test, _, parameters = name.partition("[")
    return name if re.fullmatch(r"[\w:+.\\/\[\]-]*", parameters) else test


def _unittest_command(project: CheckProject, wanted: CheckSelection, python: PythonRuntime) -> CheckCommand:
    name = ["-k", wanted.name.partition(" (")[0]] if wanted.name else []
    words = ["python", "-m", "unittest", *_unittest_targets(project, wanted), "-v", *name]
    return CheckCommand("unittest", (str(python.program.path), *words[1:]), shlex.join(words), project, python.program)


def _unittest_targets(project: CheckProject, wanted: CheckSelection) -> list[str]:
    """Return a module, a file, or a folder; one that isn't a package is where its modules are imported from."""
    if wanted.module:
        return [_module_name(wanted.module)]
    if project.target.is_file():
        return [project.path]
    usual = (name for name in ("tests", "test") if _holds_tests(project.folder / name))
    folder = project.path or next(usual, ".")
    package = folder != "." and (project.folder / folder / "__init__.py").is_file()
    return ["discover", "-s", folder, *(["-t", "."] if package else [])]


def _holds_tests(folder: Path) -> bool:
    return any(folder.glob("test*.py")) or any(folder.glob("*/test*.py"))


def _go_command(project: CheckProject, wanted: CheckSelection) -> CheckCommand:
    program = find_go(project.seen(project.root))
    inside = Path(project.path) / "..." if project.target.is_dir() else Path(project.path).parent
    package = wanted.package.removeprefix("./")
    package = f"./{package}" if package and (project.folder / package).is_dir() else wanted.package
    words = ["-count=1", *(["-run", _escape_pattern(wanted.name)] if wanted.name else []), package or f"./{inside}"]
    return CheckCommand("go", (str(program.path), "test", "-json", *words), shlex.join(["go", "test", *words]), project, program)


def _cargo_command(project: CheckProject, wanted: CheckSelection) -> CheckCommand:
    program = find_cargo(project.seen(project.root))
    words = ["cargo", "test", "--offline", "--no-fail-fast"]
    words += ["-p", wanted.package] if wanted.package else []
    target, module = _cargo_target(project)
    words += target
    words += [name] if (name := wanted.name or module) else []
    return CheckCommand("cargo", (str(program.path), *words[1:]), shlex.join(words), project, program)


def _cargo_target(project: CheckProject) -> tuple[list[str], str]:
    """Return the options and the module that select a path."""
    first, *rest = Path(project.path.removesuffix(".rs")).parts or ("src",)
    if first == "tests" and project.path.endswith(".rs") and len(rest) == 1:
        return ["--test", rest[0]], ""
    if first == "src":
        return [], "::".join(part for part in rest if part not in ("lib", "main", "mod"))
    raise ChecksNotRun("Cargo runs tests by package or by name. Repeat the call with package or run in place of the path.")


def _npm_command(project: CheckProject, wanted: CheckSelection) -> CheckCommand:
    program = find_node(project.seen(project.root))
    package = load_package(project.folder)
    script = wanted.script or "test"
    line = find_script(package, script)
    if wanted.script and not line:
        known = ", ".join(package.scripts) or "none"
        raise ChecksNotRun(f"package.json has no script {wanted.script}. Its scripts: {known}.")
    runner = detect_npm_runner(package, line)
    words = _npm_words(runner, script, line, project, wanted)
    if not any(Path(folder, words[0]).exists() for folder in program.env["PATH"].split(":")):
        raise ChecksNotRun(f"{words[0]} isn't installed beside node. Tell the person that these tests need it.")
    return CheckCommand(runner, tuple(words), shlex.join(words), project, program)


def _npm_words(runner: Runner, script: str, line: str, project: CheckProject, wanted: CheckSelection) -> list[str]:
    if runner == "node" and (project.path or wanted.name or not line):
        return _node_words(line or "node --test", project.path, wanted.name)
    once = ["--run"] if re.search(r"\bvitest\b[^;&|]*$", line or runner) else []  # else it may wait for changes
    chosen = [*once, *([project.path] if project.path else []), *_name_options(runner, wanted.name)]
    if not line:
        return ["npx", "--no-install", runner, *chosen]
    return ["npm", *(["test"] if script == "test" else ["run", script]), *(["--", *chosen] if chosen else [])]


def _name_options(runner: Runner, name: str) -> list[str]:
    """Return the runner's options that select a test by name."""
    if not name:
        return []
    options: dict[Runner, str] = {"jest": "-t", "vitest": "-t", "mocha": "--grep"}
    if runner not in options:
        raise ChecksNotRun("What this script runs isn't known, so it can't be told a test's name. Repeat the call without run.")
    return [options[runner], _escape_pattern(normalize_title(_without_file(name)))]


def _without_file(name: str) -> str:
    """Return a test's name without the file that vitest writes before it."""
    file, _, test = name.partition(" > ")
    return test if test and re.search(r"\.\w{1,4}$", file) else name


def _node_words(line: str, path: str, name: str) -> list[str]:
    """Return the script's own options with another selection of tests: node takes none after the first path."""
    if re.match(r"node\s", line) is None or _SHELL.search(line):
        raise ChecksNotRun(
            "The script is more than a call of node, so it can't be told which tests to run. Repeat the call without that."
        )
    given = line.split()[1:]
    options = [word for before, word in pairwise(["", *given]) if word.startswith("-") or before in _VALUED]
    files = [path] if path else [word for word in given if word not in options]
    pattern = [f"--test-name-pattern={_escape_pattern(name.rpartition(' > ')[2])}"] if name else []
    return ["node", *options, *pattern, *files]


def _escape_pattern(name: str) -> str:
    """Escape a name for runners that take a pattern: a plain name stands for itself, whatever characters are in it."""
    return name if re.search(r"\.\*|\.\+|[\\^$|]", name) else re.sub(r"([.?*+()\[\]{}])", r"\\\1", name)
