"""What can be typed about workers: what they are to carry out, how many runs at once, and what begins by the clock."""

import argparse

from treadle.app.reserved import add_model_options
from treadle.cli.commands import Entry, Parser, add_commands
from treadle.cli.numbers import count, number


def submit_options(command: Parser) -> None:
    """What can be typed after `treadle submit`."""
    command.add_argument("message", nargs="*", metavar="MESSAGE", help="what to ask; - stands for what comes on stdin")
    command.add_argument("-a", "--assistant", metavar="NAME", help="whom to ask; `treadle assistants` lists them")
    add_model_options(command.add_argument)
    command.add_argument("-i", "--instructions", metavar="TEXT", help="what the model is told besides; @FILE reads it from a file")
    command.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: this one)")
    command.add_argument("--user", default="", help="on whose behalf")
    command.add_argument("--no-person", action="store_true", help="nobody will be there: deny what would be asked")
    command.add_argument("--at", metavar="TIME", help="not before then: 2026-11-16T07:00, or 10m, 2h, 1d from now")
    command.add_argument("--resume", metavar="RUN", help="queue this run again, after a failure or an approval")
    command.add_argument("--every", metavar="CRON", help="begin such a run again and again: '0 7 * * *' is every day at seven")
    command.add_argument("--zone", metavar="ZONE", default="UTC", help="whose clocks --every goes by: Europe/Zurich (default: UTC)")
    command.add_argument("--name", metavar="NAME", default="", help="what the schedule of --every is called")
    command.add_argument("--json", action="store_true", help="print JSON")


def worker_options(command: Parser) -> None:
    """What can be typed after `treadle worker`."""
    command.add_argument("--at-once", type=count(1), metavar="N", help="runs at the same time (default: worker.at_once, else 4)")
    words = "seconds of silence after which others take its runs over (default: worker.lease, else 10)"
    command.add_argument("--lease", type=number(0.5), metavar="S", help=words)
    command.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


def schedules_options(command: Parser) -> None:
    """What can be typed after `treadle schedules`."""
    command.add_argument("--json", action="store_true", help="print JSON")
    add_commands(command, "ACTION", SCHEDULE_ACTIONS)


def _list(action: Parser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _remove(action: Parser) -> None:
    action.add_argument("name", metavar="NAME", help="the schedule's name")
    _list(action)


SCHEDULE_ACTIONS: tuple[Entry, ...] = (
    ("list", "list what begins by the clock, and when it is next due", "The same as `treadle schedules` alone.", _list),
    ("remove", "remove one; what it has begun goes on", "", _remove),
)
