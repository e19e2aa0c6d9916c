"""`treadle acp`: an assistant in an editor, over the Agent Client Protocol. Only the protocol is written to stdout."""

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from treadle.cli.agent_options import options_from_args
from treadle.cli.exit_codes import INTERRUPTED, OK
from treadle.cli.runner import run_async
from treadle.cli.ui.interrupts import on_interrupt
from treadle.core.errors import SettingsError
from treadle.home import open_home
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import get_assistant
from treadle.server.host import lazy_model

DEFAULT_ASSISTANT = "coding"

if TYPE_CHECKING:
    from treadle.server.acp.stdio import AcpTransport


def run(args: argparse.Namespace) -> int:
    """Serve until the editor disconnects or a signal stops it."""
    from importlib.util import find_spec

    if not find_spec("acp"):
        raise SettingsError("Editors need the package agent-client-protocol, which isn't installed: pip install 'treadle[acp]'")
    from treadle.server.acp.stdio import claim_acp_stdio

    transport = claim_acp_stdio()  # first of all: a plug-in is imported next, and may print
    return run_async(_serve(args, transport))


async def _serve(args: argparse.Namespace, transport: "AcpTransport") -> int:
    from treadle.server.acp.server import serve_acp

    chosen = options_from_args(args)
    chosen = replace(chosen, assistant=chosen.assistant or DEFAULT_ASSISTANT)
    assistant = get_assistant(chosen.assistant)
    home, model = open_home(), lazy_model(chosen.model, chosen.base_url)

    def host(folder: Path) -> Host:
        here = str(folder)
        return Host(
            home,
            model,
            args.user or "",
            folder=folder,
            about=chosen.about,
            dialect=chosen.dialect,
            remember=lambda about: replace(chosen, about=about, folder=here, workspace=here).origin,
        )

    task = asyncio.ensure_future(serve_acp(assistant, host, transport))
    with on_interrupt(task.cancel) as received:
        await asyncio.wait([task])
    if received or task.cancelled():
        return INTERRUPTED
    task.result()
    return OK
