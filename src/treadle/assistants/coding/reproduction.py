"""Reproduction of a symptom that no test shows: the model writes a test for it, which has to fail for the reported reason. Pure."""

from collections.abc import Generator, Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from treadle import Options
from treadle.assistants.coding.code import extract_code, parse_python
from treadle.assistants.coding.fault_localisation import BugReport, narrow_targets, rank_places_by_words, source_of, widen_target
from treadle.assistants.coding.project_sources import ProjectSources
from treadle.assistants.coding.questions import ask_for_test
from treadle.assistants.coding.transcript import Transcript, TranscriptStep
from treadle.assistants.coding.verification import is_test_path, shows_symptom
from treadle.plans import PlanQuestion, PlanStep
from treadle.workspace import CheckOutcome

TEST_NAME = "test_reported_symptom.py"
_HEATS = (0.0, 0.7, 0.9)
RUNNERS = ("pytest", "unittest")


class NoReproduction(Struct, frozen=True):
    """Why no test shows the symptom, as a sentence."""

    why: str


def choose_test_path(files: Mapping[str, str], name: str = TEST_NAME) -> str:
    """Return where a new test is written: beside most of the other tests, under a name that no file has."""
    folders = [
        str(PurePosixPath(path).parent) for path in files if is_test_path(path) and PurePosixPath(path).name.startswith("test")
    ]
    folder = max(
        sorted(set(folders)), key=folders.count, default="tests" if any(path.startswith("tests/") for path in files) else "."
    )
    names = [name, *[name.replace(".py", f"_{number}.py") for number in range(2, 100)]]
    paths = [each if folder == "." else f"{folder}/{each}" for each in names]
    return next(path for path in paths if path not in files)


def plan_reproduction(
    story: Transcript, project: ProjectSources, report: BugReport, first: CheckOutcome
) -> Generator[PlanQuestion, str, PlanStep | TranscriptStep | NoReproduction]:
    """Return the run of a test that shows the symptom; or the next step towards one; or why there is none."""
    tries = story.tries(report.test_path)
    for _, step in tries:
        if step is not None and shows_symptom(step.tests, report.symptom):
            return step
    ranked = rank_places_by_words(project, report.symptom)
    if not ranked or (first.runner and first.runner not in RUNNERS):
        return NoReproduction("A test for it can only be written for Python here: add one that fails because of it.")
    places = ranked[:3]
    target = (widen_target(project, narrow_targets(project, places)[0], places) or narrow_targets(project, places))[0]
    runner = first.runner or "pytest"
    example = find_example_test(project, target.path)
    reasons = [_explain(step) for _, step in tries]
    known = [content for content, _ in tries]
    for number, heat in list(enumerate(_HEATS * (story.turn + 1)))[len(tries) :]:
        tried = (known[-1], reasons[-1]) if known else None
        options = Options(temperature=heat, seed=number)
        module = project.module_name(target.path)
        words = yield ask_for_test(report.symptom, target, module, runner, example, tried, options)
        content = extract_code(words)
        defect = _find_defect(project, report.test_path, content, known)
        if not defect:
            calls = (("write_file", {"path": report.test_path, "content": content}), ("run_tests", {"path": report.test_path}))
            return PlanStep(calls, f"A test for the symptom:\n\n```python\n{content}```")
        reasons.append(defect)
        known.append(content)
    tested = "; ".join(f"test {number}: {reason}" for number, reason in enumerate(reasons, 1))
    return NoReproduction(f"No test that was written for it shows it ({tested}).")


def find_example_test(project: ProjectSources, path: str) -> str:
    """Return an existing test with its imports: of a file that imports this one, if there is any."""
    tests = [each for each in sorted(project.files) if PurePosixPath(each).name.startswith("test") and is_test_path(each)]
    of_it = [each for each in tests if any(path == found for found in project.imported_files(each))]
    for each in of_it or tests:
        source = project.files[each]
        places = [place for name, place in project.module(each).places.items() if name.startswith("test")]
        if places:
            header = [line for line in source.splitlines()[: places[0].start - 1] if line.startswith(("import ", "from "))]
            return "\n".join([*header, "", "", source_of(project, places[0])])
    return ""


def _find_defect(project: ProjectSources, path: str, content: str, known: list[str]) -> str:
    """Return what is wrong with a test before it is run; empty if nothing is."""
    if not content or parse_python(content) is None:
        return "it is no valid Python"
    if content in known:
        return "it is the same test again"
    written = project.with_files({path: content})
    tests = [place for name, place in written.module(path).places.items() if name.rpartition(".")[2].startswith("test")]
    if not tests:
        return "it has no test function"
    own = [found for found in written.imported_files(path) if not is_test_path(found)]
    return "" if own else "it uses nothing of the project"


def _explain(step: TranscriptStep | None) -> str:
    """Say why a run of a test doesn't show the symptom."""
    outcome = None if step is None else step.tests
    if outcome is None:
        return "it couldn't be run"
    if outcome.state == "passed":
        return "it passes, so it doesn't show the bug"
    message = next((failure.message.strip() for failure in outcome.failures if failure.message.strip()), outcome.state)
    return f"it fails for another reason: {message.splitlines()[0][:200]}"
