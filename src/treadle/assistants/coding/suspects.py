"""Which file a failing test is about, and what of it to look at: from what tests said and from what was read. Pure."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.coding.code import function_at, imports_in
from treadle.assistants.coding.story import Story

WHOLE = 6_000  # characters of a file up to which all of it is shown
_PLACE = re.compile(r"(?P<path>[\w./\-]+\.[A-Za-z]{1,4}):(?P<line>\d+)")
_TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|(_test|\.test|\.spec|_spec)\.\w+$|(^|/)conftest\.py$")


class Target(Struct, frozen=True):
    """A file to mend: what it holds, and what of it is shown."""

    path: str
    source: str
    shown: str


def candidates(story: Story, said: str) -> list[str]:
    """The files that may have to be mended: those that failures and the task name, and those that failing tests import."""
    named = [found["path"] for text in (said, story.task) for found in _PLACE.finditer(text)]
    imported = [
        path for test in test_files(said) for module in imports_in(story.source(test) or "") for path in _paths_of(module, test)
    ]
    return [path for path in dict.fromkeys([*named, *imported]) if not _TEST.search(path) and _is_inside(path)]


def first_said(story: Story) -> str:
    """What the tests said before anything was changed."""
    return next((step.content for step in story.steps if step.name == "run_tests"), "")


def test_files(said: str) -> list[str]:
    """The files of failing tests, at most two."""
    paths = dict.fromkeys(found["path"] for found in _PLACE.finditer(said))
    return [path for path in paths if _TEST.search(path) and _is_inside(path)][:2]


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "..")) and "site-packages" not in path and "node_modules" not in path


def _paths_of(module: str, test: str) -> Iterable[str]:
    """Where a module that a test imports may be."""
    folder = PurePosixPath(test).parent
    if module.startswith("."):
        return [str(_joined(folder, module))]
    inside = module.replace(".", "/")
    roots = ("", "src/", f"{folder}/" if str(folder) != "." else "")
    return [f"{root}{inside}.py" for root in dict.fromkeys(roots)]


def _joined(folder: PurePosixPath, relative: str) -> PurePosixPath:
    parts = list(folder.parts)
    for part in PurePosixPath(relative).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def target_in(story: Story, path: str) -> Target:
    """A file to mend: all of it is shown, or of a long one the functions that failures lead through."""
    source = story.source(path) or ""
    if len(source) <= WHOLE:
        return Target(path, source, source)
    tests = story.last("run_tests")
    said = f"{tests.content if tests else ''}\n{story.task}"
    lines = [int(found["line"]) for found in _PLACE.finditer(said) if found["path"] == path]
    shown = dict.fromkeys(part for line in lines if (part := function_at(source, line)))
    return Target(path, source, "\n".join(shown) or source[:WHOLE])
