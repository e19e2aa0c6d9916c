"""Fault localisation: which file a failing test is about, and what of it to show, from test output and from what was read. Pure."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.coding.code import find_imports, function_at
from treadle.assistants.coding.transcript import Transcript, TranscriptStep

MAX_WHOLE_FILE = 6_000  # characters of a file up to which all of it is shown
_LOCATION = re.compile(r"(?P<path>[\w./\-]+\.[A-Za-z]{1,4}):(?P<line>\d+)")
_TEST_PATH = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|(_test|\.test|\.spec|_spec)\.\w+$|(^|/)conftest\.py$")


class FaultTarget(Struct, frozen=True):
    """A file to fix: its content, and the part of it that is shown."""

    path: str
    source: str
    shown: str


def find_suspect_files(story: Transcript, tests: TranscriptStep | None) -> list[str]:
    """Return the files that may have to be fixed: those named by failures and by the task, and those imported by failing tests."""
    named = [path for path, _ in [*_failure_locations(tests), *_find_locations(story.task)]]
    imported = [
        path
        for test in failing_test_files(tests)
        for module in find_imports(story.source(test) or "")
        for path in _module_paths(module, test)
    ]
    return [path for path in dict.fromkeys([*named, *imported]) if not _TEST_PATH.search(path) and _is_inside(path)]


def failing_test_files(tests: TranscriptStep | None) -> list[str]:
    """Return the files of failing tests, at most two."""
    paths = dict.fromkeys(path for path, _ in _failure_locations(tests))
    return [path for path in paths if _TEST_PATH.search(path) and _is_inside(path)][:2]


def runner_messages(tests: TranscriptStep | None) -> list[str]:
    """Return what a test runner itself says about failures: names and messages, or the end of its output if it names none."""
    outcome = tests.tests if tests is not None else None
    if outcome is None:
        return []
    return [text for each in outcome.failures for text in (each.name, each.message)] or [outcome.output]


def _failure_locations(tests: TranscriptStep | None) -> list[tuple[str, int]]:
    """Return the locations of failures, each before those that its message names."""
    outcome = tests.tests if tests is not None else None
    if outcome is None or not outcome.failures:
        return [place for text in runner_messages(tests) for place in _find_locations(text)]
    places: list[tuple[str, int]] = []
    for each in outcome.failures:
        places += [(each.path, each.line or 0)] if each.path else []
        places += _find_locations(each.message)
    return places


def _find_locations(text: str) -> list[tuple[str, int]]:
    """Return the locations in a text written by a person or a test runner."""
    return [(found["path"], int(found["line"])) for found in _LOCATION.finditer(text)]


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "..")) and "site-packages" not in path and "node_modules" not in path


def _module_paths(module: str, test: str) -> Iterable[str]:
    """Yield the possible paths of a module that a test imports."""
    folder = PurePosixPath(test).parent
    if module.startswith("."):
        return [str(_join_path(folder, module))]
    inside = module.replace(".", "/")
    roots = ("", "src/", f"{folder}/" if str(folder) != "." else "")
    return [f"{root}{inside}.py" for root in dict.fromkeys(roots)]


def _join_path(folder: PurePosixPath, relative: str) -> PurePosixPath:
    parts = list(folder.parts)
    for part in PurePosixPath(relative).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def build_target(story: Transcript, path: str) -> FaultTarget:
    """Return a file to fix: all of it is shown, or of a long one the functions that failures lead through."""
    source = story.source(path) or ""
    if len(source) <= MAX_WHOLE_FILE:
        return FaultTarget(path, source, source)
    places = [*_failure_locations(story.last("run_tests")), *_find_locations(story.task)]
    lines = [line for named, line in places if named == path]
    shown = dict.fromkeys(part for line in lines if (part := function_at(source, line)))
    return FaultTarget(path, source, "\n".join(shown) or source[:MAX_WHOLE_FILE])
