"""`treadle mcp`: tools for other programs, over the Model Context Protocol. Nothing but the protocol is written to stdout."""

import argparse
import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from treadle.app.agent import Agent
from treadle.app.assistant import Host
from treadle.app.assistants import assistant
from treadle.app.extras import settled_policy
from treadle.app.home import open_home
from treadle.app.job_tools import JobTools
from treadle.app.loading import load_tools
from treadle.app.settings import settings_of
from treadle.cli.agents import enter
from treadle.cli.carrying import carry_out
from treadle.cli.choices import Chosen, TypedCall, chosen_from
from treadle.cli.codes import FINE, INTERRUPTED
from treadle.cli.host import detach, policy_with
from treadle.cli.interrupts import interrupting
from treadle.cli.people import yes_to_all
from treadle.cli.screen import Screen
from treadle.core.errors import BadTool, SettingsError
from treadle.core.seams import Toolset
from treadle.models.scripted import Scripted
from treadle.server.hosting import found_later

NO_TOKEN = "No token: every account and program on this machine may call these tools."  # noqa: S105 - a sentence
TOKEN = "Clients send the token in {path} as `Authorization: Bearer …`."  # noqa: S105 - a sentence

if TYPE_CHECKING:
    from treadle.server.mcp.offering import Offering
    from treadle.server.mcp.wire import Wire


def run(args: argparse.Namespace) -> int:
    """Serve until the client has gone, or until told to stop."""
    from importlib.util import find_spec

    if not find_spec("mcp"):
        raise SettingsError("Serving tools needs the package mcp, which isn't installed: pip install 'treadle[mcp]'")
    from treadle.server.mcp.wire import claim

    wire = claim()  # first of all: the tools of a person are imported next, and may print
    return carry_out(_serve(args, wire))


async def _serve(args: argparse.Namespace, wire: "Wire") -> int:
    offering = _offering(args)
    if args.http is not None:
        return await _serve_http(offering, args.http, no_token=args.no_token)
    return await _serve_wire(offering, wire)


async def _serve_wire(offering: "Offering", wire: "Wire") -> int:
    from treadle.server.mcp.serving import serve_mcp

    task = asyncio.ensure_future(serve_mcp(offering, wire))

    def stop() -> None:
        task.cancel()

    with suppress(NotImplementedError):  # where there are no such signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    with interrupting(stop):
        await asyncio.wait([task])
    if task.cancelled():
        return INTERRUPTED
    task.result()
    return FINE


async def _serve_http(offering: "Offering", port: int, *, no_token: bool) -> int:
    from treadle.server.mcp.serving import PATH, mcp_app
    from treadle.server.serving import Server, listen
    from treadle.stores.owner import OwnerAccess

    screen, owner = Screen(), None if no_token else OwnerAccess(open_home().folder)

    def tell(url: str) -> None:
        screen.tell(f"{url.rstrip('/')}{PATH}")
        screen.note(NO_TOKEN if owner is None else TOKEN.format(path=owner.path))

    with listen(port=port) as listening:
        if owner is not None:
            owner.open()
        server = Server(mcp_app(offering, owner), listening, tell)
        await server.serve(sockets=[listening])
    return FINE


def _offering(args: argparse.Namespace) -> "Offering":
    from treadle.server.mcp.offering import Offering

    chosen, user = chosen_from(args), args.user or ""
    toolsets = _toolsets(chosen, user)
    if not toolsets:
        raise BadTool("There are no tools; name some: --tools MODULE, --tools FILE.py:FUNCTION or --assistant NAME.")
    enter(chosen.workspace)
    policy = policy_with(assistant(chosen.assistant), chosen) if chosen.assistant else chosen.policy or None
    return Offering(
        toolsets,
        policy=settled_policy(settings_of(Path(chosen.workspace)), policy),
        services=None if args.no_journal else open_home().services(),
        user=user,
        approver=yes_to_all if args.yes else None,
        attended=chosen.attended,
        origin=lambda name, arguments: _origin(chosen, name, arguments),
    )


def _toolsets(chosen: Chosen, user: str) -> list[Toolset]:
    """Everything that is offered; whatever else is to be offered is added here."""
    toolsets: list[Toolset] = []
    if chosen.tools:
        toolsets.append(Agent(Scripted(), tools=load_tools(chosen.tools, chosen.folder)).setup.toolset)
    if chosen.assistant:
        enter(chosen.workspace)  # an assistant looks at the folder it is in
        made = assistant(chosen.assistant)
        origin = {"base_url": chosen.base_url} if chosen.base_url else {}
        host = Host(open_home(), found_later(chosen.model, chosen.base_url), user, origin=origin, detach=detach)
        toolsets.extend(made.toolsets(host) if made.toolsets is not None else ())
        if made.work is not None:
            toolsets.append(JobTools(made, host, Path.cwd()))
    return toolsets


def _origin(chosen: Chosen, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What `treadle resume` needs to take a call up again that a person approved later."""
    return replace(chosen, model="typed", call=TypedCall(name, arguments)).origin
