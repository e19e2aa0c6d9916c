"""`treadle serve`: the assistants and their pages, for browsers and programs. The address goes to stdout once it listens."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.assistants import find
from treadle.cli.carrying import carry_out
from treadle.cli.codes import FINE
from treadle.cli.logged import show_access, show_log
from treadle.cli.render import counted
from treadle.cli.screen import Screen
from treadle.core.errors import SettingsError
from treadle.stores.owner import TOKEN_FILE

SIGNED_IN = "A browser has signed in with the link, which can't be used again. Another browser signs in with the token."

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
    from treadle.server.access import NAME as ACCESS
    from treadle.server.hosting import make_host
    from treadle.server.serving import serve, users_of

    def tell(url: str) -> None:
        screen.line(url)
        for sentence in _who(len(users_of(host).all()), args, host.home.folder):
            screen.note(sentence)
        screen.note("Ctrl-C stops it.")
        if demo:
            demo.begin()

    found, broken = find()
    for each in broken:
        screen.tell(str(each), "red")
    show_log(screen, "treadle", "uvicorn")
    if args.access_log:
        show_access(screen, ACCESS)
    host = make_host(demo.model, demo.base_url) if demo else make_host(args.model or "", args.base_url or "")
    await serve(
        [each.assistant for each in found],
        host,
        address=args.host,
        port=args.port,
        on_listening=tell,
        on_signed_in=lambda: screen.note(SIGNED_IN),
        anyone=args.anyone,
        no_token=args.no_token,
        names=args.name or (),
        cors=args.cors or (),
        behind_proxy=args.behind_proxy,
        fetching=demo.fetching if demo else None,
    )
    return FINE


def _who(count: int, args: argparse.Namespace, folder: Path) -> list[str]:
    """Who may use it, in a sentence or two."""
    if count:
        return [f"{counted(count, 'user')} may use it, each with a token."]
    if args.anyone:
        return ["No users: whoever reaches it may use it."]
    if args.no_token:
        return ["No token: every account and program on this machine may use it, and do what you can do with it."]
    return ["Only you may use it: this link signs one browser in, once.", f"Programs send the token in {folder / TOKEN_FILE}."]
