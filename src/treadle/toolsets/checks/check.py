"""Runs a project's tests in the sandbox and tells what came of them, for tools and for whoever wants to know without a model."""

import re
from asyncio import to_thread
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from treadle.files.problems import WorkspaceProblem
from treadle.toolsets.checks.commands import Line, line_for
from treadle.toolsets.checks.parsers.parse import parse
from treadle.toolsets.checks.problems import NotRun
from treadle.toolsets.checks.runners import text_of
from treadle.toolsets.checks.values import Failure, Outcome, Wanted
from treadle.toolsets.sandbox.run import run
from treadle.toolsets.sandbox.said import disarmed
from treadle.toolsets.sandbox.values import GIB, Bounds, Place, Ran, SandboxMissing

BOUNDS = Bounds(seconds=300, memory=4 * GIB, processes=512)
MOST_READ = 8_000_000  # characters of output that are read; what is kept of them is far less
MOST_RUNS = 50
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)


async def check(
    folder: str | Path,
    wanted: Wanted = Wanted(),  # noqa: B008 - frozen
    *,
    bounds: Bounds = BOUNDS,
    project: Path | None = None,
    unsafe: bool = False,
) -> Outcome:
    """What came of the wanted tests. Never raises for what a project is like: then they were not run, and the output says why.

    `project` is the folder that this one is a private copy of: its environments are used, and commands see the copy at its path.
    """
    try:
        line = await to_thread(line_for, Path(folder), wanted, project)
        return await _repeated(line, wanted.count, bounds, unsafe=unsafe)
    except (NotRun, WorkspaceProblem, SandboxMissing, OSError) as problem:  # the last for folders that can't be looked into
        return Outcome("", "", 0, 0, 0, 0, (), "not run", str(problem), 0)


async def _repeated(line: Line, count: int, bounds: Bounds, *, unsafe: bool) -> Outcome:
    """Again and again until a run doesn't pass; all runs together have the time that one has."""
    begun, runs = monotonic(), 1
    outcome = await _once(line, bounds, unsafe=unsafe)
    while outcome.state == "passed" and runs < min(count, MOST_RUNS) and (left := bounds.seconds - (monotonic() - begun)) > 0:
        runs += 1
        outcome = await _once(line, replace(bounds, seconds=left), unsafe=unsafe)
    return replace(outcome, runs=runs, seconds=monotonic() - begun)


async def _once(line: Line, bounds: Bounds, *, unsafe: bool) -> Outcome:
    program = line.program
    root, project = line.project.root, line.project.seen_root
    place = Place(root, extra_read=program.read, extra_write=program.write, project=project)  # tests write files of their own
    limits = replace(bounds, output=max(bounds.output, MOST_READ))
    ran = await run(line.from_root, place, limits, env=program.env, unsafe=unsafe)
    return await to_thread(_read, line, ran)


def _read(line: Line, ran: Ran) -> Outcome:
    found = parse(line.runner, ran.output, ran.code, timed_out=ran.timed_out)
    module = _module(line) if line.runner == "go" else ""
    failures = tuple(_local(failure, line, module) for failure in found.failures)
    ended = f"\nThe tests were ended, since they took too much: {ran.killed_for}." if ran.killed_for not in ("", "time") else ""
    left = "".join(f"\n{sentence}" for sentence in disarmed(ran))
    return replace(found, command=line.shown, failures=failures, output=found.output + ended + left, seconds=ran.seconds)


def _module(line: Line) -> str:
    """What import paths of a Go project begin with."""
    found = _MODULE.search(text_of(line.project.folder / "go.mod"))
    return found[1] + "/" if found else ""


def _local(failure: Failure, line: Line, module: str) -> Failure:
    """With paths from the workspace's folder, which is how the other tools take them."""
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
