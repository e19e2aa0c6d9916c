"""Runs a project's tests in the sandbox and returns the outcome, for tools and for programs without a model."""

import re
from asyncio import to_thread
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from treadle.files.problems import WorkspaceProblem
from treadle.sandbox.disarm import format_disarmed
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import GIB, Bounds, CommandResult, SandboxMissing, SandboxSpec
from treadle.toolsets.checks.commands import CheckCommand, build_check_command
from treadle.toolsets.checks.parsers.parse import parse_outcome
from treadle.toolsets.checks.runners import read_settings_text
from treadle.toolsets.checks.values import CheckFailure, CheckOutcome, CheckSelection, ChecksNotRun

BOUNDS = Bounds(seconds=300, memory=4 * GIB, processes=512)
MAX_READ = 8_000_000  # characters of output that are read; what is kept of them is far less
MAX_RUNS = 50
_CACHE = "/tmp/treadle-check"  # noqa: S108 - in the sandbox, which has a folder of its own there
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)


async def run_checks(
    folder: str | Path,
    wanted: CheckSelection = CheckSelection(),  # noqa: B008 - frozen
    *,
    bounds: Bounds = BOUNDS,
    project: Path | None = None,
    unsafe: bool = False,
) -> CheckOutcome:
    """Run the selected tests. Never raises for the state of a project: then they were not run, and the output says why.

    `project` is the folder that this one is a private copy of: its environments are used, and commands see the copy at its path.
    Where there are no tests, `wanted.check` runs in place of all of them, and the outcome's runner is `check`.
    """
    outcome = await _run_selected(folder, wanted, bounds, project, unsafe=unsafe)
    if outcome.state not in ("no tests", "not run") or not wanted.check or not wanted.is_all:
        return outcome
    only = CheckSelection(command=wanted.check, check=wanted.check)
    return await _run_selected(folder, only, bounds, project, unsafe=unsafe)


async def _run_selected(
    folder: str | Path, wanted: CheckSelection, bounds: Bounds, project: Path | None, *, unsafe: bool
) -> CheckOutcome:
    try:
        line = await to_thread(build_check_command, Path(folder), wanted, project)
        return await _run_repeatedly(line, wanted.count, bounds, unsafe=unsafe)
    except (ChecksNotRun, WorkspaceProblem, SandboxMissing, OSError) as problem:  # the last for folders that can't be looked into
        return CheckOutcome("", "", 0, 0, 0, 0, (), "not run", str(problem), 0)


async def _run_repeatedly(line: CheckCommand, count: int, bounds: Bounds, *, unsafe: bool) -> CheckOutcome:
    """Repeat until a run doesn't pass; all runs together have the time limit of one."""
    begun, runs = monotonic(), 1
    outcome = await _run_once(line, bounds, unsafe=unsafe)
    while outcome.state == "passed" and runs < min(count, MAX_RUNS):
        left = bounds.seconds - (monotonic() - begun)
        if left <= 0:  # fewer runs than requested are no success
            outcome = replace(outcome, state="timed out")
            break
        runs += 1
        outcome = await _run_once(line, replace(bounds, seconds=left), unsafe=unsafe)
    return replace(outcome, runs=runs, seconds=monotonic() - begun)


async def _run_once(line: CheckCommand, bounds: Bounds, *, unsafe: bool) -> CheckOutcome:
    program = line.program
    root, project = line.project.root, line.project.seen_root
    place = SandboxSpec(root, extra_read=program.read, extra_write=program.write, project=project)  # tests write files of their own
    limits = replace(bounds, output=max(bounds.output, MAX_READ))
    env = {**program.env, "PYTHONPYCACHEPREFIX": _CACHE} if line.runner == "check" else program.env  # else it changes the project
    ran = await run_command(line.from_root, place, limits, env=env, unsafe=unsafe)
    return await to_thread(_parse_result, line, ran)


def _parse_result(line: CheckCommand, ran: CommandResult) -> CheckOutcome:
    found = parse_outcome(line.runner, ran.output, ran.code, timed_out=ran.timed_out)
    module = _read_go_module(line) if line.runner == "go" else ""
    failures = tuple(_relative_to_workspace(failure, line, module) for failure in found.failures)
    ended = f"\nThe tests were ended, since they took too much: {ran.killed_for}." if ran.killed_for not in ("", "time") else ""
    left = "".join(f"\n{sentence}" for sentence in format_disarmed(ran))
    return replace(found, command=line.shown, failures=failures, output=found.output + ended + left, seconds=ran.seconds)


def _read_go_module(line: CheckCommand) -> str:
    """Return the prefix of a Go project's import paths."""
    found = _MODULE.search(read_settings_text(line.project.folder / "go.mod"))
    return found[1] + "/" if found else ""


def _relative_to_workspace(failure: CheckFailure, line: CheckCommand, module: str) -> CheckFailure:
    """Return the failure with paths relative to the workspace, as the other tools take them."""
    root, folder = line.project.seen(line.project.root), line.project.seen(line.project.folder)
    name, message = (text.replace(f"{root}/", "") for text in (failure.name, failure.message))
    failure = replace(failure, name=name, message=message)
    path = failure.path.removeprefix("./")
    path = path[len(module) :] if module and path.startswith(module) else path
    if not path:
        return failure
    whole = Path(path) if Path(path).is_absolute() else folder / path
    inside = whole.is_relative_to(root) and ".." not in whole.parts
    return replace(failure, path=str(whole.relative_to(root)) if inside else path)
