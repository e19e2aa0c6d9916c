"""Evidence for a repair: facts from before the first change, the test for the symptom, and test runs that show what was repaired.

New tests are run on the code as it was and old tests on the code as it is, in a scratch copy of the job's folder, so that nothing
of the work is changed for them.
"""

import shutil
from asyncio import to_thread
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from treadle import TreadleError
from treadle.assistants.coding.fault_localisation import BugReport
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, symptom_of
from treadle.assistants.coding.job_environment import JobEnvironment, read_project_sources
from treadle.assistants.coding.reproduction import choose_test_path
from treadle.assistants.coding.tools import bounds_of
from treadle.assistants.coding.verification import RepairEvidence, has_failed, is_test_path
from treadle.files import Workspace, WorkspaceProblem
from treadle.workspace import CheckOutcome, Checkpoints, CheckSelection, changes_since, run_checks

_RECENT = ("HEAD~3", "HEAD~1", "HEAD")  # the first of them that exists is compared with
_MAX_RECENT_LINES = 2_000
_LEFT_OUT = (".git", "__pycache__", ".venv", "venv", "env", "node_modules")  # environments are those of the user's folder


async def note_bug_facts(room: JobEnvironment) -> None:
    """Record where a test for the symptom may be written, and the lines that the last commits changed."""
    project = await to_thread(read_project_sources, room.folder)
    recent: dict[str, list[int]] = {}
    for commit in _RECENT:
        with suppress(TreadleError):
            changes = await changes_since(room.folder, commit, unsafe=room.unsafe)
            recent = {change.path: list(change.added) for change in changes if len(change.added) <= _MAX_RECENT_LINES}
            break
    own = {path: lines for path, lines in recent.items() if path in project.files and lines}
    room.desk.note(reproduction=choose_test_path(project.files), recent=own)


def report_on(room: JobEnvironment, given: BuildInputs | DebugInputs) -> BugReport:
    """Return what is known of a bug beside the tests."""
    if not isinstance(given, DebugInputs):
        return BugReport()
    facts = room.desk.job.facts
    recent = {path: tuple(lines) for path, lines in facts.get("recent", {}).items()}
    return BugReport(symptom_of(given), str(facts.get("reproduction", "")), recent)


async def restore_reproduction(room: JobEnvironment) -> None:
    """Write the test for the symptom again, for a job that is resumed after it ended without a repair."""
    facts, workspace = room.desk.job.facts, Workspace(room.folder, links=False)
    if "reproduction_source" in facts:
        await to_thread(workspace.write_bytes, str(facts["reproduction"]), str(facts["reproduction_source"]).encode())


async def take_reproduction(room: JobEnvironment, given: BuildInputs | DebugInputs, *, keep: bool) -> dict[str, object]:
    """Return the test that was written for the symptom, for the job's output. It stays only if the user wants to keep it."""
    path = str(room.desk.job.facts.get("reproduction", ""))
    if not isinstance(given, DebugInputs) or path not in room.desk.job.facts.get("touched", ()):
        return {}
    workspace = Workspace(room.folder, links=False)
    try:
        source = (await to_thread(workspace.read_bytes, path)).decode("utf-8", errors="replace")
        if not (keep and given.keep_test):
            await to_thread(workspace.remove, path)
    except WorkspaceProblem:
        return {}
    room.desk.note(reproduction_source=source)
    return {"reproduction": {"path": path, "source": source, "kept": keep and given.keep_test}}


async def run_usual_tests(room: JobEnvironment) -> CheckOutcome:
    """Run the job's tests, as they were selected when it began."""
    return await _run_tests_in(room, room.folder, room.project)


async def _run_tests_in(room: JobEnvironment, folder: Path, project: Path | None) -> CheckOutcome:
    wanted = msgspec.convert(room.desk.job.facts["usual_tests"], CheckSelection)
    return await run_checks(folder, wanted, bounds=bounds_of(room.settings), project=project, unsafe=room.unsafe)


async def collect_evidence(room: JobEnvironment, before: CheckOutcome | None, after: CheckOutcome, symptom: str) -> RepairEvidence:
    """Return the evidence for a repair; tests are run again only where that can decide something."""
    facts = room.desk.job.facts
    touched = set(facts.get("touched", ()))
    changes = await room.checkpoints.changes(facts["before"], await room.checkpoints.take("claimed as done"))
    own = [change for change in changes if change.path in touched or change.was in touched]
    changed = tuple(dict.fromkeys(path for change in own for path in (change.was, change.path) if path))
    code = [path for path in changed if not is_test_path(path)]
    added = {change.path for change in own if change.kind == "added"}
    old_tests = [path for path in changed if is_test_path(path) and path not in added]
    reproduction = unchanged = None
    if after.state == "passed" and code:
        reproduction = None if has_failed(before) else await _run_restored(room, code)
        unchanged = await _run_restored(room, old_tests) if old_tests else None
    return RepairEvidence(before, after, changed, reproduction, unchanged, symptom)


async def _run_restored(room: JobEnvironment, paths: Sequence[str]) -> CheckOutcome:
    """Run the tests in a copy where these files are as they were before the job."""
    scratch = room.desk.folder / "evidence"
    await to_thread(shutil.rmtree, scratch, ignore_errors=True)
    try:
        await to_thread(shutil.copytree, room.folder, scratch, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        states = Checkpoints(scratch, room.desk.folder / "checkpoints", owner=room.folder)
        await states.restore(room.desk.job.facts["before"], paths=paths, force=True)
        return await _run_tests_in(room, scratch, room.project or (None if room.unsafe else room.source))
    except OSError as problem:  # as of files that can't be copied: then nothing is proven
        return CheckOutcome("", "", 0, 0, 0, 0, (), "not run", str(problem), 0)
    finally:
        await to_thread(shutil.rmtree, scratch, ignore_errors=True)
