"""The coding assistant: builds, debugs, reviews and triages in one folder, with any model, and can take back what it did.

This module only says what it offers; everything it needs is imported when it is used.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treadle import Assistant, Command, Host, Limits, Panel, Toolset, allow, later
from treadle.assistants.coding.settings import CodingSettings

if TYPE_CHECKING:
    from treadle import Work

_INSTRUCTIONS = """\
You help with the code in one folder, through your tools. Look before you change anything, and make the smallest change
that does it. Run the tests after a change. Nothing outside of the folder can be read or changed."""


def _toolsets(host: Host) -> Sequence[Toolset]:
    from treadle import settings_of
    from treadle.assistants.coding.tools import toolset

    here = host.workspace
    settings = settings_of(here)
    if host.shared and not settings.commands.sandbox:  # what the owner allows themselves they don't allow others
        return ()
    return (toolset("build", here, settings, flat=False),)


def _work() -> "Sequence[Work]":
    from treadle.assistants.coding.kinds import WORK

    return WORK


def _worker(name: str, summary: str, more: str = "") -> Command:
    """A command that makes a job."""

    def arguments(parser: ArgumentParser) -> None:
        from treadle.assistants.coding.kinds import kind

        kind(name).arguments(parser)

    async def run(args: Namespace, host: Host) -> int:
        from treadle.assistants.coding import command
        from treadle.assistants.coding.kinds import kind

        return await command.run(args, host, kind(name).work, kind(name).given(args))

    return Command(name, summary, run, arguments, more)


def _looker(name: str, module: str, summary: str, more: str = "") -> Command:
    """A command about a job that there is: it looks at what that did, takes it back, or takes it over."""
    function = f"treadle.assistants.coding.{module}:{name.replace('-', '_')}"
    return Command(name, summary, later(function), later(f"{function}_arguments"), more)


_BRANCH = "It works on a branch of its own and can be undone; `treadle jobs` lists jobs."

assistant = Assistant(
    name="coding",
    title="Coding",
    summary="Builds, debugs, reviews and triages code in a folder that it can't leave.",
    instructions=_INSTRUCTIONS,
    toolsets=_toolsets,
    policy=(
        allow(effect="read"),
        allow(toolset="checks", reason="The project's own tests run in the sandbox."),
    ),
    limits=Limits(rounds=20),
    questions=("Where is the retry logic, and is it tested?", "Which tests fail, and why?"),
    commands=(
        _worker("build", "build something in this folder, tests included", _BRANCH),
        _worker("debug", "find and mend a bug in this folder", _BRANCH),
        _worker("review", "review a branch, a diff, or what isn't committed yet", "Nothing is changed."),
        _worker("triage", "find out why something goes wrong", "Nothing is changed."),
        _looker("diff", "undo", "show what a job changed, and nothing else"),
        _looker("undo", "undo", "take back what a job changed", "Without --all, its last change."),
        _looker("patch", "finish", "write what a job changed as a patch, for git apply"),
        _looker("merge", "finish", "merge a job's branch into the one it began from", "Nothing is pushed."),
        _looker("pr", "finish", "push a job's branch and open a pull request, or write its description"),
        _looker("follow-up", "finish", "go on from a job with a new one, which begins with a summary of it", _BRANCH),
    ),
    routes=later("treadle.assistants.coding.routes:routes"),
    panel=Panel("Coding", Path(__file__).parent / "panel"),
    work=_work,
    settings=CodingSettings,
)
