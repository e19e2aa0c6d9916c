"""`treadle serve`: the assistants and their pages, for browsers and programs. The address goes to stdout once it listens."""

import argparse
from typing import TYPE_CHECKING

from treadle.app.assistants import find
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.logged import show_log
from treadle.cli.render import counted
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError

if TYPE_CHECKING:
    from treadle.cli.trying import Trying


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from importlib.util import find_spec

    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise SettingsError("The server needs starlette and uvicorn, which aren't installed: pip install 'treadle[server]'")
    return carry_out(_serve(args, Screen()))


async def _serve(args: argparse.Namespace, screen: Screen) -> int:
    if not args.demo:
        return await _served(args, screen)
    from treadle.cli.trying import trying

    async with trying(args, screen) as demo:
        return await _served(args, screen, demo)


async def _served(args: argparse.Namespace, screen: Screen, demo: "Trying | None" = None) -> int:
    from treadle.server.hosting import make_host
    from treadle.server.serving import serve, users_of

    def tell(url: str) -> None:
        screen.line(url)
        screen.note(_who(len(users_of(host).all()), args.anyone))
        screen.note("Ctrl-C stops it.")
        if demo:
            demo.begin()

    found, broken = find()
    for each in broken:
        screen.tell(str(each), "red")
    show_log(screen, "treadle", "uvicorn")
    host = make_host(demo.model, demo.base_url) if demo else make_host(args.model or "", args.base_url or "")
    await serve(
        [each.assistant for each in found],
        host,
        address=args.host,
        port=args.port,
        on_listening=tell,
        anyone=args.anyone,
        names=args.name or (),
        cors=args.cors or (),
        behind_proxy=args.behind_proxy,
        fetching=demo.fetching if demo else None,
    )
    return FINE


def _who(count: int, anyone: bool) -> str:
    """Who may use it, in a sentence."""
    if count:
        return f"{counted(count, 'user')} may use it, each with a token."
    return f"No users: whoever {'reaches it' if anyone else 'is on this machine'} may use it."
