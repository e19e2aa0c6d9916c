"""`treadle serve`: serve the assistants and their pages to browsers and programs. The URL is printed to stdout once it listens."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.cli.exit_codes import OK
from treadle.cli.runner import run_async
from treadle.cli.ui.log_handler import attach_access_log, attach_json_log, attach_log
from treadle.cli.ui.render import format_count
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.engine.telemetry import start_telemetry
from treadle.plugins.assistants import find_assistants
from treadle.plugins.models import check_model_name
from treadle.settings.loader import user_settings
from treadle.stores.owner_access import TOKEN_FILE

SIGNED_IN_NOTICE = "A browser has signed in with the link, which can't be used again. Another browser signs in with the token."

if TYPE_CHECKING:
    from treadle.cli.serve_demo import ServerDemo


def run(args: argparse.Namespace) -> int:
    """Serve until a signal stops it."""
    from importlib.util import find_spec

    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise SettingsError("The server needs starlette and uvicorn, which aren't installed: pip install 'treadle[server]'")
    if args.model:
        check_model_name(args.model)
    return run_async(_serve(args, Screen()))


async def _serve(args: argparse.Namespace, screen: Screen) -> int:
    if not args.demo:
        return await _run_server(args, screen)
    from treadle.cli.serve_demo import run_server_demo

    async with run_server_demo(args, screen) as demo:
        return await _run_server(args, screen, demo)


async def _run_server(args: argparse.Namespace, screen: Screen, demo: "ServerDemo | None" = None) -> int:
    from treadle.server.access_log import LOGGER_NAME as ACCESS
    from treadle.server.host import make_host
    from treadle.server.uvicorn_server import serve_http, users_of

    def tell(url: str) -> None:
        screen.line(url)
        for sentence in _describe_access(len(users_of(host).all()), args, host.home.folder):
            screen.note(sentence)
        screen.note("Ctrl-C stops it.")
        if demo:
            demo.begin()

    found, broken = find_assistants()
    for each in broken:
        screen.tell(str(each), "red")
    start_telemetry()
    if args.json_log:
        attach_json_log("treadle", "uvicorn", access=ACCESS if args.access_log else "")
    else:
        attach_log(screen, "treadle", "uvicorn")
    if args.access_log and not args.json_log:
        attach_access_log(screen, ACCESS)
    is_named = bool(args.model)  # of the demo's settings, the model of the settings page counts, unless one is typed
    host = (
        make_host(demo.model, demo.base_url, is_default=not is_named) if demo else make_host(args.model or "", args.base_url or "")
    )
    await serve_http(
        [each.assistant for each in found],
        host,
        address=args.host,
        port=args.port,
        on_listening=tell,
        on_signed_in=lambda: screen.note(SIGNED_IN_NOTICE),
        anyone=args.anyone,
        no_token=args.no_token,
        names=args.name or (),
        cors=args.cors or (),
        behind_proxy=args.behind_proxy,
        fetching=demo.fetching if demo else None,
    )
    return OK


def _describe_access(count: int, args: argparse.Namespace, folder: Path) -> list[str]:
    """Describe who may use the server, in a sentence or two."""
    if user_settings().oidc.issuer:
        return [f"Users sign in with {user_settings().oidc.title}, or with a token: {format_count(count, 'user')} so far."]
    if count:
        return [f"{format_count(count, 'user')} may use it, each with a token."]
    if args.anyone:
        return ["No users: every client that reaches it may use it."]
    if args.no_token:
        return ["No token: every account and program on this machine may use it, and do what you can do with it."]
    return ["Only you may use it: this link signs one browser in, once.", f"Programs send the token in {folder / TOKEN_FILE}."]
