"""`treadle mcp`: serve tools to other programs over the Model Context Protocol. Only the protocol is written to stdout."""

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.cli.agent_options import AgentOptions, TypedCall, options_from_args
from treadle.cli.agents import NO_TOOLS_MESSAGE, enter_folder
from treadle.cli.exit_codes import INTERRUPTED, OK
from treadle.cli.host import merge_policy, start_detached
from treadle.cli.runner import run_async
from treadle.cli.ui.approval_prompt import approve_all
from treadle.cli.ui.interrupts import on_interrupt
from treadle.cli.ui.screen import Screen
from treadle.core.errors import BadTool, SettingsError
from treadle.core.seams import Toolset
from treadle.guard.redaction import Redactor
from treadle.home import open_home
from treadle.jobs.tools import JobTools
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import get_assistant
from treadle.plugins.tool_loader import load_tools
from treadle.plugins.tool_sources import add_sources
from treadle.plugins.user_tools import apply_policy_settings, load_user_tools
from treadle.server.host import lazy_model
from treadle.settings.loader import settings_for

NO_TOKEN_NOTICE = "No token: every account and program on this machine may call these tools."  # noqa: S105 - a sentence
SHOWN_ONCE_NOTICE = "Clients send the token in {path} as `Authorization: Bearer …`."

if TYPE_CHECKING:
    from treadle.server.mcp.offering import Offering
    from treadle.server.mcp.stdio import StdioTransport


def run(args: argparse.Namespace) -> int:
    """Serve until the client disconnects or a signal stops it."""
    from importlib.util import find_spec

    if not find_spec("mcp"):
        raise SettingsError("Serving tools needs the package mcp, which isn't installed: pip install 'treadle[mcp]'")
    from treadle.server.mcp.stdio import claim_stdio

    wire = claim_stdio()  # first of all: the tools of a person are imported next, and may print
    return run_async(_serve(args, wire))


async def _serve(args: argparse.Namespace, wire: "StdioTransport") -> int:
    offering = _make_offering(args)
    if args.http is not None:
        return await _serve_http(offering, args.http, no_token=args.no_token)
    return await _serve_stdio(offering, wire)


async def _serve_stdio(offering: "Offering", wire: "StdioTransport") -> int:
    from treadle.server.mcp.server import serve_mcp

    task = asyncio.ensure_future(serve_mcp(offering, wire))
    with on_interrupt(task.cancel):
        await asyncio.wait([task])
    if task.cancelled():
        return INTERRUPTED
    task.result()
    return OK


async def _serve_http(offering: "Offering", port: int, *, no_token: bool) -> int:
    from treadle.server.mcp.server import PATH, mcp_app
    from treadle.server.uvicorn_server import TreadleServer, listen
    from treadle.stores.owner_access import OwnerAccess

    screen, owner = Screen(), None if no_token else OwnerAccess(open_home().folder)

    def tell(url: str) -> None:
        screen.tell(f"{url.rstrip('/')}{PATH}")
        screen.note(NO_TOKEN_NOTICE if owner is None else SHOWN_ONCE_NOTICE.format(path=owner.path))

    with listen(port=port) as listening:
        if owner is not None:
            owner.open()
        server = TreadleServer(mcp_app(offering, owner), listening, tell)
        await server.serve(sockets=[listening])
    return OK


def _make_offering(args: argparse.Namespace) -> "Offering":
    from treadle.server.mcp.offering import Offering

    chosen, user = options_from_args(args), args.user or ""
    if not (chosen.tools or chosen.sources or chosen.assistant):
        raise BadTool(NO_TOOLS_MESSAGE)
    settings = add_sources(settings_for(Path(chosen.workspace)), chosen.sources, alone=True)
    named = load_user_tools(settings, chosen.assistant, open_home().folder)
    toolsets = [*_load_toolsets(chosen, user), *named.tools]
    enter_folder(chosen.workspace)
    policy = merge_policy(get_assistant(chosen.assistant), chosen) if chosen.assistant else chosen.policy or None
    return Offering(
        toolsets,
        policy=apply_policy_settings(settings, policy),
        services=None if args.no_journal else open_home().services(),
        user=user,
        approver=approve_all if args.yes else None,
        attended=chosen.attended,
        origin=lambda name, arguments: _make_origin(chosen, name, arguments),
        redactor=Redactor(known_secrets=named.secrets),
    )


def _load_toolsets(chosen: AgentOptions, user: str) -> list[Toolset]:
    """Return the toolsets of typed Python tools and of an assistant."""
    toolsets: list[Toolset] = []
    if chosen.tools:
        toolsets.append(Agent(Scripted(), tools=load_tools(chosen.tools, chosen.folder)).setup.toolset)
    if chosen.assistant:
        enter_folder(chosen.workspace)  # an assistant looks at the folder it is in
        made = get_assistant(chosen.assistant)
        origin = {"base_url": chosen.base_url} if chosen.base_url else {}
        host = Host(
            open_home(), lazy_model(chosen.model, chosen.base_url), user, origin=origin, detach=start_detached, about=chosen.about
        )
        toolsets.extend(made.toolsets(host) if made.toolsets is not None else ())
        if made.work is not None:
            toolsets.append(JobTools(made, host, Path.cwd()))
    return toolsets


def _make_origin(chosen: AgentOptions, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what `treadle resume` needs to continue a call that was approved later."""
    return replace(chosen, model="typed", call=TypedCall(name, arguments)).origin
