"""The reading assistant: what a source file is for, and which of its parts belong together.

This module only says what it offers; everything it needs is imported when it is used.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle import Assistant, Command, Host, Limits, Panel, Plan, Program, Toolset
from treadle.assistants.reading.settings import ReadingSettings

_INSTRUCTIONS = """\
You tell developers what source files are for before they read them: why a file is there and what its parts do, never how.
Look at a file's outline first, and read lines only where the outline leaves something open. For a question about the whole \
repository begin with its map, and find references to a name, such as its callers, instead of reading files for it."""


def _arguments(parser: ArgumentParser) -> None:
    from treadle.assistants.reading.command import arguments

    arguments(parser)


async def _run(args: Namespace, host: Host) -> int:
    from treadle.assistants.reading.command import run

    return await run(args, host)


def _routes(host: Host) -> Sequence[Any]:
    from treadle.assistants.reading.routes import routes

    return routes(host)


def _toolsets(host: Host) -> Sequence[Toolset]:
    from treadle.assistants.reading.program import about_of, analysis_tools
    from treadle.assistants.reading.tools import toolset

    about = about_of(host.about)
    return (toolset(host.workspace),) if about is None else analysis_tools(host, about)


def _lead(host: Host) -> Plan | Program:
    from treadle.assistants.reading.plan import plan
    from treadle.assistants.reading.program import about_of, analysis

    about = about_of(host.about)
    return plan if about is None else analysis(host, about)


def _configure(host: Host) -> dict[str, Any]:
    from treadle.assistants.reading.program import about_of, analysis_parts

    return {} if about_of(host.about) is None else {"parts": analysis_parts(host)}


assistant = Assistant(
    name="reading",
    title="Reading",
    summary="Says what a source file is for, and which of its parts belong together.",
    instructions=_INSTRUCTIONS,
    toolsets=_toolsets,
    limits=Limits(rounds=20, calls=60),
    questions=("What is main.py for?", "Which parts of server.go belong together?", "Who calls main?"),
    commands=(
        Command(
            "read",
            "say what a source file or folder is for, and which parts belong together",
            _run,
            _arguments,
            "Without a model, or with --no-model, it is a sketch made from the code alone.",
        ),
    ),
    routes=_routes,
    panel=Panel("Reading", Path(__file__).parent / "panel"),
    lead=_lead,
    configure=_configure,
    settings=ReadingSettings,
)
