"""Options of `treadle serve` and `treadle users`."""

import argparse

from treadle.cli.parser import CommandEntry, CommandParser, add_commands, integer_from, number_from, or_unlimited
from treadle.settings.reserved import add_model_options


def serve_options(command: CommandParser) -> None:
    """Add the options of `treadle serve`."""
    where = "where to listen; 0.0.0.0 is every address of this machine, which needs users (default: 127.0.0.1)"
    command.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help=where)
    command.add_argument(
        "--port", type=integer_from(0), metavar="N", default=8080, help="the port; 0 picks a free one (default: 8080)"
    )
    command.add_argument("--anyone", action="store_true", help="let in whoever comes, where there are no users")
    words = "ask for no token where there are no users: every account on this machine may use it, and do what you can"
    command.add_argument("--no-token", action="store_true", help=words)
    command.add_argument(
        "--name", action="append", metavar="HOST", help="a name it may be called by: treadle.example.org; repeatable"
    )
    words = "a page elsewhere that may call it with a token: https://example.org; repeatable"
    command.add_argument("--cors", action="append", metavar="ORIGIN", help=words)
    words = "a proxy stands before it and says for whom it asks (X-Forwarded-For, X-Forwarded-Proto)"
    command.add_argument("--behind-proxy", action="store_true", help=words)
    command.add_argument("--access-log", action="store_true", help="show a line for each request")
    words = "try it: samples of every assistant and recorded runs, in a folder of their own, and a model where there is none"
    command.add_argument("--demo", action="store_true", help=words)
    add_model_options(command.add_argument)


def users_options(command: CommandParser) -> None:
    """Add the options of `treadle users`."""
    command.add_argument("--json", action="store_true", help="print JSON")
    add_commands(command, "ACTION", USER_ACTIONS)


def _users_list_options(action: CommandParser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _users_one_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the user's name")
    _users_list_options(action)


def _users_change_options(action: CommandParser) -> None:
    _users_one_options(action)
    words = "what they may do: reader looks, user also asks and decides, admin also sees to the server"
    action.add_argument("--role", choices=("reader", "user", "admin"), help=words)
    action.add_argument("--requests", type=or_unlimited(integer_from(1)), metavar="N", help="requests a minute (default: 600)")
    action.add_argument("--runs", type=or_unlimited(integer_from(0)), metavar="N", help="runs under way at once (default: 20)")
    action.add_argument(
        "--tokens", type=or_unlimited(integer_from(0)), metavar="N", help="tokens of models a day (default: unlimited)"
    )
    words = "US dollars a day, where prices are known (default: unlimited)"
    action.add_argument("--cost", type=or_unlimited(number_from(0)), metavar="USD", help=words)


USER_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list who there is, and what they may do", "The same as `treadle users` alone.", _users_list_options),
    ("add", "add a user; prints their token, once", "`unlimited` is a number too.", _users_change_options),
    (
        "change",
        "change what a user may do, and how much",
        "From the next request on. `unlimited` is a number too.",
        _users_change_options,
    ),
    ("token", "give a user a new token; the old one ends", "Prints it, once.", _users_one_options),
    ("remove", "remove a user; what is theirs stays in its folder", "", _users_one_options),
)
