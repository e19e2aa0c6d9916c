"""Facts about a bug that a guided job collects before its first change, and the test that it writes for the symptom."""

from asyncio import to_thread
from contextlib import suppress

from treadle import TreadleError
from treadle.assistants.coding.fault_localisation import BugReport
from treadle.assistants.coding.inputs import BuildInputs, DebugInputs, symptom_of
from treadle.assistants.coding.job_environment import JobEnvironment, read_project_sources
from treadle.assistants.coding.reproduction import choose_test_path
from treadle.files import Workspace, WorkspaceProblem
from treadle.workspace import changes_since

_RECENT = ("HEAD~3", "HEAD~1", "HEAD")  # the first of them that exists is compared with
_MAX_RECENT_LINES = 2_000


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
