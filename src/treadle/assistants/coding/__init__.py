"""The coding assistant: builds, debugs, reviews and triages in one folder, with any model, and can undo what it did.

This module only declares the assistant; everything it needs is imported when it is used.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle import Limits, Toolset, allow
from treadle.assistant import Assistant, Command, Host, Panel, lazy_import
from treadle.assistants.coding.settings import CodingSettings

if TYPE_CHECKING:
    from treadle.assistant import JobKind
    from treadle.plans import PartialPlan

_INSTRUCTIONS = """\
You help with the code in one folder, through your tools. Look before you change anything, and make the smallest change
that does it. Run the tests after a change. Nothing outside of the folder can be read or changed."""


def _make_toolsets(host: Host) -> Sequence[Toolset]:
    from treadle.assistant import settings_for
    from treadle.assistants.coding.tools import make_coding_toolset

    here = host.workspace
    settings = settings_for(here)
    if host.shared and not settings.commands.sandbox:  # what the owner allows themselves they don't allow others
        return ()
    diagnostics: bool = host.settings.assistant("coding").diagnostics
    return (make_coding_toolset("build", here, settings, flat=False, data=host.home.folder, diagnostics=diagnostics),)


def _make_plan(_: Host) -> "PartialPlan":
    from treadle.assistants.coding.question_plan import plan_question
    from treadle.plans import PartialPlan

    return PartialPlan(plan_question)


def _configure(host: Host) -> Mapping[str, Any]:
    """Return what a conversation about `{"mode": MODE}` has: it is a session, in this mode."""
    if "mode" not in host.about:
        return {}
    from treadle.assistant import ContextNotFound
    from treadle.assistants.coding.modes import parse_mode
    from treadle.assistants.coding.session import CodingSession
    from treadle.errors import SettingsError

    try:
        mode = parse_mode(str(host.about["mode"]))
    except SettingsError as error:
        raise ContextNotFound(str(error)) from error
    return CodingSession(assistant, host, mode, goes_on=True).configure()


def _load_job_kinds() -> "Sequence[JobKind]":
    from treadle.assistants.coding.job_kinds import JOB_KINDS

    return JOB_KINDS


def _job_command(name: str, summary: str, more: str = "") -> Command:
    """Return a command that creates a job."""

    def arguments(parser: ArgumentParser) -> None:
        from treadle.assistants.coding.job_kinds import find_coding_job_kind

        find_coding_job_kind(name).arguments(parser)

    async def run(args: Namespace, host: Host) -> int:
        from treadle.assistants.coding import command
        from treadle.assistants.coding.job_kinds import find_coding_job_kind

        return await command.run(args, host, find_coding_job_kind(name).work, find_coding_job_kind(name).given(args))

    return Command(name, summary, run, arguments, more)


def _existing_job_command(name: str, module: str, summary: str, more: str = "") -> Command:
    """Return a command about an existing job: it shows, undoes or takes over what the job did."""
    function = f"treadle.assistants.coding.{module}:{name.replace('-', '_')}"
    common = ("model", "approval") if name == "follow-up" else ()
    options = lazy_import(f"{function}_arguments")
    return Command(name, summary, lazy_import(function), options, more, common=common, pages=name == "diff")


_BRANCH = "It works on its own branch and can be undone; `treadle jobs` lists jobs."

assistant = Assistant(
    name="coding",
    title="Coding",
    summary="Builds, debugs, reviews and triages code in a folder that it can't leave.",
    instructions=_INSTRUCTIONS,
    toolsets=_make_toolsets,
    lead=_make_plan,
    configure=_configure,
    policy=(
        allow(effect="read"),
        allow(toolset="checks", reason="The project's own tests run in the sandbox.", untrusted=True),
    ),
    limits=Limits(rounds=20),
    project=True,
    questions=("Where is the retry logic, and is it tested?", "Which tests fail, and why?"),
    commands=(
        Command(
            "code",
            "work on the code in this folder, in a session",
            lazy_import("treadle.assistants.coding.session_command:code"),
            lazy_import("treadle.assistants.coding.session_command:code_arguments"),
            "Edits are shown as diffs and can be undone; what runs without asking depends on --mode.",
            common=("model",),
        ),
        _job_command("build", "build something in this folder, tests included", _BRANCH),
        _job_command("debug", "find and fix a bug in this folder", _BRANCH),
        _job_command("review", "review a branch, a diff, or uncommitted changes", "Nothing is changed."),
        _job_command("triage", "find the cause of a failure", "Nothing is changed."),
        _existing_job_command("diff", "undo", "show what a job changed"),
        _existing_job_command("undo", "undo", "undo what a job changed", "Without --all, only its last change."),
        _existing_job_command("patch", "finish", "export what a job changed as a patch for git apply"),
        _existing_job_command("merge", "finish", "merge a job's branch into the branch it started from", "Nothing is pushed."),
        _existing_job_command("pr", "finish", "push a job's branch and open a pull request, or write its description"),
        _existing_job_command("follow-up", "finish", "continue a job with a new one, which starts with a summary of it", _BRANCH),
    ),
    routes=lazy_import("treadle.assistants.coding.routes:routes"),
    panel=Panel("Coding", Path(__file__).parent / "panel", job="job={run_id}"),
    work=_load_job_kinds,
    settings=CodingSettings,
    erase=lazy_import("treadle.assistants.coding.session_changes:erase_sessions"),
    session=lazy_import("treadle.assistants.coding.editor_session:open_editor_session"),
)
