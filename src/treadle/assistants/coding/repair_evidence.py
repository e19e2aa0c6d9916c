"""Evidence for a repair: the changed files, and runs of new tests on the code as it was and of old tests on the code as it is.

They run in a scratch copy of the job's folder, so that nothing of the work is changed for them.
"""

import shutil
from asyncio import to_thread
from collections.abc import Sequence
from pathlib import Path

import msgspec

from treadle.assistants.coding.job_environment import JobEnvironment
from treadle.assistants.coding.tools import bounds_of
from treadle.assistants.coding.verification import RepairEvidence, has_failed, is_test_path
from treadle.workspace import CheckOutcome, Checkpoints, CheckSelection, run_checks

_LEFT_OUT = (".git", "__pycache__", ".venv", "venv", "env", "node_modules")  # environments are those of the user's folder


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
