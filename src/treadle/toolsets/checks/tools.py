"""The tool with which a model runs a project's tests: one with all options, or a flat one for models that do better with few."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.tool import ToolResult
from treadle.sandbox.values import Bounds
from treadle.tools.tool import FunctionTool, tool
from treadle.toolsets.checks.check import BOUNDS, run_checks
from treadle.toolsets.checks.format import format_outcome, shorten_outcome
from treadle.toolsets.checks.runners import detect_kinds
from treadle.toolsets.checks.values import CheckOutcome, CheckSelection, Kind
from treadle.toolsets.functions import FunctionToolset

TOOLSET = "checks"
UNSANDBOXED = "checks-unsandboxed"  # another name where no sandbox holds the tests, so that no rule about the usual ones fits
AskCheck = Callable[[RunContext[Any]], Awaitable[str]]
_CLEARING_UP = 30  # seconds beyond the bounds, in which the sandbox ends what it began


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
