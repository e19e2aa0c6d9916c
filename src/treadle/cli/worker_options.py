"""Options of `treadle submit`, `treadle worker` and `treadle schedules`."""

import argparse

from treadle.cli.parser import CommandEntry, CommandParser, add_commands, integer_from, number_from
from treadle.settings.reserved import add_model_options


def submit_options(command: CommandParser) -> None:
    """Add the options of `treadle submit`."""
    command.add_argument("message", nargs="*", metavar="MESSAGE", help="what to ask; piped text is added, and files as @FILE")
    command.add_argument("-a", "--assistant", metavar="NAME", help="whom to ask; `treadle assistants` lists them")
    add_model_options(command.add_argument)
    command.add_argument(
        "-i", "--instructions", metavar="TEXT", help="further instructions for the model; @FILE reads them from a file"
    )
    command.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: this one)")
    command.add_argument("--user", default="", help="the user on whose behalf to act")
    command.add_argument("--no-person", action="store_true", help="deny calls that need approval")
    command.add_argument("--at", metavar="TIME", help="the earliest start: 2026-11-16T07:00, or 10m, 2h, 1d from now")
    command.add_argument("--resume", metavar="RUN", help="queue this run again, after a failure or an approval")
    command.add_argument("--every", metavar="CRON", help="start such a run on a schedule: '0 7 * * *' is every day at seven")
    command.add_argument("--zone", metavar="ZONE", default="UTC", help="the time zone of --every: Europe/Zurich (default: UTC)")
    command.add_argument("--name", metavar="NAME", default="", help="the name of the schedule")
    command.add_argument("--json", action="store_true", help="print JSON")


def worker_options(command: CommandParser) -> None:
    """Add the options of `treadle worker`."""
    command.add_argument("--at-once", type=integer_from(1), metavar="N", help="concurrent runs (default: worker.at_once, else 4)")
    words = "seconds of silence after which other workers take over its runs (default: worker.lease, else 10)"
    command.add_argument("--lease", type=number_from(0.5), metavar="S", help=words)
    command.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


def schedules_options(command: CommandParser) -> None:
    """Add the options of `treadle schedules`."""
    command.add_argument("--json", action="store_true", help="print JSON")
    add_commands(command, "ACTION", SCHEDULE_ACTIONS)


def _list_options(action: CommandParser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _remove_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the schedule's name")
    _list_options(action)


SCHEDULE_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list schedules and when each is next due", "The same as `treadle schedules` alone.", _list_options),
    ("remove", "remove a schedule; runs that it started continue", "", _remove_options),
)
