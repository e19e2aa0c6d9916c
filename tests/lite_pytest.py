"""A test runner with pytest's interface, as far as coding jobs use it, and an environment that has it in place of pytest.

A job starts its project's tests several times, and to import pytest takes 0.3 s of CPU each time. Test functions without fixtures
are enough for a job; how pytest itself is started and read is tested with the real one, in `toolsets/checks` and by `real_pytest`.
The text of this module becomes the package `pytest` of a Python environment, so it imports only what every Python has.
"""

# ruff: noqa: PTH100, PTH110, PTH113, PTH118, PTH123 - to import pathlib takes longer than most of these tests

import os
import sys
from functools import lru_cache
from importlib import import_module
from types import SimpleNamespace

OK, FAILED, USAGE_ERROR, NO_TESTS = 0, 1, 4, 5


@lru_cache(None)
def environment() -> str:
    """Create a Python environment that has this module as its pytest, for the time of this process; return its folder."""
    import atexit
    import shutil
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="treadle-projects-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}").resolve()
    package = folder / "lib" / base.name / "site-packages" / "pytest"
    (folder / "bin").mkdir()
    package.mkdir(parents=True)
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to(base)
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    shutil.copy(__file__, package / "__init__.py")
    (package / "__main__.py").write_text("import sys\n\nimport pytest\n\nsys.exit(pytest.main(sys.argv[1:]))\n")
    return str(folder)


def main(arguments, plugins=()):
    """Run the tests that the arguments select, and report each to the plug-ins; return the exit code of pytest."""
    paths, wanted = _read_arguments(list(arguments))
    sys.path[:0] = [os.path.abspath(folder) for folder in _python_path()]
    counts = {"passed": 0, "failed": 0, "errors": 0}
    for path, _, part in (path.partition("::") for path in paths or ["."]):
        if not os.path.exists(path):
            print(f"ERROR: file or directory not found: {path}\n")
            return USAGE_ERROR
        for file in _find_files(path):
            _run_file(file, part, wanted, plugins, counts)
    print(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no tests ran")
    return FAILED if counts["failed"] or counts["errors"] else OK if counts["passed"] else NO_TESTS


def _read_arguments(arguments):
    """Return paths, and what a name has to contain. An option that isn't known here would change what is tested: it fails."""
    paths, wanted = [], ""
    while arguments:
        word = arguments.pop(0)
        if word == "-k":
            wanted = arguments.pop(0)
        elif word in ("-q", "-x", "-v"):
            continue
        elif word.startswith("-"):
            raise SystemExit(f"This runner doesn't know {word}: use the real pytest.")
        else:
            paths.append(word)
    return paths, wanted


def _python_path():
    """Return the folders that `pythonpath` names, in pytest.ini or in pyproject.toml."""
    if os.path.exists("pytest.ini"):
        import configparser

        settings = configparser.ConfigParser()
        settings.read("pytest.ini")
        return settings.get("pytest", "pythonpath", fallback="").split()
    if not os.path.exists("pyproject.toml"):
        return []
    import tomllib

    with open("pyproject.toml", "rb") as file:
        tools = tomllib.load(file).get("tool", {})
    return tools.get("pytest", {}).get("ini_options", {}).get("pythonpath", [])


def _find_files(path):
    if os.path.isfile(path):
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in ("node_modules", "venv"))
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".py") and name.startswith("test_")]
    return [os.path.relpath(file) for file in found]


def _run_file(file, part, wanted, plugins, counts):
    try:
        module = _import_file(file)
    except BaseException as error:  # noqa: BLE001 - a project's module may raise anything
        counts["errors"] += 1
        _tell(plugins, "pytest_collectreport", report=_report(file, "collect", error))
        return
    for name, test in _find_tests(module):
        if (not part or f"{name}::".startswith(f"{part}::")) and wanted in f"{file}::{name}":
            _run_test(f"{file}::{name}", test, plugins, counts)


def _find_tests(module):
    """Return the module's test functions, and the methods of its `unittest.TestCase`s."""
    found = []
    for name, value in vars(module).items():
        if isinstance(value, type) and hasattr(value, "assertEqual"):
            found += [(f"{name}::{method}", getattr(value(method), method)) for method in dir(value) if method.startswith("test")]
        elif name.startswith("test") and callable(value):
            found.append((name, value))
    return found


def _import_file(file):
    """Import as pytest does: from the first folder above that isn't a package."""
    folder, name = os.path.split(os.path.abspath(file)[: -len(".py")])
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return import_module(name)


def _run_test(nodeid, test, plugins, counts):
    _tell(plugins, "pytest_runtest_logstart", nodeid=nodeid)
    error = None
    try:
        test()
    except BaseException as raised:  # noqa: BLE001 - likewise
        error = raised
    counts["failed" if error else "passed"] += 1
    _tell(plugins, "pytest_runtest_logreport", report=_report(nodeid, "call", error))


def _tell(plugins, hook, **said):
    for plugin in plugins:
        if hasattr(plugin, hook):
            getattr(plugin, hook)(**said)


def _report(nodeid, when, error):
    """Return a report as pytest's are, which has the message and where the exception was raised."""
    report = SimpleNamespace(nodeid=nodeid, when=when, failed=error is not None, passed=error is None, skipped=False, longrepr="")
    if error is not None:
        import traceback

        places = [
            SimpleNamespace(path=frame.filename, lineno=frame.lineno, message="")
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename != __file__ and not frame.filename.startswith("<")
        ]
        message = _message(error)
        crash = SimpleNamespace(path=places[-1].path, lineno=places[-1].lineno, message=message) if places else None
        entries = [SimpleNamespace(reprfileloc=place) for place in places]
        report.longrepr = SimpleNamespace(reprcrash=crash, reprtraceback=SimpleNamespace(reprentries=entries))
        print(f"________ {nodeid} ________")
        traceback.print_exception(error, file=sys.stdout)
        print(f"E   {message}")
    return report


def _message(error):
    """Return what pytest says of an exception; of a comparison that is false, its two values."""
    if type(error) is not AssertionError or str(error):
        return f"{type(error).__name__}: {error}"
    import ast
    import linecache

    entry = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    frame = entry.tb_frame
    line = linecache.getline(frame.f_code.co_filename, entry.tb_lineno).strip()
    try:
        condition = ast.parse(line).body[0].test
        if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and isinstance(condition.ops[0], ast.Eq):
            sides = [condition.left, condition.comparators[0]]
            values = [repr(eval(ast.unparse(side), frame.f_globals, frame.f_locals)) for side in sides]
            return f"assert {values[0]} == {values[1]}\n +  where {values[0]} = {ast.unparse(sides[0])}"
    except (SyntaxError, AttributeError, IndexError):
        pass
    return line
