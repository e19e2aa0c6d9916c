"""Options of `treadle serve`, `users`, `submit`, `worker`, `queues`, `dead-letters` and `schedules`."""

import argparse

from treadle.cli.parser import CommandEntry, CommandParser, add_commands, integer_from, number_from, or_unlimited
from treadle.settings.reserved import add_model_options


def serve_options(command: CommandParser) -> None:
    """Add the options of `treadle serve`."""
    where = "the address to listen on; 0.0.0.0 is every address, which needs users (default: 127.0.0.1)"
    command.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help=where)
    command.add_argument(
        "--port", type=integer_from(0), metavar="N", default=8080, help="the port; 0 picks a free one (default: 8080)"
    )
    command.add_argument("--anyone", action="store_true", help="allow other machines without any users")
    words = "require no token if there are no users: every account on this machine can use it with your rights"
    command.add_argument("--no-token", action="store_true", help=words)
    command.add_argument(
        "--name", action="append", metavar="HOST", help="a host name that it accepts: treadle.example.org; repeatable"
    )
    words = "an origin whose pages may call it with a token: https://example.org; repeatable"
    command.add_argument("--cors", action="append", metavar="ORIGIN", help=words)
    words = "it runs behind a proxy, which sets X-Forwarded-For and X-Forwarded-Proto"
    command.add_argument("--behind-proxy", action="store_true", help=words)
    command.add_argument("--access-log", action="store_true", help="show a line for each request")
    command.add_argument("--json-log", action="store_true", help="log on stderr as JSON, a line for each record")
    words = "serve samples and recorded runs from a separate folder, with a model if none is set up"
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
    words = "reader can view, user can also ask and approve, admin can also manage the server"
    action.add_argument("--role", choices=("reader", "user", "admin"), help=words)
    action.add_argument("--requests", type=or_unlimited(integer_from(1)), metavar="N", help="requests per minute (default: 600)")
    action.add_argument("--runs", type=or_unlimited(integer_from(0)), metavar="N", help="concurrent runs (default: 20)")
    action.add_argument(
        "--tokens", type=or_unlimited(integer_from(0)), metavar="N", help="model tokens per day (default: unlimited)"
    )
    words = "US dollars per day, where prices are known (default: unlimited)"
    action.add_argument("--cost", type=or_unlimited(number_from(0)), metavar="USD", help=words)
    words = "a group that the user is in, for quotas; repeatable, and then these are all of them"
    action.add_argument("--group", action="append", metavar="NAME", help=words)


def _expires_option(action: CommandParser) -> None:
    words = "when the token ends: 90d, 12h, or 2027-01-31T00:00; needed for service accounts"
    action.add_argument("--expires", metavar="TIME", help=words)


def _users_add_options(action: CommandParser) -> None:
    _users_change_options(action)
    action.add_argument("--service", action="store_true", help="a service account: a program's, which can't sign in at a browser")
    _expires_option(action)


def _users_token_options(action: CommandParser) -> None:
    _users_one_options(action)
    _expires_option(action)


def _users_link_options(action: CommandParser) -> None:
    _users_one_options(action)
    action.add_argument("subject", metavar="SUBJECT", help="the subject (`sub`) that the identity provider knows the user by")


USER_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list users, their roles and limits", "The same as `treadle users` alone.", _users_list_options),
    ("add", "add a user and print their token, once", "A limit may be `unlimited`.", _users_add_options),
    (
        "change",
        "change a user's role or limits",
        "From the next request on. A limit may be `unlimited`.",
        _users_change_options,
    ),
    ("token", "issue a new token for a user and print it, once", "The old one stops working.", _users_token_options),
    ("link", "let a user sign in with an identity of [oidc]", "Other identities stay linked.", _users_link_options),
    ("quotas", "show the quotas of a user, and what is used of them", "[quotas] in treadle.toml sets them.", _users_one_options),
    ("remove", "remove a user; their data stays in its folder", "", _users_one_options),
)


def submit_options(command: CommandParser) -> None:
    """Add the options of `treadle submit`."""
    command.add_argument("message", nargs="*", metavar="MESSAGE", help="what to ask; piped text is added, and files as @FILE")
    command.add_argument("-a", "--assistant", metavar="NAME", help="whom to ask; `treadle assistants` lists them")
    command.add_argument("--agent", metavar="MODULE:NAME", help="an agent of your own program, which workers import")
    add_model_options(command.add_argument)
    command.add_argument(
        "-i", "--instructions", metavar="TEXT", help="further instructions for the model; @FILE reads them from a file"
    )
    command.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: this one)")
    command.add_argument("--user", default="", help="the user on whose behalf to act")
    command.add_argument("--no-person", action="store_true", help="deny calls that need approval")
    command.add_argument("--at", metavar="TIME", help="the earliest start: 2026-11-16T07:00, or 10m, 2h, 1d from now")
    command.add_argument("--run-id", metavar="ID", default="", help="the run's id; submitted again with it, it is the same run")
    command.add_argument("--queue", metavar="NAME", default="default", help="the queue that it waits in (default: default)")
    words = "how urgent it is, from -1000 to 1000: higher ones begin first (default: 0)"
    command.add_argument("--priority", type=int, metavar="N", default=0, help=words)
    words = "a worker of any version of the application continues it, not only one of the version that began it"
    command.add_argument("--any-version", action="store_true", help=words)
    command.add_argument("--wait", action="store_true", help="wait until it is over, and print its answer")
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
    words = "a module whose agents may be imported and run (default: worker.agents); repeat it for more"
    command.add_argument("--agents", action="append", metavar="MODULE", help=words)
    words = "a queue that it takes runs of (default: worker.queues, else default); repeat it for more"
    command.add_argument("--queue", action="append", metavar="NAME", help=words)
    words = "seconds for which runs may end after Ctrl-C or SIGTERM (default: worker.drain, else 0)"
    command.add_argument("--drain", type=number_from(0), metavar="S", help=words)
    words = "the version of your application, or auto; runs that it begins are continued by workers of that version"
    command.add_argument("--app-version", metavar="VERSION", help=f"{words} (default: worker.app_version)")
    words = "another version whose runs it continues (default: worker.compatible_versions); repeat it for more"
    command.add_argument("--compatible", action="append", metavar="VERSION", help=words)
    words = "serve Prometheus metrics at this address, without a token: 9464 is 127.0.0.1:9464"
    command.add_argument("--metrics", metavar="[ADDRESS:]PORT", help=words)
    command.add_argument("--json-log", action="store_true", help="log on stderr as JSON, a line for each record")
    command.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


def queues_options(command: CommandParser) -> None:
    """Add the options of `treadle queues`."""
    command.add_argument("--json", action="store_true", help="print JSON")


def dead_letters_options(command: CommandParser) -> None:
    """Add the options of `treadle dead-letters`."""
    _dead_list_options(command)
    command.set_defaults(queue="", json=False)
    add_commands(command, "ACTION", DEAD_LETTER_ACTIONS)


def _dead_list_options(action: CommandParser) -> None:
    action.add_argument("--queue", metavar="NAME", default=argparse.SUPPRESS, help="only those of this queue")
    _list_options(action)


def _dead_change_options(action: CommandParser) -> None:
    action.add_argument("run", nargs="*", metavar="RUN", help="the run's id")
    action.add_argument("--all", action="store_true", help="all of them; with --queue, those of a queue")
    _dead_list_options(action)


def schedules_options(command: CommandParser) -> None:
    """Add the options of `treadle schedules`."""
    command.add_argument("--json", action="store_true", help="print JSON")
    add_commands(command, "ACTION", SCHEDULE_ACTIONS)


def _list_options(action: CommandParser) -> None:
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _remove_options(action: CommandParser) -> None:
    action.add_argument("name", metavar="NAME", help="the schedule's name")
    _list_options(action)


DEAD_LETTER_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list them with the reason of each", "The same as `treadle dead-letters` alone.", _dead_list_options),
    ("retry", "queue them again", "A worker continues each from its journal.", _dead_change_options),
    ("remove", "take them off the list; the runs are kept", "`treadle runs delete` deletes a run.", _dead_change_options),
)


SCHEDULE_ACTIONS: tuple[CommandEntry, ...] = (
    ("list", "list schedules and when each is next due", "The same as `treadle schedules` alone.", _list_options),
    ("remove", "remove a schedule; runs that it started continue", "", _remove_options),
)
