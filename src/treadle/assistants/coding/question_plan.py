"""Guided plan for small models: questions about the code of a project, and which of its tests fail. Pure.

Code finds the files and their tests; the model says which file a question is about, and words the answer from what was read.
Anything else, such as a change, is left to the model.
"""

import re
from collections import Counter
from collections.abc import Generator, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar, assert_never, cast

import msgspec
from msgspec import Struct

from treadle import Options, Result
from treadle.assistants.coding.verification import is_test_path
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep, extract_json, format_plan_question, last_turn, load_plan_state
from treadle.workspace import (
    CheckFailure,
    CheckOutcome,
    FileLines,
    FileNames,
    GrepResult,
    any_definition_pattern,
    find_language_patterns,
)

Steps = Generator[PlanQuestion, str, PlanStep]
PlanCall = tuple[str, dict[str, Any]]

WHICH_FILE = "A developer asks about a project. These are its files, with line numbers and comments. Name the file to read."
ANSWER = (
    "A developer asks about source code, and this was read for it, with line numbers. Answer in two to four short sentences, from "
    "that and nothing else: name the file and its functions, and say what they do. Name tests only if the question is about tests."
)
WHY = (
    "Tests of a project fail. These are their reports, the tests and the code, with line numbers. Say in one or two short "
    "sentences what is wrong in the code, and in which line."
)
_QUESTION = re.compile(
    r"\s*(?:and\s+|so\s+)?(?:where|which|what|who|how|why|when|is|are|does|do|did|has|have|explain|describe|show me|tell me)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"(?:^|[.;,]|\b(?:and|then|please|you))\s*(?:add|fix|mend|change|write|rename|remove|delete|create|implement|refactor|commit|run|"
    r"make|update|replace|move|install|push|undo|revert|build)\b",
    re.IGNORECASE,
)
_FAILURES = re.compile(r"\btests?\b.*\b(?:fail|pass|broken|red|green)|\bfail\w*\b.*\btests?\b", re.IGNORECASE)
_TESTS = re.compile(r"\btest(?:s|ed|ing)?\b|\bcover(?:ed|age|s)?\b", re.IGNORECASE)
_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about all and are called check checked class code cover coverage covered defined describe does done explain file files "
        "find for from function functions handled happen happens have how implemented its line lines logic made method module part "
        "project show tell test tested tests that the there these they this used what when where which who why with work works you",
    )
)
_FLAT_TOOLS = frozenset(("find_files", "grep", "outline_file", "read_file", "run_tests"))
_GROUPED_TOOLS = frozenset(("search", "navigate", "file", "test"))
_MAX_LISTED, _MAX_HITS = 500, 300
_MAX_CHOICE = 6  # files that the model chooses from
_MAX_OUTLINE, _MAX_SOURCE, _MAX_TESTS = 400, 5_000, 2_500  # characters
_MAX_FAILURES, _MAX_TERMS, _MAX_MESSAGE = 3, 12, 200
_T = TypeVar("_T")


class _State(Struct, frozen=True):
    """What the results that come next are, and the files that they are about."""

    next: Literal["files", "outlines", "source", "tests", "outcome", "failing", "tested"]
    files: tuple[str, ...] = ()


def plan_question(request: Request) -> Steps | None:
    """Return the steps that answer the last message; None if the model is to answer it with the tools on offer."""
    message, results = last_turn(request.history)
    if not is_question(message) or not (calls := _Calls(request)).are_on_offer:
        return None
    stored = load_plan_state(request.history)
    state = None if stored is None else msgspec.convert(stored, _State)
    return _choose_step(message, format_plan_question(message, request), results, state, calls)


def is_question(message: str) -> bool:
    """Return whether a message asks about code, and doesn't ask for a change of it."""
    return bool(_QUESTION.match(message)) and not _CHANGE.search(message)


class _Calls:
    """The calls of the plan: of one tool for each action where those are on offer, or of tools that take an action."""

    def __init__(self, request: Request) -> None:
        names = {tool.name for tool in request.tools}
        self._is_flat = "read_file" in names
        self.are_on_offer = names >= (_FLAT_TOOLS if self._is_flat else _GROUPED_TOOLS)

    def find_files(self) -> PlanCall:
        return self._call("find_files", "search", "find_files", pattern="*", max_results=_MAX_LISTED)

    def grep(self, pattern: str) -> PlanCall:
        return self._call("grep", "search", "grep", pattern=pattern, case_insensitive=True, max_results=_MAX_HITS)

    def outline(self, path: str) -> PlanCall:
        return self._call("outline_file", "navigate", "get_file_outline", path=path)

    def read(self, path: str) -> PlanCall:
        return self._call("read_file", "file", "read", path=path)

    def test(self) -> PlanCall:
        return ("run_tests" if self._is_flat else "test"), {}

    def _call(self, flat: str, grouped: str, action: str, **arguments: Any) -> PlanCall:
        return (flat, arguments) if self._is_flat else (grouped, {"action": action, **arguments})


def _choose_step(message: str, question: str, results: Sequence[Result], state: _State | None, calls: _Calls) -> Steps:
    if not results or state is None:
        return _begin(message, state, calls)
    match state.next:
        case "files":
            return _outline_files(message, results, calls)
        case "outlines":
            return (yield from _choose_file(message, results[-len(state.files) :], state.files, calls))
        case "source" | "tests":
            return (yield from _answer_from_source(message, question, results, state, calls))
        case "outcome":
            return _read_failing_test(results[-1], calls)
        case "failing" | "tested":
            return (yield from _explain_failures(results, state, calls))
        case _:
            assert_never(state.next)


def _begin(message: str, before: _State | None, calls: _Calls) -> PlanStep:
    """Run the tests, or look for files. `before` is the state that an earlier question ended with: "it" is about its file."""
    if _FAILURES.search(message):
        return PlanStep((calls.test(),), state=_State("outcome"))
    terms = find_search_terms(message)
    if not terms and before is not None and before.next in ("source", "tests"):
        return _read_source(before.files[0], calls)
    searches = (calls.grep("|".join(map(re.escape, terms))),) if terms else ()
    return PlanStep((calls.find_files(), *searches), state=_State("files"))


# where something is, and what it does


def find_search_terms(message: str) -> list[str]:
    """Return what code about the subject of a message may contain: its words without their endings."""
    words = [word.casefold() for word in re.findall(r"[A-Za-z_]\w{2,}", message)]
    return list(dict.fromkeys([_stem(word) for word in words if word not in _COMMON_WORDS]))[:_MAX_TERMS]


def _stem(word: str) -> str:
    """Return what the inflections of a word begin with."""
    found = re.sub(r"(?:ies|ing|ied|ed|es|s|y)$", "", word)
    return found if len(found) > 3 else word


def _outline_files(message: str, results: Sequence[Result], calls: _Calls) -> PlanStep:
    """Outline the files that the question is most likely about; read one that it names."""
    paths = _find_data(results, FileNames, "paths", FileNames(())).paths
    named = [path for path in paths if PurePosixPath(path).name.casefold() in message.casefold()]
    hits = _find_data(results, GrepResult, "hits", GrepResult(()))
    chosen = named[:1] or rank_source_files(paths, hits, find_search_terms(message))[:_MAX_CHOICE]
    if not chosen:
        return PlanStep(text="There are no source files here.")
    if len(chosen) == 1:
        return _read_source(chosen[0], calls)
    return PlanStep(tuple(map(calls.outline, chosen)), state=_State("outlines", tuple(chosen)))


def rank_source_files(paths: Sequence[str], found: GrepResult, terms: Sequence[str]) -> list[str]:
    """Return the source files that aren't tests: those first that contain most of the terms, then those that define them."""
    lines: dict[str, list[str]] = {}
    for hit in found.hits:
        lines.setdefault(hit.path, []).append(hit.text)

    def rank(path: str) -> tuple[int, int, int, int, str]:
        mine, language = lines.get(path, []), find_language_patterns(path)
        text = "\n".join([path, *mine]).casefold()
        definitions = 0 if language is None else sum(re.search(any_definition_pattern(language), line) is not None for line in mine)
        return -sum(term in text for term in terms), -definitions, -len(mine), path.count("/"), path

    return sorted([path for path in paths if find_language_patterns(path) is not None and not is_test_path(path)], key=rank)


def _choose_file(message: str, outlines: Sequence[Result], files: Sequence[str], calls: _Calls) -> Steps:
    """Have the model say which of the outlined files the question is about, and read it."""
    shown = "\n\n".join(
        [f"{path}\n{_select_lines(each.content, _MAX_OUTLINE)}" for path, each in zip(files, outlines, strict=True)]
    )
    shape = {
        "type": "object",
        "properties": {"file": {"type": "string", "enum": list(files)}},
        "required": ["file"],
        "additionalProperties": False,
    }
    text = f'{shown}\n\nQuestion: {message}\n\nAnswer with JSON: {{"file": "its path"}}'
    said = extract_json((yield PlanQuestion(text, WHICH_FILE, Options(temperature=0, max_tokens=60), shape)))
    chosen = str(cast("dict[str, Any]", said).get("file")) if isinstance(said, dict) else ""
    return _read_source(chosen if chosen in files else files[0], calls)


def _read_source(path: str, calls: _Calls) -> PlanStep:
    """Read a file, and find what mentions it."""
    return PlanStep((calls.read(path), calls.grep(rf"\b{re.escape(PurePosixPath(path).stem)}\b")), state=_State("source", (path,)))


def _answer_from_source(message: str, question: str, results: Sequence[Result], state: _State, calls: _Calls) -> Steps:
    """Have the model answer from the file; where the question is about tests, from the first test file that mentions it too."""
    file, *tests = state.files
    source, mentions = results[-2:] if state.next == "source" else results[-3:-1]
    parts = [f"{file}:\n{_select_lines(source.content, _MAX_SOURCE, find_search_terms(message))}"]
    if tests:
        parts.append(f"{tests[0]}, with the tests of {file}:\n{_select_lines(results[-1].content, _MAX_TESTS)}")
    elif _TESTS.search(message):
        hits = _find_data([mentions], GrepResult, "hits", GrepResult(())).hits
        found = sorted({hit.path for hit in hits if is_test_path(hit.path)})
        if found and file not in found:
            return PlanStep((calls.read(found[0]),), state=_State("tests", (file, found[0])))
        parts.append(f"There are no tests of {file}.")
    words = yield PlanQuestion("\n\n".join([*parts, question]), ANSWER, Options(temperature=0, max_tokens=200), answers=True)
    return PlanStep(text=words.strip() or parts[0], state=state)


# which tests fail


def _read_failing_test(result: Result, calls: _Calls) -> PlanStep:
    """Answer if no test fails; else read the first that does."""
    outcome = _find_data([result], CheckOutcome, "failures", None)
    path = "" if outcome is None or outcome.state != "failed" else next((each.path for each in outcome.failures if each.path), "")
    if not path:
        return PlanStep(text=result.content)
    return PlanStep((calls.read(path), calls.find_files()), state=_State("failing", (path,)))


def _explain_failures(results: Sequence[Result], state: _State, calls: _Calls) -> Steps:
    """List the failed tests, and have the model say what is wrong, from the first file that the tests mention."""
    outcome = _find_data(results, CheckOutcome, "failures", None)
    assert outcome is not None  # the step before found failures in it
    path, *files = state.files
    test = results[-2] if state.next == "failing" else results[-3]
    if not files:
        paths = _find_data(results, FileNames, "paths", FileNames(())).paths
        mentioned = [each for each in rank_source_files(paths, GrepResult(()), ()) if _is_mentioned(each, test)]
        if mentioned:
            return PlanStep((calls.read(mentioned[0]),), state=_State("tested", (path, mentioned[0])))
    listed = _format_failures(outcome)
    parts = [f"{listed}\n\n{path}:\n{_select_lines(test.content, _MAX_TESTS)}"]
    if files:
        parts.append(f"{files[0]}:\n{_select_lines(results[-1].content, _MAX_SOURCE)}")
    words = yield PlanQuestion("\n\n".join(parts), WHY, Options(temperature=0, max_tokens=150), answers=True)
    return PlanStep(text=f"{listed}\n\n{words.strip()}".strip(), state=state)


def _is_mentioned(path: str, read: Result) -> bool:
    """Return whether a file that was read mentions another by its name."""
    lines = _find_data([read], FileLines, "text", None)
    return lines is not None and re.search(rf"\b{re.escape(PurePosixPath(path).stem)}\b", lines.text) is not None


def _format_failures(outcome: CheckOutcome) -> str:
    total = outcome.passed + outcome.failed + outcome.errors
    shown = outcome.failures[:_MAX_FAILURES]
    more = outcome.failed + outcome.errors - len(shown)
    lines = [f"{outcome.failed + outcome.errors} of {total} tests failed:", *map(_format_failure, shown)]
    return "\n".join([*lines, *([f"- and {more} more"] if more > 0 else [])])


def _format_failure(failure: CheckFailure) -> str:
    place = f" ({failure.path}{f':{failure.line}' if failure.line else ''})" if failure.path else ""
    said = " ".join(failure.message.split())
    return f"- `{failure.name}`{place}" + (f": {said[:_MAX_MESSAGE]}" if said else "")


def _find_data(results: Sequence[Result], kind: type[_T], field: str, default: Any) -> Any:
    """Return the last data of this kind among results, which has this field."""
    for data in [each.data for each in reversed(results)]:
        if isinstance(data, dict) and field in cast("dict[str, Any]", data):
            return msgspec.convert(cast("dict[str, Any]", data), kind)
    return default


def _select_lines(text: str, most: int, terms: Sequence[str] = ()) -> str:
    """Return lines of a text, at most so many characters: those with most of the terms, rare ones above all; else the first."""
    lines = text.splitlines(keepends=True)
    found = [[term for term in terms if term in line.casefold()] for line in lines]
    common = Counter(chain.from_iterable(found))
    scores = [sum(1 / common[term] for term in each) for each in found]
    start, size, windows = 0, 0, [(0.0, 0, 0)]  # of each: its score, minus its start, its end
    for end, line in enumerate(lines, 1):
        size += len(line)
        while size > most and start < end - 1:
            size -= len(lines[start])
            start += 1
        windows.append((round(sum(scores[start:end]), 6), -start, end))
    _, start, end = max(windows)
    return "".join(lines[-start:end])
