"""Which file a failing test is about, and what of it to look at: from what tests said and from what was read. Pure."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.coding.code import function_at, imports_in
from treadle.assistants.coding.story import Step, Story

WHOLE = 6_000  # characters of a file up to which all of it is shown
_PLACE = re.compile(r"(?P<path>[\w./\-]+\.[A-Za-z]{1,4}):(?P<line>\d+)")
_TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|(_test|\.test|\.spec|_spec)\.\w+$|(^|/)conftest\.py$")


class Target(Struct, frozen=True):
    """A file to mend: what it holds, and what of it is shown."""

    path: str
    source: str
    shown: str


def candidates(story: Story, tests: Step | None) -> list[str]:
    """The files that may have to be mended: those that failures and the task name, and those that failing tests import."""
    named = [path for path, _ in [*_places(tests), *_places_in(story.task)]]
    imported = [
        path for test in test_files(tests) for module in imports_in(story.source(test) or "") for path in _paths_of(module, test)
    ]
    return [path for path in dict.fromkeys([*named, *imported]) if not _TEST.search(path) and _is_inside(path)]


def test_files(tests: Step | None) -> list[str]:
    """The files of failing tests, at most two."""
    paths = dict.fromkeys(path for path, _ in _places(tests))
    return [path for path in paths if _TEST.search(path) and _is_inside(path)][:2]


def runner_texts(tests: Step | None) -> list[str]:
    """What a test runner itself says about failures: the names and messages, or the end of its output where it names none."""
    outcome = tests.tests if tests is not None else None
    if outcome is None:
        return []
    return [text for each in outcome.failures for text in (each.name, each.message)] or [outcome.output]


def _places(tests: Step | None) -> list[tuple[str, int]]:
    """The places of failures, each before those that its message names."""
    outcome = tests.tests if tests is not None else None
    if outcome is None or not outcome.failures:
        return [place for text in runner_texts(tests) for place in _places_in(text)]
    places: list[tuple[str, int]] = []
    for each in outcome.failures:
        places += [(each.path, each.line or 0)] if each.path else []
        places += _places_in(each.message)
    return places


def _places_in(text: str) -> list[tuple[str, int]]:
    """Places in a text of a person's or of a test runner's."""
    return [(found["path"], int(found["line"])) for found in _PLACE.finditer(text)]


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
    places = [*_places(story.last("run_tests")), *_places_in(story.task)]
    lines = [line for named, line in places if named == path]
    shown = dict.fromkeys(part for line in lines if (part := function_at(source, line)))
    return Target(path, source, "\n".join(shown) or source[:WHOLE])
