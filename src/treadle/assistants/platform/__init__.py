"""The platform assistant: ask about, and act on, a running platform, with your own rights.

This module only declares the assistant; everything it needs is imported on first use.
"""

from pathlib import Path
from typing import Literal

from treadle import Limits, allow, ask
from treadle.assistant import Assistant, Command, Panel, lazy_import
from treadle.assistants.platform.settings import PlatformSettings

_NAME = "treadle.assistants.platform"


_COMMON: dict[str, tuple[Literal["model", "approval"], ...]] = {
    **dict.fromkeys(("ask", "chat", "generate"), ("model", "approval")),
    **dict.fromkeys(("validate", "demo"), ()),
}


def _command(name: str, summary: str, more: str = "") -> Command:
    path = f"{_NAME}.command:{name}"
    common = _COMMON.get(name, ("approval",))
    return Command(name, summary, lazy_import(path), lazy_import(f"{path}_arguments"), more, common=common)


assistant = Assistant(
    name="platform",
    title="Platform",
    summary="Ask about your deployments, and deploy with approval.",
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
    parts={"grounded": True},
    questions=("What applications do I have?", "Show me failed workflows.", "Write a spec for a web app with a database."),
    commands=(
        Command(
            "platform",
            "ask about a running platform, and act on it as yourself",
            parts=(
                _command("ask", "ask a question", "Changes are shown first and need approval."),
                _command("chat", "have a conversation, with /help, /clear, /save and /exit"),
                _command("generate", "write a Score spec from a description"),
                _command("deploy", "deploy a spec", "What would change is shown first."),
                _command("delete", "delete an application", "What belongs to it is shown first."),
                _command("run", "deploy a spec by a golden path", "What would change is shown first."),
                _command("retry", "retry a failed workflow", "What failed is shown first."),
                _command("validate", "check Score specs line by line", "Exits with 1 if one is invalid."),
                _command("demo", "start a small demonstration platform", "It runs until Ctrl-C and prints its users' tokens."),
            ),
        ),
    ),
    routes=lazy_import(f"{_NAME}.routes:routes"),
    panel=Panel("Platform", Path(__file__).parent / "panel", conversation="run={run_id}", asks=True),
    lead=lazy_import(f"{_NAME}.session:plan"),
    settings=PlatformSettings,
    variables=("TREADLE_PLATFORM_TOKEN",),
    caller=lazy_import(f"{_NAME}.session:caller"),
    reply=lazy_import(f"{_NAME}.session:reply"),
)
