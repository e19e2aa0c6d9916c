"""The tools of each job kind, and its policy: review and triage read, build and debug make changes that can be undone."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from treadle import RunContext, ToolProblem, Toolset, TreadleError, allow, ask, deny
from treadle.assistant import Settings
from treadle.assistants.coding.project_symbols import ProjectSymbols
from treadle.toolsets import CombinedToolset, only
from treadle.workspace import (
    Bounds,
    CheckOutcome,
    Checkpoints,
    CheckSelection,
    Outline,
    ToolChange,
    check_tools,
    checkpointed,
    diagnosed,
    git_tools,
    shell_tools,
    workspace_tools,
)


def find_outliner() -> Outline | None:
    """Return the outline function; None if there are no grammars, so that lines that look like definitions are used instead."""
    from importlib.util import find_spec

    return _outline_file if find_spec("tree_sitter") else None


async def _outline_file(name: str, content: bytes) -> str:
    from treadle.assistants.reading.outline.formatter import format_outline
    from treadle.assistants.reading.outline.outliner import Outliner
    from treadle.assistants.reading.source_files import outline_source

    try:
        async with Outliner() as outliner:
            return format_outline((await outline_source(content, name, "", outliner)).outline)
    except TreadleError as error:
        raise ToolProblem(f"{error} Read the file instead.") from error


CodingJobName = Literal["build", "debug", "review", "triage"]

READ_TOOLS = (
    "read_file",
    "grep",
    "find_files",
    "find_definition",
    "find_references",
    "repository_map",
    "list_folder",
    "outline_file",
    "git_status",
    "git_diff",
    "git_log",
)
TOOLSETS = ("workspace", "checks", "checks-unsandboxed", "shell", "git")
_MIB = 1 << 20
_PUBLISH_REASON = "This sends what it changed to another machine."
_LEAST_SECONDS, _SLOWER = 10.0, 20


def make_coding_toolset(
    kind: CodingJobName,
    folder: Path,
    settings: Settings,
    *,
    flat: bool,
    checkpoints: Checkpoints | None = None,
    on_change: Callable[[ToolChange], object] = bool,
    tests: Bounds | None = None,
    project: Path | None = None,
    background: bool = False,
    data: Path | None = None,
    symbols: ProjectSymbols | None = None,
    check: str = "",
    ask_check: Callable[[RunContext[Any]], Awaitable[str]] | None = None,
    diagnostics: bool = False,
) -> Toolset:
    """Return the tools of one job kind in a folder.

    checkpoints  taken before and after every change
    on_change    called before and after each change
    tests        the bounds of tests
    project      the user's folder, if this one is a private copy of it
    background   whether commands may run while the model goes on
    data         the folder of a home, in which the symbol index is stored
    symbols      the symbol index, if it is open already
    check        the command that checks the project where there are no tests
    ask_check    returns such a command once there turn out to be none, after asking the user
    diagnostics  whether a language server checks each edit, where one is installed
    """
    commands, git = settings.commands, settings.git
    bounds, unsafe = bounds_of(settings), not commands.sandbox
    lookup = (symbols or ProjectSymbols(folder, data)).lookup
    if kind in ("review", "triage"):
        files = workspace_tools(folder, flat=True, outline=find_outliner(), symbols=lookup)
        return only(CombinedToolset(files, git_tools(folder, flat=True, unsafe=unsafe)), *READ_TOOLS)
    together = CombinedToolset(
        workspace_tools(folder, flat=flat, outline=find_outliner(), symbols=lookup, project=project),
        check_tools(
            folder,
            flat=flat,
            usual=usual_tests(settings, check),
            bounds=tests or bounds,
            project=project,
            unsafe=unsafe,
            ask_check=ask_check,
        ),
        shell_tools(
            folder,
            flat=flat,
            allow=commands.allow,
            forbid=commands.forbid,
            bounds=bounds,
            network=commands.network,
            project=project,
            unsafe=unsafe,
            background=background,
        ),
        git_tools(
            folder,
            flat=flat,
            remote=git.remote,
            draft=git.draft_pr,
            prefix=git.branch_prefix,
            protected=git.protected,
            project=project,
            unsafe=unsafe,
        ),
    )
    tools = diagnosed(together, folder, project=project, unsafe=unsafe) if diagnostics else together
    return tools if checkpoints is None else checkpointed(tools, checkpoints, on_change)


def bounds_of(settings: Settings) -> Bounds:
    """Return how much a command may use."""
    commands = settings.commands
    return Bounds(seconds=commands.seconds, memory=commands.memory_mb * _MIB, disk=commands.disk_mb * _MIB)


def bounds_of_tests(settings: Settings, before: CheckOutcome | None) -> Bounds:
    """Return what tests may use: if they completed before, taking many times as long means that something is broken."""
    bounds = bounds_of(settings)
    if before is None or before.state not in ("passed", "failed"):
        return bounds
    return replace(bounds, seconds=min(bounds.seconds, max(_LEAST_SECONDS, before.seconds * _SLOWER)))


def usual_tests(settings: Settings, check: str = "") -> CheckSelection:
    """Return the test run that checks everything; `check` is the command that does so where there are no tests."""
    return CheckSelection(settings.tests.runner, command=settings.tests.command, check=check)


def coding_rules(kind: CodingJobName, *, leaves: bool) -> Sequence[Any]:
    """Return the policy. Everything a workspace tool does is contained and can be undone; only what leaves the machine can't."""
    if kind in ("review", "triage"):
        return (allow(effect="read"), deny(effect=("write", "destroy"), reason="This work only reads; say what should be changed."))
    contained = tuple([allow(toolset=name, untrusted=True) for name in TOOLSETS])
    if leaves:
        return contained
    leaving = ask("git", where={"action": ["push", "create_pr"]}, reason=_PUBLISH_REASON)
    return (*contained, ask("git_push", reason=_PUBLISH_REASON), ask("create_pr", reason=_PUBLISH_REASON), leaving)
