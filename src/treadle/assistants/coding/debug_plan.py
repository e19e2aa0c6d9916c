"""Debug plan for small models: code reads, tests and decides; the model only writes code. Pure.

Run the tests. If they pass, have a test written that shows the symptom. Rank the definitions that the failing tests are about;
ask for the likeliest one corrected, try single edits of it without the model, then ask for others, for wider excerpts and for
single pieces; insert each and run the tests again, within limits. What didn't help is undone. `job_environment` decides which
models are guided.
"""

import re
from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle import Options
from treadle.assistants.coding.candidate_edits import list_candidate_edits
from treadle.assistants.coding.code import CodeHole, extract_code, fill_hole, find_holes
from treadle.assistants.coding.docstring_examples import write_example_tests
from treadle.assistants.coding.fault_localisation import (
    BugReport,
    FaultTarget,
    apply_code,
    failing_test_files,
    failing_tests_of,
    find_other_files,
    format_part,
    narrow_targets,
    place_at,
    rank_places,
    source_of,
    widen_target,
)
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources
from treadle.assistants.coding.questions import FailingTests, ask_for_code, ask_for_piece
from treadle.assistants.coding.reproduction import RUNNERS, NoReproduction, plan_reproduction
from treadle.assistants.coding.transcript import Transcript, TranscriptStep, transcript_of
from treadle.assistants.coding.verification import is_test_path
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep
from treadle.workspace import CheckOutcome, format_counts

MAX_TRIES = 40
MAX_OTHER_FILE = 6_000  # characters of a file in another language, of which only the whole can be replaced
_MAX_FIRST = 5  # targets that are asked for before wider excerpts
_MAX_PIECES = 10
_MAX_EDITS = (24, 12, 12)  # single edits of the likeliest targets
_EDIT_SECONDS = 60.0  # that tests of single edits may take in all, by the time that the tests took at first
_FEWEST_TESTS = 5  # fewer are passed by wrong edits too easily: a negated condition fits three examples
_MAX_DOCUMENTED = 3  # definitions whose documentation is read for examples
_TESTS_SECONDS = 0.5  # that a run of tests takes beside the tests
_BATCH = 6  # single edits that are tried before it is seen whether one passed
_MASK = "[redacted"

DebugPlan = Generator[PlanQuestion, str, PlanStep]


class RepairAttempt(Struct, frozen=True):
    """A way to a repair: a model is asked for a target, or for a piece of it as if it were missing, once for each temperature.

    `edits` are tried without asking.
    """

    target: FaultTarget
    heats: tuple[float, ...] = ()
    hole: CodeHole | None = None
    feedback: bool = False
    edits: tuple[str, ...] = ()


def plan_debugging(request: Request, project: ProjectSources, report: BugReport) -> DebugPlan:
    """Return the next step towards passing tests."""
    story = transcript_of(request.history)
    project = _restore_sources(project, story, report)
    first = story.first_tests
    if first is None:
        return PlanStep((("run_tests", {}),))
    if first.tests is None:
        return _answer(f"The tests can't be run: {first.content.strip()}", done=False)
    if story.refused_write:  # files that are to be written have to be read in the process that writes them
        again = story.state - 1 if isinstance(story.state, int) else None
        return PlanStep((("read_file", {"path": story.refused_write}),), state=again)
    failing = first
    if first.tests.state in ("passed", "no tests", "not run"):
        found = yield from _reproduce(story, project, report, first.tests)
        if isinstance(found, PlanStep):
            return found
        failing = found
    else:
        failing = _tests_with_examples(story, report) or first
    assert failing.tests is not None, "only runs with an outcome are taken"
    if _is_fixed(story, report):
        return _finish(story, project)
    return (yield from _repair(story, project, report, failing.tests))


def _reproduce(
    story: Transcript, project: ProjectSources, report: BugReport, first: CheckOutcome
) -> Generator[PlanQuestion, str, PlanStep | TranscriptStep]:
    """Return the run of a test that shows the symptom, or the next step, which may be to give up."""
    said = {"passed": "All tests pass", "no tests": "There are no tests"}.get(first.state, "The project's tests can't be run")
    if not report.symptom:
        return _answer(f"{said}, and no symptom was described.", done=False)
    found = yield from plan_reproduction(story, project, report, first)
    if not isinstance(found, NoReproduction):
        return found
    return _answer(f"{said}, so they don't show the symptom. {found.why} Nothing was changed.", done=False)


def _tests_with_examples(story: Transcript, report: BugReport) -> TranscriptStep | None:
    """Return the first run of the tests together with the examples of the documentation, if these were written and can be run."""
    step = next((step for _, step in story.tries(report.test_path)), None)
    return step if step is not None and step.tests is not None and step.tests.state == "failed" else None


def _restore_sources(project: ProjectSources, story: Transcript, report: BugReport) -> ProjectSources:
    """Return the project as it was before the job, with the test that was written for the symptom."""
    read = {step.path for step in story.steps if step.name == "read_file" and step.path in project.files}
    before = {path: source for path in read if (source := story.source(path)) is not None}
    written = story.tries(report.test_path)
    return project.with_files({**before, **({report.test_path: written[-1][0]} if written else {})})


def _is_fixed(story: Transcript, report: BugReport) -> bool:
    """Return whether all tests passed after the last change of the code."""
    last = story.last("run_tests")
    changed = len(story.steps_before_change(report.test_path)) < len(story.steps)
    return changed and last is not None and last.passed and not last.path


def _repair(story: Transcript, project: ProjectSources, report: BugReport, failing: CheckOutcome) -> DebugPlan:
    """Read what the attempts need, and make the next one."""
    places = rank_places(project, failing, report)
    unread = [path for path in failing_test_files(failing) if path != report.test_path and not story.was_read(path)]
    unread += [path for path in dict.fromkeys(place.path for place in places) if not story.was_read(path)]
    if unread:
        return PlanStep(tuple(("read_file", {"path": path}) for path in dict.fromkeys(unread)))
    targets = narrow_targets(project, [place for place in places if story.source(place.path) is not None])
    for path in [] if targets else find_other_files(story, project, failing, report):
        if not story.was_read(path):
            return PlanStep((("read_file", {"path": path}),))
        source = story.source(path)
        targets += [FaultTarget(path, source, source)] if source is not None and len(source) <= MAX_OTHER_FILE else []
    if examples := _write_examples(story, project, report, failing, places):
        return examples
    tests = failing_tests_of(project, failing)
    tests = [test for test in tests if test.path != report.test_path] or tests  # the examples are in the code that is shown
    failures = tuple([failure for failure in failing.failures if failure.path != report.test_path]) or failing.failures
    shown = FailingTests(tuple(source_of(project, test) for test in tests), replace(failing, failures=failures))
    attempts = _list_attempts(project, targets, places, failing)
    return (yield from _try_next(story, project, shown, attempts, report.test_path))


def _write_examples(
    story: Transcript, project: ProjectSources, report: BugReport, failing: CheckOutcome, places: list[CodePlace]
) -> PlanStep | None:
    """Return the step that makes tests of the examples of the documentation, where there are few tests and no test was written."""
    if failing.passed + failing.failed >= _FEWEST_TESTS or failing.runner not in RUNNERS or story.tries(report.test_path):
        return None
    content = write_example_tests(project, places[:_MAX_DOCUMENTED]) if report.test_path else ""
    if not content:
        return None
    write = ("write_file", {"path": report.test_path, "content": content})
    return PlanStep((write, ("run_tests", {})), "There are few tests, so the examples of the documentation are tests too.")


def _list_attempts(
    project: ProjectSources, targets: list[FaultTarget], places: list[CodePlace], failing: CheckOutcome
) -> list[RepairAttempt]:
    """Return all attempts in their order: the likeliest definitions, single edits, wider excerpts, pieces, and what is left."""
    if not targets:
        return []
    first, has_enough_tests = targets[0], failing.passed + failing.failed >= _FEWEST_TESTS
    most_edits = int(_EDIT_SECONDS / (failing.seconds + _TESTS_SECONDS)) if has_enough_tests else 0
    wide = [RepairAttempt(wider, (0.0, 0.7)) for wider in widen_target(project, first, places)]
    return [
        RepairAttempt(first, (0.0,)),
        *_list_edits(targets, most_edits),
        *[RepairAttempt(target, (0.0,)) for target in targets[1:_MAX_FIRST]],
        *wide[:1],
        *_list_pieces(first, _MAX_PIECES, (0.0, 0.8, 0.8)),
        *[attempt for target in targets[1:3] for attempt in _list_pieces(target, _MAX_PIECES // 2, (0.0, 0.8))],
        *wide[1:],
        *[RepairAttempt(target, (0.0,)) for target in targets[_MAX_FIRST:]],
        *_list_edits(targets[:1], most_edits, rare=True),
        RepairAttempt(first, (0.7,), feedback=True),
    ]


def _list_pieces(target: FaultTarget, most: int, heats: tuple[float, ...]) -> Iterable[RepairAttempt]:
    return [RepairAttempt(target, heats, hole) for hole in find_holes(target.shown)[:most]]


def _list_edits(targets: list[FaultTarget], most: int, *, rare: bool = False) -> Iterable[RepairAttempt]:
    """Yield single edits of the likeliest targets, at most so many in all, in batches."""
    for target, most_of_it in zip(targets, _MAX_EDITS, strict=False):
        edits = list_candidate_edits(target.shown, target.path, min(most, most_of_it), rare=rare)
        most -= len(edits)
        yield from (RepairAttempt(target, edits=tuple(edits[at : at + _BATCH])) for at in range(0, len(edits), _BATCH))


def _try_next(
    story: Transcript, project: ProjectSources, failing: FailingTests, attempts: list[RepairAttempt], test_path: str
) -> DebugPlan:
    """Ask for something that wasn't tried yet, starting after the last attempt; insert it, and run the tests."""
    sources = {attempt.target.path: attempt.target.source for attempt in attempts}
    tries = [(path, *each) for path, source in sources.items() for each in story.tries(path) if each[0] != source]
    winner = next(((path, content) for path, content, tests in tries if tests is not None and tests.passed), None)
    if winner is not None:  # one of several that were tried together, and not the last
        return PlanStep(_try_calls(story, *winner), "Back to what passed.")
    known = {_strip_whitespace(content) for _, content, _ in tries}
    last = story.state if isinstance(story.state, int) else -1
    most = MAX_TRIES * (story.turn + 1) + sum(len(attempt.edits) for attempt in attempts)
    for index, attempt in list(enumerate(attempts))[last + 1 :] if len(tries) < most else ():
        edited = [content for edit in attempt.edits if (content := apply_code(attempt.target, edit))]
        found = {_strip_whitespace(content): content for content in edited}
        for number, heat in enumerate(attempt.heats):
            options = Options(temperature=heat if not story.turn else max(0.5, heat), seed=story.turn * 1_000 + index * 10 + number)
            words = yield _build_question(story, failing, attempt, attempts, options)
            content = _apply_reply(attempt, words)
            if content and _MASK not in content:
                found.setdefault(_strip_whitespace(content), content)
        fresh = [text for key, text in found.items() if key not in {*known, _strip_whitespace(attempt.target.source)}]
        if fresh:
            calls = tuple(call for content in fresh for call in _try_calls(story, attempt.target.path, content))
            piece = f", line {attempt.hole.line}" if attempt.hole else ""
            what = "with one change each" if attempt.edits else "written anew"
            return PlanStep(calls, f"{attempt.target.name} of {attempt.target.path}{piece}, {what}.", index)
    if not any(step.name == "delete_file" for step in story.steps):  # examples may be wrong: then the project's own tests decide
        for path, content, tests in tries:
            if tests is not None and tests.tests is not None and _fails_only_in(tests.tests, test_path):
                changes = [call for call in _try_calls(story, path, content) if call[0] == "write_file"]
                return PlanStep(
                    (*changes, ("delete_file", {"path": test_path}), ("run_tests", {})), "The project's tests pass with it."
                )
    return _give_up(story, project, failing.outcome, [attempt.target for attempt in attempts])


def _fails_only_in(outcome: CheckOutcome, path: str) -> bool:
    """Return whether the tests of this file fail, and no others."""
    listed = outcome.failures
    is_complete = outcome.state == "failed" and not outcome.errors and outcome.failed == len(listed)
    return is_complete and all(failure.path == path for failure in listed)


def _try_calls(story: Transcript, path: str, content: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the calls that try a content: other files that were tried are put back first."""
    back = [call for other, call in _undo_calls(story) if other != path]
    return (*back, ("write_file", {"path": path, "content": content}), ("run_tests", {}))


def _undo_calls(story: Transcript) -> list[tuple[str, tuple[str, dict[str, Any]]]]:
    """Return, for each file that isn't as it was, the call that puts it back."""
    found: list[tuple[str, tuple[str, dict[str, Any]]]] = []
    for path in dict.fromkeys(step.path for step in story.steps if step.name == "write_file" and not step.failed):
        source, tries = story.source(path), story.tries(path)
        if source is not None and tries and tries[-1][0] != source:
            found.append((path, ("write_file", {"path": path, "content": source})))
    return found


def _build_question(
    story: Transcript, failing: FailingTests, attempt: RepairAttempt, attempts: list[RepairAttempt], options: Options
) -> PlanQuestion:
    """Return the question to the model, with what it wrote before where the attempt gives feedback."""
    if attempt.hole is not None:
        return ask_for_piece(failing, attempt.target, attempt.hole, options)
    target = attempt.target
    tries = story.tries(target.path) if attempt.feedback else []
    edits = {apply_code(each.target, edit) for each in attempts for edit in each.edits} if tries else set[str]()
    tries = [(content, step) for content, step in tries if content not in {*edits, target.source}]
    tried = None if not tries else (format_part(target, tries[-1][0]), None if tries[-1][1] is None else tries[-1][1].tests)
    return ask_for_code(failing, target, tried, options)


def _apply_reply(attempt: RepairAttempt, words: str) -> str:
    target = attempt.target
    code = extract_code(words) if attempt.hole is None else fill_hole(target.shown, attempt.hole, words)
    return apply_code(target, code) if code else ""


def _strip_whitespace(content: str) -> str:
    """Return a file's content without whitespace, however it is laid out."""
    return re.sub(r"\s+", "", content)


def _finish(story: Transcript, project: ProjectSources) -> PlanStep:
    """Say what was wrong and what was changed."""
    step = next(step for step in reversed(story.steps) if step.name == "write_file" and not step.failed)
    source, content = story.source(step.path) or "", str(step.arguments.get("content", ""))
    name = _changed_name(project, step.path, source, content)
    was, now = _changed_lines(source, content), _changed_lines(content, source)
    change = f" The line `{was[0]}` is now `{now[0]}`." if len(was) == len(now) == 1 else ""
    return _answer(f"Fix {name}: the tests that failed pass now.{change}", done=True)


def _changed_lines(text: str, other: str) -> list[str]:
    there = Counter(map(str.strip, other.splitlines()))
    return [line for line in map(str.strip, text.splitlines()) if line and not there[line]]


def _changed_name(project: ProjectSources, path: str, source: str, content: str) -> str:
    """Return where a content differs first from the source: the definition and its file."""
    old, new = source.splitlines(), content.splitlines()
    line = next((at for at, pair in enumerate(zip(old, new, strict=False), 1) if pair[0] != pair[1]), min(len(old), len(new)))
    place = place_at(project, path, line)
    return f"{place.name} in {path}" if place else path


def _give_up(story: Transcript, project: ProjectSources, failing: CheckOutcome, targets: list[FaultTarget]) -> PlanStep:
    """Give up, after undoing what didn't help; say which places were tried, and what the tests said."""
    back = _undo_calls(story)
    if back:
        return PlanStep(tuple(call for _, call in back))
    if not targets:
        return _answer(f"Not fixed: {_describe_missing_target(story, project)}.", done=False)
    learnt = _describe_tries(story, project, failing, [target.path for target in targets])
    if not learnt:
        places = ", ".join(dict.fromkeys(f"{target.name} in {target.path}" for target in targets[:3]))
        return _answer(f"Not fixed: none of the model's answers was a change of the code that was shown ({places}).", done=False)
    return _answer("Not fixed; all changes were taken back. " + " ".join(learnt), done=False)


def _describe_missing_target(story: Transcript, project: ProjectSources) -> str:
    read = list(dict.fromkeys(step.path for step in story.steps if step.name == "read_file" and not is_test_path(step.path)))
    unread = [path for path in read if story.source(path) is None]
    if unread:
        return f"{', '.join(unread)} couldn't be read as a whole"
    long = [path for path in read if len(story.source(path) or "") > MAX_OTHER_FILE and not project.module(path).places]
    if long:
        return f"{', '.join(long)} can only be replaced as a whole, and has more than {MAX_OTHER_FILE:,} characters"
    return "the failing tests lead to no code of this project"


def _describe_tries(story: Transcript, project: ProjectSources, failing: CheckOutcome, paths: Iterable[str]) -> list[str]:
    """Return a sentence for each place that was tried: how often, and what the tests said then."""
    said: dict[str, Counter[str]] = {}
    for path in dict.fromkeys(paths):
        source = story.source(path) or ""
        for content, step in story.tries(path):
            if content != source:
                name = _changed_name(project, path, source, content)
                said.setdefault(name, Counter())[_describe_outcome(failing, None if step is None else step.tests)] += 1
    return [f"{name}: {_count_changes(results)}." for name, results in said.items()]


def _count_changes(results: Counter[str]) -> str:
    total = sum(results.values())
    counted = [words if len(results) == 1 else f"{words} ({count})" for words, count in results.most_common()]
    return f"{total} {'change' if total == 1 else 'changes'} tried; {', '.join(counted)}"


def _describe_outcome(failing: CheckOutcome, outcome: CheckOutcome | None) -> str:
    if outcome is None or outcome.state in ("crashed", "not run", "no tests"):
        return "the tests can't be run"
    if outcome.state == "timed out":
        return "the tests take too long"
    were, now = {each.name for each in failing.failures}, {each.name for each in outcome.failures}
    if now == were:
        return "the same tests fail"
    return f"{format_counts(outcome)}"


def _answer(summary: str, *, done: bool) -> PlanStep:
    return PlanStep((("give_answer", {"summary": summary, "done": done}),))
