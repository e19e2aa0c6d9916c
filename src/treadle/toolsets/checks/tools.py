"""Runs the tests of a project in the sandbox: for programs without a model, and as the tool of a model, whole or flat."""

import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec.structs import replace

from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.tool import ToolResult
from treadle.files.problems import WorkspaceProblem
from treadle.sandbox.disarm import format_disarmed
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import GIB, Bounds, CommandResult, SandboxMissing, SandboxSpec
from treadle.tools.tool import FunctionTool, tool
from treadle.toolsets.checks.commands import CheckCommand, build_check_command
from treadle.toolsets.checks.format import format_outcome, shorten_outcome
from treadle.toolsets.checks.parsers.parse import parse_outcome
from treadle.toolsets.checks.runners import detect_kinds, read_settings_text
from treadle.toolsets.checks.values import CheckFailure, CheckOutcome, CheckSelection, ChecksNotRun, Kind
from treadle.toolsets.functions import FunctionToolset

BOUNDS = Bounds(seconds=300, memory=4 * GIB, processes=512)
MAX_READ = 8_000_000  # characters of output that are read; what is kept of them is far less
MAX_RUNS = 50
_CACHE = "/tmp/treadle-check"  # noqa: S108 - in the sandbox, which has a folder of its own there
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
TOOLSET = "checks"
UNSANDBOXED = "checks-unsandboxed"  # another name where no sandbox holds the tests, so that no rule about the usual ones fits
AskCheck = Callable[[RunContext[Any]], Awaitable[str]]
_CLEARING_UP = 30  # seconds beyond the bounds, in which the sandbox ends what it began


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


def check_tools(
    folder: str | Path,
    *,
    flat: bool = False,
    usual: CheckSelection = CheckSelection(),  # noqa: B008 - frozen
    bounds: Bounds = BOUNDS,
    project: Path | None = None,
    unsafe: bool = False,
    ask_check: AskCheck | None = None,
) -> FunctionToolset:
    """Return the toolset of a folder.

    flat       one tool with two arguments, for models that choose badly among many
    usual      the default selection: the kind of project, or a command line
    bounds     what the tests may use; all runs of one call have `bounds.seconds` together
    project    the folder that this one is a private copy of, with its environments
    unsafe     runs them without a sandbox where there is none
    ask_check  returns a command that checks the project (`CheckSelection.check`), where there are no tests; empty for none
    """
    checks = CheckToolset(Path(folder), usual, bounds, project=project, unsafe=unsafe, ask_check=ask_check)
    return FunctionToolset([_make_tool(checks.run_tests if flat else checks.test, bounds)], UNSANDBOXED if unsafe else TOOLSET)


def _make_tool(function: Any, bounds: Bounds) -> FunctionTool:
    # Tests are the project's code, in a sandbox where it may write to the workspace: caches, snapshots, whatever they do. So it is
    # a write. To run them once more after a crash does no harm that running them didn't: idempotent.
    return tool(function, effect="write", retry="idempotent", sequential=True, timeout=bounds.seconds + _CLEARING_UP)


class CheckToolset:
    """The tests of one folder."""

    def __init__(
        self,
        folder: Path,
        usual: CheckSelection,
        bounds: Bounds,
        *,
        project: Path | None = None,
        unsafe: bool,
        ask_check: AskCheck | None = None,
    ) -> None:
        self._folder = folder
        self._usual = usual
        self._bounds = bounds
        self._project = project
        self._unsafe = unsafe
        self._ask_check = ask_check

    async def run_tests(self, ctx: RunContext[Any], path: str = "", name: str = "") -> ToolResult:
        """Run the project's tests. Tells how many passed, and each one that failed with its message and place.

        :param path: a file or folder of tests; all, if left out
        :param name: only tests of this name
        """
        return await self._run(ctx, replace(self._usual, path=path, name=name))

    async def test(
        self,
        ctx: RunContext[Any],
        type: Kind = "auto",  # noqa: A002 - the name that models know it by
        package: str = "",
        path: str = "",
        run: str = "",
        script: str = "",
        module: str = "",
        verbose: bool = False,
        count: int = 1,
    ) -> ToolResult:
        """Run the project's tests. Tells how many passed, and each one that failed with its message and place.

        :param type: the kind of project; auto finds it out
        :param package: for go and rust: the package, as ./tools
        :param path: a file or folder of tests; all, if left out
        :param run: only the test of this name, or those that fit a pattern
        :param script: for npm: the script of package.json, if not test
        :param module: for python: the module of tests, as tests.test_shop
        :param verbose: show the end of the output too
        :param count: how often to run them, to find tests that fail now and then
        """
        chosen: Kind = self._usual.type if type == "auto" else type
        command = self._usual.command if type == "auto" else ""
        wanted = CheckSelection(chosen, path, run, package, script, module, count, command, self._usual.check)
        return await self._run(ctx, wanted, verbose=verbose)

    async def _run(self, ctx: RunContext[Any], wanted: CheckSelection, *, verbose: bool = False) -> ToolResult:
        outcome, ask = await self._run_once(wanted), self._ask_check
        if outcome.state in ("no tests", "not run") and wanted.is_all and ask is not None and (check := await ask(ctx)):
            outcome = await self._run_once(replace(wanted, check=check))
        told = format_outcome(outcome, verbose=verbose)
        if outcome.state == "not run":
            raise ToolProblem(told)
        return ToolResult(told + await self._mention_others(wanted), shorten_outcome(outcome))

    async def _run_once(self, wanted: CheckSelection) -> CheckOutcome:
        return await run_checks(self._folder, wanted, bounds=self._bounds, project=self._project, unsafe=self._unsafe)

    async def _mention_others(self, wanted: CheckSelection) -> str:
        """Mention tests of other kinds, where none was chosen."""
        if not wanted.is_all or wanted.type != "auto" or wanted.command:
            return ""
        others = (await to_thread(detect_kinds, self._folder))[1:]
        return f"\n\nThe project has other tests too: type={' or '.join(others)}." if others else ""
