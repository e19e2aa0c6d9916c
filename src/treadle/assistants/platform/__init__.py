"""The platform assistant: ask about, and act on, a running platform, with your own rights.

This module only says what it offers; everything it needs is imported when it is used.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from treadle import Assistant, Command, Host, Limits, Panel, Plan, Toolset, allow, ask, later
from treadle.assistants.platform.settings import PlatformSettings

_NAME = "treadle.assistants.platform"


def _toolsets(host: Host) -> Sequence[Toolset]:
    from treadle.assistants.platform.local import local_tools

    return local_tools(host)


def _lead(host: Host) -> Plan:
    from treadle.assistants.platform.plan import plan

    return plan


def _part(name: str, summary: str, more: str = "", arguments: str = "") -> Command:
    run: Callable[[Namespace, Host], int | Awaitable[int]] = later(f"{_NAME}.command:{name}")
    options: Callable[[ArgumentParser], object] = later(f"{_NAME}.command:{arguments or name + '_arguments'}")
    return Command(name, summary, run, options, more)


assistant = Assistant(
    name="platform",
    title="Platform",
    summary="Answers about a running platform and acts on it, with your own rights.",
    instruct=later(f"{_NAME}.local:instructions_for"),
    toolsets=_toolsets,
    policy=(
        allow("*", effect="read"),
        ask("deploy_application", reason="This changes what runs."),
        ask("delete_application", reason="This can't be undone."),
    ),
    limits=Limits(rounds=10, calls=30),
    questions=("What applications do I have?", "Show me failed workflows.", "Write a spec for a web app with a database."),
    commands=(
        Command(
            "platform",
            "ask about a running platform, and act on it with your own rights",
            parts=(
                _part("ask", "ask something", "What would be changed is shown before you are asked about it."),
                _part("chat", "talk, with /help, /clear, /save and /exit", arguments="server_option"),
                _part("generate", "write a Score spec from a description"),
                _part("validate", "check Score specs, by line", "Exits with 1 where one would be refused."),
                _part("demo", "start a small platform to try it on", "It runs until Ctrl-C, and prints the tokens of its users."),
            ),
        ),
    ),
    routes=later(f"{_NAME}.routes:routes"),
    panel=Panel("Platform", Path(__file__).parent / "panel"),
    lead=_lead,
    settings=PlatformSettings,
    variables=("TREADLE_PLATFORM_TOKEN",),
)
