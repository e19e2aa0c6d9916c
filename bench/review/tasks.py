"""The tasks: 30 diffs with one planted defect, 30 clean ones.

Most are made of functions of installed packages: a local variable is renamed, which is harmless, and in half of them an operator is
mutated on top. Six of each kind were written by hand. A function has either a planted or a clean diff, never both.
"""

import ast
import importlib.util
import random
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from textwrap import dedent

from msgspec import Struct

from bench.review.by_hand import BY_HAND
from bench.review.mutations import Edit, apply_edits, list_functions, list_mutations, rename_local

PACKAGES = (
    "packaging",
    "click",
    "jinja2",
    "attr",
    "idna",
    "h11",
    "markdown_it",
    "yaml",
    "starlette",
    "anyio",
    "httpcore",
    "pygments",
)
SEED = 27
HALF = 24  # tasks of each kind that are made from packages


class ReviewTask(Struct, frozen=True):
    """A change to review. `line` is the defect's line in the new file; 0 in a clean change."""

    name: str
    path: str
    before: str
    after: str
    line: int = 0
    defect: str = ""

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        rows = unified_diff(self.before.splitlines(), self.after.splitlines(), f"a/{self.path}", f"b/{self.path}", lineterm="")
        return "\n".join(rows) + "\n"


def make_tasks(most: int = 30) -> list[ReviewTask]:
    """Return the first tasks of each kind: always the same ones, with the same versions of the packages."""
    by_hand = list(_make_by_hand())
    made = _make_from_packages(HALF)
    planted = [*[each for each in by_hand if each.line], *[each for each in made if each.line]]
    clean = [*[each for each in by_hand if not each.line], *[each for each in made if not each.line]]
    return [*planted[:most], *clean[:most]]


def _make_by_hand() -> Iterator[ReviewTask]:
    for case in BY_HAND:
        yield ReviewTask(f"hand-{case.name}", f"{case.name}.py", case.before, case.clean)
        line = 1 + next(at for at, row in enumerate(case.planted.splitlines()) if case.wrong in row)
        yield ReviewTask(f"hand-{case.name}-planted", f"{case.name}.py", case.before, case.planted, line, case.defect)


def _make_from_packages(each: int) -> list[ReviewTask]:
    chance = random.Random(SEED)
    files = [file for name in PACKAGES for file in _list_sources(name)]
    functions = [(file, source, node) for file in files for source in [_read(file)] for node in list_functions(source)]
    usable = [(file, source, node, edits) for file, source, node in functions if (edits := rename_local(node))]
    chance.shuffle(usable)
    planted: list[ReviewTask] = []
    clean: list[ReviewTask] = []
    for file, source, node, edits in usable:
        path, name = "/".join(file.parts[-2:]), f"{file.parts[-2]}.{file.stem}.{node.name}:{node.lineno}"
        before = _excerpt(source, node)
        moved = [Edit(edit.line - node.lineno + 1, edit.start, edit.end, edit.text) for edit in edits]
        mutations = [each for each in list_mutations(source, node) if not _overlaps(each.edit, edits)]
        if len(planted) < each and mutations:
            mutation = chance.choice(mutations)
            wrong = Edit(mutation.edit.line - node.lineno + 1, mutation.edit.start, mutation.edit.end, mutation.edit.text)
            after = apply_edits(before, [*moved, wrong])
            if _is_python(after):
                planted.append(ReviewTask(f"{name}-planted", path, dedent(before), dedent(after), wrong.line, mutation.kind))
        elif len(clean) < each:
            after = apply_edits(before, moved)
            if _is_python(after):
                clean.append(ReviewTask(name, path, dedent(before), dedent(after)))
    if min(len(planted), len(clean)) < each:
        raise SystemExit(f"Too few functions: install more of {', '.join(PACKAGES)}.")
    return [*planted, *clean]


def _list_sources(package: str) -> list[Path]:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return []
    folder = Path(next(iter(found.submodule_search_locations)))
    return sorted(file for file in folder.glob("*.py") if file.stat().st_size < 200_000)


def _read(file: Path) -> str:
    return file.read_text("utf-8")


def _excerpt(source: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a function alone: the file of a task has nothing else."""
    rows = source.splitlines()[node.lineno - 1 : node.end_lineno]
    return "\n".join(rows) + "\n"


def _overlaps(edit: Edit, others: list[Edit]) -> bool:
    return any(edit.line == other.line and edit.start < other.end and other.start < edit.end for other in others)


def _is_python(text: str) -> bool:
    """Return whether an excerpt, which may be indented, is valid."""
    try:
        ast.parse(dedent(text))
    except SyntaxError:
        return False
    return True
