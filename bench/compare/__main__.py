"""The command line: `python -m bench.compare`, or `make compare`. The table goes to `bench/results/compare.md`.

Runs every program of both sides, counts its lines, and checks it with mypy and pyright. Ends with an error where the two
print different answers, where ours is longer, or where ours has a type error.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.compare.lines import count_lines, imported_packages

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "compare.md"
TITLES = {
    "typed_tools": "typed tools",
    "streaming": "streaming",
    "dependencies": "dependencies",
    "approval": "approval across two processes",
    "crash_and_resume": "crash and resume",
    "conversation": "conversation",
    "agents_as_tools": "agents as tools",
    "mcp_both_ways": "MCP both ways",
    "testing": "tests",
}


@dataclass(frozen=True)
class Side:
    """A library: where its programs are, and the Python that has it installed."""

    library: str
    folder: Path
    python: str

    def source(self, program: str) -> str:
        """Return the text of a program."""
        return (self.folder / f"{program}.py").read_text("utf-8")

    def packages(self, program: str) -> list[str]:
        """Return the other packages that a program imports."""
        return sorted(imported_packages(self.source(program)) - {self.library, "scripted"})


OURS = Side("treadle", ROOT / "examples", sys.executable)
THEIRS = Side("pydantic_ai", Path(__file__).parent / "programs", str(ROOT / ".venv-compare" / "bin" / "python"))


@dataclass(frozen=True)
class Outcome:
    """A program on one side."""

    lines: int
    answer: str
    mypy: int
    pyright: int
    packages: list[str]

    @property
    def type_errors(self) -> int:
        """How many errors both type checkers report."""
        return self.mypy + self.pyright


def main() -> int:
    """Run, print, write down."""
    ours, theirs = _outcomes(OURS), _outcomes(THEIRS)
    page = _page(ours, theirs)
    RESULTS.write_text(page, "utf-8")
    print(page)
    problems = list(_problems(ours, theirs))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _outcomes(side: Side) -> dict[str, Outcome]:
    mypy, pyright = _mypy_errors(side), _pyright_errors(side)
    return {
        each: Outcome(count_lines(side.source(each)), _answer(side, each), mypy[each], pyright[each], side.packages(each))
        for each in TITLES
    }


def _environment(folder: str) -> dict[str, str]:
    paths = {"PYTHONPATH": str(ROOT / "src"), "MYPYPATH": str(ROOT / "src"), "TREADLE_HOME": folder}
    return {**{name: value for name, value in os.environ.items() if name not in ("MODEL", "TREADLE_MODEL")}, **paths}


def _answer(side: Side, program: str) -> str:
    """Return what a program prints, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [side.python, str(side.folder / f"{program}.py")]
        done = subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def _mypy_errors(side: Side) -> Counter[str]:
    """Return the number of errors by program, without any configuration but `--strict`."""
    files = [f"{each}.py" for each in TITLES]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--strict", "--config-file=", f"--cache-dir={folder}", "--python-executable", side.python]
        command = [sys.executable, "-m", "mypy", *options, *files]
        done = subprocess.run(command, cwd=side.folder, env=_environment(folder), capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"mypy failed: {done.stdout}{done.stderr}")
    return Counter(re.findall(r"^(\w+)\.py:\d+: error:", done.stdout, re.MULTILINE))


def _pyright_errors(side: Side) -> Counter[str]:
    """Return the number of errors by program, in the strict mode."""
    with tempfile.TemporaryDirectory() as folder:
        include = [os.path.relpath(side.folder / f"{each}.py", folder) for each in TITLES]
        settings = {"typeCheckingMode": "strict", "include": include, "extraPaths": [str(ROOT / "src"), str(side.folder)]}
        project = Path(folder, "pyrightconfig.json")
        project.write_text(json.dumps(settings), "utf-8")
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", side.python, "--project", str(project)]
        done = subprocess.run(command, env=_environment(folder), capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    if report["summary"]["filesAnalyzed"] != len(TITLES):
        raise RuntimeError(f"pyright saw {report['summary']['filesAnalyzed']} programs.")
    return Counter(Path(each["file"]).stem for each in report["generalDiagnostics"] if each["severity"] == "error")


def _problems(ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> Iterator[str]:
    for each in TITLES:
        if ours[each].answer != theirs[each].answer:
            yield f"{each}: the answers differ:\n{ours[each].answer}\n{theirs[each].answer}"
        if ours[each].lines > theirs[each].lines:
            yield f"{each}: ours is longer."
        if ours[each].type_errors:
            yield f"{each}: ours has type errors."


def _page(ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> str:
    lines = [
        "# Nine programs, in Treadle and in pydantic-ai",
        "",
        f"Written by `make compare`: {_version(OURS, 'treadle')} and {_version(THEIRS, 'pydantic-ai-slim')}. Each program is in",
        "`examples/` and, for pydantic-ai, under the same name in `bench/compare/programs/`.",
        "",
        *table(ours, theirs),
        "",
        "- **lines** have code: no blank lines, comments or docstrings, and nothing that only serves to script the model.",
        "  An import is one line. In the tests, scripting the model is the subject, and counts.",
        "- **type errors** are those of mypy `--strict` and of pyright's strict mode, together.",
        "- **also imports** lists the packages that the program imports besides pydantic-ai; Treadle's programs import none.",
        "",
    ]
    return "\n".join(lines)


def table(ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> list[str]:
    """Return the lines of the table."""
    head = "| program | Treadle: lines | type errors | pydantic-ai: lines | type errors | also imports | same answer |"
    rows = [
        f"| {title} | {_cells(ours[each])} | {_cells(theirs[each])} | {', '.join(theirs[each].packages) or '-'} "
        f"| {'yes' if ours[each].answer == theirs[each].answer else 'no'} |"
        for each, title in TITLES.items()
    ]
    sums = [_sum(side) for side in (ours, theirs)]
    same = sum(ours[each].answer == theirs[each].answer for each in TITLES)
    return [head, "|---|--:|--:|--:|--:|---|---|", *rows, f"| all | {' | '.join(sums)} | | {same} of {len(TITLES)} |"]


def _cells(outcome: Outcome) -> str:
    return f"{outcome.lines} | {outcome.type_errors}"


def _sum(side: dict[str, Outcome]) -> str:
    outcomes = side.values()
    return f"{sum(each.lines for each in outcomes)} | {sum(each.type_errors for each in outcomes)}"


def _version(side: Side, package: str) -> str:
    code = f"from importlib.metadata import version; print('{package}', version('{package}'))"
    return subprocess.run([side.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
