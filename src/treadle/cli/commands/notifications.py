"""`treadle notifications`: list notifications that aren't delivered yet; `treadle notifications send` delivers what is due."""

import argparse

from treadle.cli.exit_codes import FAILED, OK
from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_table, format_time, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.home import Home, open_home, open_user_home, open_users
from treadle.notifications.notifier import make_notifier
from treadle.settings.loader import user_settings
from treadle.stores.outbox import Outbox, OutboxDelivery


def run(args: argparse.Namespace) -> int:
    """Run the requested action."""
    return run_async(_send(args) if args.action == "send" else _show(args))


async def _show(args: argparse.Namespace) -> int:
    _print(await _undelivered(), args)
    return OK


async def _send(args: argparse.Namespace) -> int:
    notifier = make_notifier(user_settings())
    if notifier is None:
        raise SettingsError("There is no channel to send notifications by: add a table [notifications.NAME] to your treadle.toml.")
    for home in _homes():
        await notifier.look(home)
    left = await _undelivered()
    _print(left, args)
    return FAILED if any(each.problem for each in left) else OK


def _homes() -> list[Home]:
    home = open_home()
    return [home, *[open_user_home(home, person.name) for person in open_users(home).all()]]


async def _undelivered() -> list[OutboxDelivery]:
    return [each for home in _homes() for each in await Outbox(home.database).deliveries()]


def _print(left: list[OutboxDelivery], args: argparse.Namespace) -> None:
    screen = Screen()
    if args.json:
        keys = ("id", "run_id", "channel", "due", "tries", "problem")
        screen.line(to_terminal_json([{key: getattr(each, key) for key in keys} for each in left]))
        return
    rows = [
        (
            each.run_id,
            each.channel,
            "not any more" if each.due is None else format_time(each.due),
            str(each.tries),
            each.problem or "-",
        )
        for each in left
    ]
    for line in format_table([("RUN", "CHANNEL", "NEXT TRY", "TRIES", "PROBLEM"), *rows], screen.width) if rows else ():
        screen.line(line)
    screen.note(f"{len(left)} notifications aren't delivered yet." if left else "All notifications are delivered.")
