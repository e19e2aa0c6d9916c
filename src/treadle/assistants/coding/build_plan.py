"""Build plan for small models: a test for what is asked comes first, then the code until it passes. Pure.

Code chooses where to look, runs the tests and decides; the model picks a place among a few, writes the test and the code.
What doesn't help is undone, and then the plan gives up with what was tried.
"""

import re
from collections.abc import Generator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle import Options
from treadle.assistants.coding.code import append_code, extract_code, parse_python
from treadle.assistants.coding.fault_localisation import FaultTarget, apply_code, narrow_targets, rank_places_by_words
from treadle.assistants.coding.inputs import BuildInputs, issue_text, truncate_middle
from treadle.assistants.coding.project_sources import ProjectSources
from treadle.assistants.coding.questions import ask_for_fields
from treadle.assistants.coding.reproduction import choose_test_path, find_example_test
from treadle.assistants.coding.transcript import Transcript, TranscriptStep, transcript_of
from treadle.assistants.coding.verification import is_test_path
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep
from treadle.workspace import CheckOutcome, format_outcome

MAX_CODE_TRIES = 5
_HEATS = (0.0, 0.7, 0.9)
_RUNNERS = ("pytest", "unittest")
_MAX_PLACES, _MAX_FILES = 5, 3
_MAX_TASK, _MAX_TEXT = 2_000, 1_500
_PATH = re.compile(r"[A-Za-z_][\w/]{0,80}\.py")
_BROKEN_TEST = ("SyntaxError", "IndentationError")
_INSTRUCTIONS = "You are a careful programmer who extends an existing code base."
_PLACE = """\
This is to be built:

{task}

Where does it belong? Answer with JSON: {{"place": "one of them"}}

{places}"""
_FILE = """\
This is to be built, in a project without code so far:

{task}

How is the Python file called? Answer with JSON: {{"path": "name.py"}}"""
_TEST = """\
This is to be built:

{task}

{code}{example}{more}Write one test for {runner} that fails now, and that will pass when this is built.
It imports from the module {module}. Give the whole test file, with its imports, in a fenced block."""
_CODE = """\
This is to be built:

{task}

{code}This test has to pass:

```python
{test}```

{more}{wish} in a fenced block."""

BuildSteps = Generator[PlanQuestion, str, PlanStep]


class BuildPlace(Struct, frozen=True):
    """Where something is built: a file, and the definition in it to change; empty if one is added."""

    path: str
    name: str


def choose_build_test_path(files: Mapping[str, str], task: str) -> str:
    """Return where the test for something new is written: beside the other tests, named after the task."""
    words = re.findall(r"[a-z]+", task.lower())
    return choose_test_path(files, f"test_{'_'.join(words[:4]) or 'new'}.py")


def plan_build(request: Request, project: ProjectSources, given: BuildInputs, test_path: str) -> BuildSteps:
    """Return the next step: the tests as they are, a place, a test that fails, code until it passes."""
    story = transcript_of(request.history)
    first = story.first_tests
    if first is None:
        return PlanStep((("run_tests", {}),))
    if first.tests is None:
        return _answer(f"The tests can't be run: {first.content.strip()}", done=False)
    if first.tests.runner and first.tests.runner not in _RUNNERS:
        return _answer("A small model is guided only in Python projects: use --free, or a larger model.", done=False)
    if story.refused_write:
        return PlanStep((("read_file", {"path": story.refused_write}),), state=story.state)
    task = _describe_task(given)
    if story.state is None:
        return (yield from _choose_place(project, task))
    target = _find_target(story, project, msgspec.convert(story.state, BuildPlace))
    test = _find_failing_test(story, test_path)
    if test is None:
        return (yield from _write_test(story, project, task, target, test_path, first.tests))
    return (yield from _write_code(story, task, target, test, test_path, first.tests))


def _describe_task(given: BuildInputs) -> str:
    parts = [given.description, given.issue, issue_text(given), *[f"- {criterion}" for criterion in given.criteria]]
    return truncate_middle("\n".join(part.strip() for part in parts if part.strip()), _MAX_TASK)


def _choose_place(project: ProjectSources, task: str) -> BuildSteps:
    """Ask where it belongs, and read that file."""
    ranked = rank_places_by_words(project, task)
    paths = list(
        dict.fromkeys([place.path for place in ranked] + [path for path in sorted(project.files) if not is_test_path(path)])
    )
    if not paths:
        said = yield from ask_for_fields(_INSTRUCTIONS, _FILE.format(task=task), {"path": ()})
        path = said["path"] if said is not None and _PATH.fullmatch(said["path"]) else "main.py"
        return PlanStep((("list_folder", {}),), state={"path": path, "name": ""})
    options = {f"{place.name} in {place.path}": (place.path, place.name) for place in ranked[:_MAX_PLACES]}
    options |= {f"a new function in {path}": (path, "") for path in paths[:_MAX_FILES]}
    text = _PLACE.format(task=task, places="\n".join(f"- {name}" for name in options))
    said = yield from ask_for_fields(_INSTRUCTIONS, text, {"place": tuple(options)})
    path, name = next(iter(options.values())) if said is None else options[said["place"]]
    return PlanStep((("read_file", {"path": path}),), state={"path": path, "name": name})


def _find_target(story: Transcript, project: ProjectSources, chosen: BuildPlace) -> FaultTarget:
    """Return the code to change: a definition as it was, or a file that a function is added to, which may be new."""
    source = story.source(chosen.path) or ""
    before = project.with_files({chosen.path: source})
    place = before.module(chosen.path).places.get(chosen.name)
    return narrow_targets(before, [place])[0] if place is not None else FaultTarget(chosen.path, source, "")


def _find_failing_test(story: Transcript, test_path: str) -> str | None:
    """Return the test that fails without what is to be built."""
    tries = story.tries(test_path)
    return next((content for content, step in tries if not _find_test_defect(step)), None)


def _find_test_defect(step: TranscriptStep | None) -> str:
    """Return why a test doesn't show that something is missing; empty if it does."""
    outcome = None if step is None else step.tests
    if outcome is None or outcome.state in ("no tests", "not run", "timed out"):
        return "it can't be run"
    if outcome.state == "passed":
        return "it passes before anything is built"
    said = " ".join([outcome.output, *[failure.message for failure in outcome.failures]])
    return "it is no valid Python" if any(name in said for name in _BROKEN_TEST) else ""


def _write_test(
    story: Transcript, project: ProjectSources, task: str, target: FaultTarget, test_path: str, first: CheckOutcome
) -> BuildSteps:
    tries = [(content, _find_test_defect(step)) for content, step in story.tries(test_path)]
    example = find_example_test(project, target.path)
    shown = f"A test of this project looks like this:\n\n```python\n{example[:_MAX_TEXT]}\n```\n\n" if example else ""
    for number, heat in list(enumerate(_HEATS))[len(tries) :]:
        more = f"This test was tried, but {tries[-1][1]}:\n\n```python\n{tries[-1][0]}```\n\n" if tries else ""
        text = _TEST.format(
            task=task,
            code=_format_code(target),
            example=shown,
            more=more,
            runner=first.runner or "pytest",
            module=project.with_files({target.path: target.source}).module_name(target.path),
        )
        words = yield PlanQuestion(text, _INSTRUCTIONS, Options(temperature=heat, seed=number, max_tokens=600))
        content = extract_code(words)
        if content and parse_python(content) is not None and "def test" in content and content not in [each for each, _ in tries]:
            calls = (("write_file", {"path": test_path, "content": content}), ("run_tests", {"path": test_path}))
            return PlanStep(calls, f"A test for it:\n\n```python\n{content}```", story.state)
        tries.append((content, "it is no new test in valid Python"))
    reasons = "; ".join(reason for _, reason in tries)
    return _give_up(story, f"No test was written that fails without it ({reasons}).", target, test_path)


def _write_code(story: Transcript, task: str, target: FaultTarget, test: str, test_path: str, first: CheckOutcome) -> BuildSteps:
    tries = [each for each in story.tries(target.path) if each[0] != target.source]
    for content, step in tries:
        if step is not None and step.tests is not None and _is_built(step.tests, first):
            if content != tries[-1][0]:
                return PlanStep(_try_calls(target.path, content), state=story.state)
            what = target.name if target.parts else target.path
            return _answer(f"{task.splitlines()[0].strip()[:200]}: {what}, with a test in {test_path}.", done=True)
    known = {"".join(content.split()) for content, _ in tries} | {"".join(target.source.split())}
    for number in range(len(tries), MAX_CODE_TRIES):
        heat, seed = 0.8 if number else 0.0, number + 100 * story.turn
        options = Options(temperature=heat, seed=seed, max_tokens=300 + len(target.shown))
        wish = f"Change it as needed, and give {target.name} whole," if target.shown else "Write the code that is missing,"
        text = _CODE.format(task=task, code=_format_code(target), test=test, more=_format_last_try(tries), wish=wish)
        code = extract_code((yield PlanQuestion(text, _INSTRUCTIONS, options)))
        content = (apply_code(target, code) if target.shown else "") or append_code(target.source, code)
        if content and "".join(content.split()) not in known:
            return PlanStep(_try_calls(target.path, content), f"{target.name}, written.", story.state)
    count = "1 change was tried" if len(tries) == 1 else f"{len(tries)} changes were tried"
    return _give_up(story, f"The test for it still fails; {count}.", target, test_path)


def _try_calls(path: str, content: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return ("write_file", {"path": path, "content": content}), ("run_tests", {})


def _is_built(tests: CheckOutcome, first: CheckOutcome) -> bool:
    """Return whether all tests pass, or only those fail that failed before."""
    if tests.state == "passed":
        return True
    were = {failure.name for failure in first.failures}
    return tests.state == "failed" and first.state == "failed" and {failure.name for failure in tests.failures} <= were


def _format_code(target: FaultTarget) -> str:
    return f"The code of {target.path} that it is about:\n\n```python\n{target.shown}```\n\n" if target.shown else ""


def _format_last_try(tries: list[tuple[str, TranscriptStep | None]]) -> str:
    outcome = tries[-1][1].tests if tries and tries[-1][1] is not None else None
    return "" if outcome is None else f"What was tried last fails:\n\n```\n{format_outcome(outcome)[:_MAX_TEXT]}\n```\n\n"


def _give_up(story: Transcript, why: str, target: FaultTarget, test_path: str) -> PlanStep:
    """Undo what was written, then say why."""
    tries = story.tries(target.path)
    calls: list[tuple[str, dict[str, Any]]] = []
    if tries and tries[-1][0] != target.source:
        undo = ("write_file", {"path": target.path, "content": target.source}) if target.source else _delete(target.path)
        calls.append(undo)
    calls += [_delete(test_path)] if story.tries(test_path) else []
    last = story.last("delete_file", "write_file")
    is_undone = last is not None and last.name == "delete_file"
    if calls and not is_undone:
        return PlanStep(tuple(calls), state=story.state)
    return _answer(f"Not built; all changes were taken back. {why}", done=False)


def _delete(path: str) -> tuple[str, dict[str, Any]]:
    return "delete_file", {"path": path}


def _answer(summary: str, *, done: bool) -> PlanStep:
    return PlanStep((("give_answer", {"summary": summary, "done": done}),))
