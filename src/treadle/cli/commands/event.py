"""`treadle event`: send an event to the calls that wait for it."""

import argparse

import msgspec

from treadle.cli.exit_codes import OK
from treadle.cli.run_store import existing_home
from treadle.cli.runner import run_async
from treadle.cli.ui.approval_prompt import TERMINAL_USER
from treadle.cli.ui.render import clean_for_terminal, format_count, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import EventNotAwaited
from treadle.runs import Runs


def run(args: argparse.Namespace) -> int:
    """Send the event."""
    return run_async(_send(args))


async def _send(args: argparse.Namespace) -> int:
    home, screen = existing_home(), Screen()
    if home is None:
        raise EventNotAwaited("No run waits here: nothing is stored yet.")
    value = _parse_value(args.value)
    sent = await Runs(home).send_event(
        args.name, value, key=args.key, sender=args.sender or TERMINAL_USER, from_user=args.from_user
    )
    if args.json:
        screen.line(to_terminal_json({"run_ids": sent}))
    else:
        screen.line(f"Sent to {format_count(len(sent), 'run')}: {', '.join(map(clean_for_terminal, sent))}")
    return OK


def _parse_value(text: str | None) -> object:
    """Return the value of an event: JSON, or the text itself."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
