"""Fault localisation: which definitions a failing test may be about, likeliest first, and which code a model is shown. Pure.

Definitions are ranked by the trace of the failure, by what the failing tests call and the passing ones don't, by the words of test,
failure and symptom, and by the lines that were changed last. A target of a repair is a function, or an excerpt of its module.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.coding.code import find_relative_imports, is_python_path, replace_definition, splice_code
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources
from treadle.assistants.coding.transcript import Transcript
from treadle.assistants.coding.verification import is_test_path
from treadle.workspace import CheckFailure, CheckOutcome

MAX_PLACES = 8
_MAX_DEPTH = 8  # calls from a test that are followed
_LOCATION = re.compile(r"(?P<path>[\w./\-]+\.[A-Za-z]{1,4}):(?P<line>\d+)")
_TRACE_LINE = re.compile(r'File "(?P<path>[^"]{1,500})", line (?P<line>\d{1,9})')
_TOKEN = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_TRACE, _REACH, _WORDS, _RECENT = 8.0, 2.0, 3.0, 1.0  # weights
MAX_WHOLE_FILE = 2_000  # characters of a Python file up to which all of it is shown
MAX_EXCERPTS = (3_000, 6_000)  # characters of an excerpt: of the neighbouring functions, of the module


class BugReport(Struct, frozen=True):
    """What is known of a bug beside the tests: the user's words, and the lines that the last commits changed, by file.

    `test_path` is where a test for it may be written.
    """

    symptom: str = ""
    test_path: str = ""
    recent: Mapping[str, tuple[int, ...]] = {}


def rank_places(project: ProjectSources, tests: CheckOutcome, report: BugReport) -> list[CodePlace]:
    """Return the definitions that may be wrong, likeliest first."""
    traced = _trace_places(project, tests, report)
    failing = failing_tests_of(project, tests)
    depths = _reach(project, failing)
    others = [place for path in {test.path for test in failing} for place in _list_tests(project, path) if place not in failing]
    passing = Counter(place for test in others for place in _reach(project, [test]))
    pool = [place for place in {**traced, **depths} if _is_candidate(project, place)]
    pool = pool or [place for path in _own_files(project, tests, report) for place in project.module(path).places.values()]
    words = _compare_words(project, pool, " ".join([*_test_texts(project, failing), *_failure_texts(tests), report.symptom]))
    scores = {
        place: _TRACE * traced.get(place, 0.0)
        + (_REACH / (1 + 0.1 * depths[place]) * _spectrum(passing[place], len(others)) if place in depths else 0.0)
        + _WORDS * words[place]
        + (_RECENT if set(report.recent.get(place.path, ())) & set(range(place.start, place.end + 1)) else 0.0)
        for place in pool
    }
    ranked = sorted(scores, key=lambda place: (-scores[place], depths.get(place, _MAX_DEPTH), place))
    return [place for place in ranked if place.name not in project.module(place.path).classes][:MAX_PLACES] or ranked[:1]


def _is_candidate(project: ProjectSources, place: CodePlace) -> bool:
    return place.path in project.files and not is_test_path(place.path)


def _spectrum(passing: int, others: int) -> float:
    """Return how suspicious code is that failing tests reach: less so the more of the passing tests reach it as well."""
    return 1.0 / (1.0 + passing / others) if others else 1.0


def _trace_places(project: ProjectSources, tests: CheckOutcome, report: BugReport) -> dict[CodePlace, float]:
    """Return the definitions that locations name, with a weight: the last of a trace counts most."""
    found: dict[CodePlace, float] = {}
    said = [failure_locations([failure]) for failure in tests.failures] or [find_locations(tests.output)]
    for locations in (*said, find_locations(report.symptom)):
        own = [place for path, line in locations if (place := place_at(project, path, line)) and not is_test_path(place.path)]
        for index, place in enumerate(reversed(own)):
            found[place] = max(found.get(place, 0.0), 1.0 / (1 + index))
    return found


def place_at(project: ProjectSources, path: str, line: int) -> CodePlace | None:
    """Return the innermost definition at a line; the file may be named by a longer path."""
    own = path if path in project.files else next((name for name in sorted(project.files) if path.endswith(f"/{name}")), "")
    around = [place for place in project.module(own).places.values() if place.start <= line <= place.end] if own else []
    return min(around, key=lambda place: place.end - place.start, default=None)


def failing_tests_of(project: ProjectSources, tests: CheckOutcome) -> list[CodePlace]:
    """Return the tests that failed, by their names and files."""
    found: dict[CodePlace, None] = {}
    for failure in tests.failures or ([CheckFailure(tests.last)] if tests.last else []):
        names = set(re.findall(r"\w+", failure.name))
        paths = [path for path in _test_files_of(project, failure) if path in project.files]
        found.update(dict.fromkeys(test for path in paths for test in _list_tests(project, path) if _simple_name(test) in names))
    return list(found)


def _test_files_of(project: ProjectSources, failure: CheckFailure) -> Iterable[str]:
    named = failure.name.partition("::")[0]
    modules = {part for part in re.findall(r"\w+", failure.name) if part.startswith("test")}
    yield from (path for path in (named, failure.path) if is_test_path(path))
    yield from (path for path in sorted(project.files) if is_test_path(path) and PurePosixPath(path).stem in modules)


def _list_tests(project: ProjectSources, path: str) -> list[CodePlace]:
    return [place for place in project.module(path).places.values() if _simple_name(place).startswith("test")]


def _simple_name(place: CodePlace) -> str:
    return place.name.rpartition(".")[2]


def _reach(project: ProjectSources, tests: Iterable[CodePlace]) -> dict[CodePlace, int]:
    """Return the definitions that tests lead to, each with the number of calls on the shortest way."""
    depths: dict[CodePlace, int] = {}
    edge = list(tests)
    for depth in range(_MAX_DEPTH):
        following = dict.fromkeys(found for place in edge for found in project.find_references(place))
        edge = [place for place in following if place not in depths]
        depths.update(dict.fromkeys(edge, depth))
    return depths


def _own_files(project: ProjectSources, tests: CheckOutcome, report: BugReport) -> list[str]:
    """Return the files that locations name and that failing tests import; all of them if none."""
    said = failure_locations(tests.failures) or find_locations(tests.output)
    located = [path for path, _ in [*said, *find_locations(report.symptom)]]
    imported = [
        project.resolve_import(path, bound.module, bound.level)
        for path in located
        if is_test_path(path)
        for bound in project.module(path).imports.values()
    ]
    own = [path for path in dict.fromkeys([*located, *imported]) if path in project.files and not is_test_path(path)]
    return own or [path for path in sorted(project.files) if not is_test_path(path)]


def _test_texts(project: ProjectSources, tests: Iterable[CodePlace]) -> list[str]:
    return [source_of(project, test) for test in tests][:3]


def source_of(project: ProjectSources, place: CodePlace) -> str:
    """Return the lines of a definition."""
    return "\n".join(project.files.get(place.path, "").splitlines()[place.start - 1 : place.end]) + "\n"


def _compare_words(project: ProjectSources, pool: list[CodePlace], text: str) -> dict[CodePlace, float]:
    """Return how much of a text's rare words each definition has, from 0 to 1."""
    tokens = {place: _tokenize(source_of(project, place)) for place in pool}
    spread = Counter(token for found in tokens.values() for token in found)
    wanted = _tokenize(text)
    raw = {
        place: sum(log(1 + len(pool) / spread[token]) for token in found & wanted) / (1 + log(1 + len(found)))
        for place, found in tokens.items()
    }
    most = max(raw.values(), default=0.0) or 1.0
    return {place: value / most for place, value in raw.items()}


def _tokenize(text: str) -> set[str]:
    return {found.lower().removesuffix("s") for found in _TOKEN.findall(text)}


def rank_places_by_words(project: ProjectSources, text: str) -> list[CodePlace]:
    """Return the public functions and classes that a text may be about, likeliest first."""
    pool = [
        place
        for path in sorted(project.files)
        if not is_test_path(path)
        for place in project.module(path).places.values()
        if not any(part.startswith("_") for part in place.name.split("."))
    ]
    words = _compare_words(project, pool, text)
    return sorted(pool, key=lambda place: (-words[place], place))


def find_other_files(story: Transcript, project: ProjectSources, tests: CheckOutcome, report: BugReport) -> list[str]:
    """Return the files without definitions that may be wrong, as those of other languages or that can't be parsed.

    They are named by failures, or imported by failing tests.
    """
    named = [path for path, _ in [*failure_locations(tests.failures), *find_locations(f"{tests.output}\n{report.symptom}")]]
    imported = [
        str(_join_path(PurePosixPath(test).parent, module))
        for test in failing_test_files(tests)
        for module in find_relative_imports(story.source(test) or "")
    ]
    own = [path for path in dict.fromkeys([*named, *imported]) if not is_test_path(path) and _is_inside(path)]
    return [path for path in own if (path in project.files or not is_python_path(path)) and not project.module(path).places]


def failing_test_files(tests: CheckOutcome) -> list[str]:
    """Return the files of failing tests, at most two."""
    places = [*[(failure.name.partition("::")[0], 0) for failure in tests.failures], *failure_locations(tests.failures)]
    paths = dict.fromkeys(path for path, _ in places or find_locations(tests.output))
    return [path for path in paths if "." in path and is_test_path(path) and _is_inside(path)][:2]


def failure_locations(failures: Iterable[CheckFailure]) -> list[tuple[str, int]]:
    """Return the locations of failures, each after those that its message names."""
    places: list[tuple[str, int]] = []
    for failure in failures:
        places += find_locations(failure.message)
        places += [(failure.path, failure.line or 0)] if failure.path else []
    return places


def find_locations(text: str) -> list[tuple[str, int]]:
    """Return the locations in a text written by a person or a test runner, in order."""
    found = [*_TRACE_LINE.finditer(text), *_LOCATION.finditer(text)]
    return [(match["path"], int(match["line"])) for match in sorted(found, key=lambda match: match.start())]


def _failure_texts(tests: CheckOutcome) -> list[str]:
    return [text for failure in tests.failures[:3] for text in (failure.name, failure.message)]


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "..")) and "site-packages" not in path and "node_modules" not in path


def _join_path(folder: PurePosixPath, relative: str) -> PurePosixPath:
    parts = list(folder.parts)
    for part in PurePosixPath(relative).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


class FaultTarget(Struct, frozen=True):
    """Code to correct: its file, the part of it that is shown, and the definitions in that part; none for the whole file."""

    path: str
    source: str
    shown: str
    parts: tuple[CodePlace, ...] = ()

    @property
    def name(self) -> str:
        """What is shown, in a few words."""
        return ", ".join(part.name for part in self.parts) or self.path


def narrow_targets(project: ProjectSources, places: Iterable[CodePlace]) -> list[FaultTarget]:
    """Return a target for each place: the definition alone, or the whole of a small file."""
    found = [_build_target(project, place.path, (place,)) for place in places]
    return list({(target.path, target.parts): target for target in found}.values())


def widen_target(project: ProjectSources, target: FaultTarget, places: Sequence[CodePlace]) -> list[FaultTarget]:
    """Return wider excerpts around a target: its class or what else of its file is suspected, then more of its module."""
    found: list[FaultTarget] = []
    for most in MAX_EXCERPTS if target.parts else ():
        wider = _build_target(project, target.path, _collect_neighbours(project, target.parts[0], places, most))
        if len(wider.parts) != len([target, *found][-1].parts):
            found.append(wider)
    return found


def apply_code(target: FaultTarget, code: str) -> str:
    """Return the file with a model's code in place; empty if the code makes no sense there."""
    if not target.parts:
        return splice_code(target.source, code, target.path)
    content, replaced = target.source, False
    for part in sorted(target.parts, key=lambda part: part.start, reverse=True):  # so that earlier lines don't move
        changed = replace_definition(content, part.name, part.start, part.end, code)
        if changed:
            content, replaced = changed, True
    return content if replaced else ""


def format_part(target: FaultTarget, content: str) -> str:
    """Return the part of another content of the file that a target shows of its source."""
    if not target.parts:
        return content
    project = ProjectSources({target.path: content})
    places = project.module(target.path).places
    return _format_excerpt(project, [places[part.name] for part in target.parts if part.name in places])


def _build_target(project: ProjectSources, path: str, parts: tuple[CodePlace, ...]) -> FaultTarget:
    source = project.files[path]
    if len(source) <= MAX_WHOLE_FILE:
        return FaultTarget(path, source, source)
    return FaultTarget(path, source, _format_excerpt(project, parts), parts)


def _collect_neighbours(project: ProjectSources, place: CodePlace, places: Sequence[CodePlace], most: int) -> tuple[CodePlace, ...]:
    """Return a place with others of its file, in the file's order: suspected ones, those of its class, then the nearest."""
    module = project.module(place.path)
    owner = place.name.rpartition(".")[0]
    others = [each for name, each in module.places.items() if name not in module.classes and each != place]
    others.sort(
        key=lambda each: (each not in places, not owner or each.name.rpartition(".")[0] != owner, abs(each.start - place.start))
    )
    chosen, length = [place], len(source_of(project, place))
    for each in others:
        length += len(source_of(project, each))
        if length > most:
            break
        chosen.append(each)
    return tuple(sorted(chosen, key=lambda each: each.start))


def _format_excerpt(project: ProjectSources, parts: Sequence[CodePlace]) -> str:
    """Return definitions as one piece of valid code: methods stand below the name of their class."""
    lines: list[str] = []
    current = ""
    for part in parts:
        owner = part.name.rpartition(".")[0]
        if owner and owner != current:
            lines.append(f"class {owner}:\n")
        current = owner
        lines.append(source_of(project, part))
    return "\n".join(lines) if len(parts) > 1 else "".join(lines)
