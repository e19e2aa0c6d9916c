"""The tools of each kind of work, and its policy: review and triage read, build and debug change what can be undone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from treadle import Settings, Toolset, allow, ask, deny
from treadle.assistants.coding.outlines import outlines
from treadle.workspace import (
    Bounds,
    Checkpoints,
    Outcome,
    Together,
    Wanted,
    check_tools,
    checkpointed,
    git_tools,
    only,
    shell_tools,
    workspace_tools,
)

Kind = Literal["build", "debug", "review", "triage"]

READING = ("read_file", "grep", "find_files", "find_definition", "list_folder", "outline_file", "git_status", "git_diff", "git_log")
TOOLSETS = ("workspace", "checks", "checks-unsandboxed", "shell", "git")
_MIB = 1 << 20
_LEAVES = "This sends what it changed to another machine."
_LEAST_SECONDS, _SLOWER = 10.0, 20


def toolset(
    kind: Kind,
    folder: Path,
    settings: Settings,
    *,
    flat: bool,
    checkpoints: Checkpoints | None = None,
    touched: Callable[[Sequence[str]], object] = len,
    tests: Bounds | None = None,
    project: Path | None = None,
) -> Toolset:
    """The tools of one kind of work in a folder.

    checkpoints  taken before and after every change
    touched      hears which files each change has touched
    tests        what tests may use
    project      the person's folder, where this one is a private copy of it
    """
    commands, git = settings.commands, settings.git
    bounds, unsafe = bounds_of(settings), not commands.sandbox
    if kind in ("review", "triage"):
        files = workspace_tools(folder, flat=True, outline=outlines())
        return only(Together(files, git_tools(folder, flat=True, unsafe=unsafe)), *READING)
    together = Together(
        workspace_tools(folder, flat=flat, outline=outlines(), project=project),
        check_tools(folder, flat=flat, usual=usual_tests(settings), bounds=tests or bounds, project=project, unsafe=unsafe),
        shell_tools(
            folder,
            flat=flat,
            allow=commands.allow,
            forbid=commands.forbid,
            bounds=bounds,
            network=commands.network,
            project=project,
            unsafe=unsafe,
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
    return together if checkpoints is None else checkpointed(together, checkpoints, touched)


def bounds_of(settings: Settings) -> Bounds:
    """How much a command may use."""
    commands = settings.commands
    return Bounds(seconds=commands.seconds, memory=commands.memory_mb * _MIB, disk=commands.disk_mb * _MIB)


def bounds_of_tests(settings: Settings, before: Outcome | None) -> Bounds:
    """What tests may use: where they ran to their end before, taking many times as long means that something is broken."""
    bounds = bounds_of(settings)
    if before is None or before.state not in ("passed", "failed"):
        return bounds
    return replace(bounds, seconds=min(bounds.seconds, max(_LEAST_SECONDS, before.seconds * _SLOWER)))


def usual_tests(settings: Settings) -> Wanted:
    """What is run to check everything."""
    return Wanted(settings.tests.runner, command=settings.tests.command)


def rules(kind: Kind, *, leaves: bool) -> Sequence[Any]:
    """What may happen. Everything a workspace tool does is contained and can be undone; only what leaves the machine can't."""
    if kind in ("review", "triage"):
        return (allow(effect="read"), deny(effect=("write", "destroy"), reason="This work only reads; say what should be changed."))
    contained = tuple([allow(toolset=name, untrusted=True) for name in TOOLSETS])
    if leaves:
        return contained
    leaving = ask("git", where={"action": ["push", "create_pr"]}, reason=_LEAVES)
    return (*contained, ask("git_push", reason=_LEAVES), ask("create_pr", reason=_LEAVES), leaving)
