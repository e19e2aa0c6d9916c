"""The platform assistant: ask about, and act on, a running platform, with your own rights.

This module only declares the assistant; everything it needs is imported on first use.
"""

from pathlib import Path

from treadle import Assistant, Command, Limits, Panel, allow, ask, lazy_import
from treadle.assistants.platform.settings import PlatformSettings

_NAME = "treadle.assistants.platform"


def _command(name: str, summary: str, more: str = "", arguments: str = "") -> Command:
    options = lazy_import(f"{_NAME}.command:{arguments or name + '_arguments'}")
    return Command(name, summary, lazy_import(f"{_NAME}.command:{name}"), options, more)


assistant = Assistant(
    name="platform",
    title="Platform",
    summary="Answers about a running platform and acts on it, with your own rights.",
    configure=lazy_import(f"{_NAME}.session:configure"),
    toolsets=lazy_import(f"{_NAME}.session:toolsets"),
    policy=(
        allow("*", effect="read"),
        ask("deploy_application", reason="This changes what runs."),
        ask("delete_application", reason="This can't be undone."),
        ask("run_golden_path", reason="This changes what runs."),
        ask("retry_workflow", reason="This changes what runs."),
    ),
    limits=Limits(rounds=10, calls=30),
    questions=("What applications do I have?", "Show me failed workflows.", "Write a spec for a web app with a database."),
    commands=(
        Command(
            "platform",
            "ask about a running platform, and act on it with your own rights",
            parts=(
                _command("ask", "ask something", "What would be changed is shown before you are asked about it."),
                _command("chat", "talk, with /help, /clear, /save and /exit", arguments="server_option"),
                _command("generate", "write a Score spec from a description"),
                _command("deploy", "deploy a spec", "What would change is shown first."),
                _command("delete", "delete an application", "What belongs to it is shown first."),
                _command("run", "deploy a spec by a golden path", "What would change is shown first."),
                _command("retry", "retry a failed workflow", "What failed is shown first."),
                _command("validate", "check Score specs, by line", "Exits with 1 where one would be refused."),
                _command(
                    "demo", "start a small platform to try it on", "It runs until Ctrl-C, and prints the tokens of its users."
                ),
            ),
        ),
    ),
    routes=lazy_import(f"{_NAME}.routes:routes"),
    panel=Panel("Platform", Path(__file__).parent / "panel"),
    lead=lazy_import(f"{_NAME}.session:plan"),
    settings=PlatformSettings,
    variables=("TREADLE_PLATFORM_TOKEN",),
    caller=lazy_import(f"{_NAME}.session:caller"),
    reply=lazy_import(f"{_NAME}.session:reply"),
)
