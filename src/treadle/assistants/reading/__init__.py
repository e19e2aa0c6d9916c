"""The reading assistant: what a source file is for, and which of its parts belong together.

This module only declares the assistant; everything it needs is imported on first use.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle import Limits, Toolset
from treadle.assistant import Assistant, Command, Host, Panel
from treadle.assistants.reading.settings import ReadingSettings
from treadle.plans import FixedPlan, Plan

_INSTRUCTIONS = """\
You tell developers what source files are for before they read them: why a file is there and what its parts do, never how.
Look at a file's outline first, and read lines only where the outline leaves something open. For a question about the whole \
repository begin with its map, and find references to a name, such as its callers, instead of reading files for it."""


def _add_arguments(parser: ArgumentParser) -> None:
    from treadle.assistants.reading.command import add_read_arguments

    add_read_arguments(parser)


async def _run(args: Namespace, host: Host) -> int:
    from treadle.assistants.reading.command import run

    return await run(args, host)


def _build_routes(host: Host) -> Sequence[Any]:
    from treadle.assistants.reading.routes import routes

    return routes(host)


def _build_toolsets(host: Host) -> Sequence[Toolset]:
    from treadle.assistants.reading.analysis_program import analysis_subject, build_analysis_tools
    from treadle.assistants.reading.tools import build_reading_toolset

    about = analysis_subject(host.about)
    return (build_reading_toolset(host.workspace, host.home.folder),) if about is None else build_analysis_tools(host, about)


def _build_plan(host: Host) -> Plan | FixedPlan:
    from treadle.assistants.reading.analysis_program import analysis_subject, build_analysis_program
    from treadle.assistants.reading.plan import plan_reading

    about = analysis_subject(host.about)
    return plan_reading if about is None else build_analysis_program(host, about)


def _configure(host: Host) -> dict[str, Any]:
    from treadle.assistants.reading.analysis_program import analysis_agent_options, analysis_subject

    return {} if analysis_subject(host.about) is None else {"parts": analysis_agent_options(host)}


assistant = Assistant(
    name="reading",
    title="Reading",
    summary="Explains a source file: its purpose and its parts.",
    instructions=_INSTRUCTIONS,
    toolsets=_build_toolsets,
    limits=Limits(rounds=20, calls=60),
    project=True,
    questions=("What is main.py for?", "Which parts of server.go belong together?", "Who calls main?"),
    commands=(
        Command(
            "read",
            "explain a source file or folder: its purpose, and which parts belong together",
            _run,
            _add_arguments,
            "Without a model, or with --no-model, it makes a sketch from the code alone.",
            pages=True,
        ),
    ),
    routes=_build_routes,
    panel=Panel("Reading", Path(__file__).parent / "panel", conversation="run={run_id}"),
    lead=_build_plan,
    configure=_configure,
    settings=ReadingSettings,
)
