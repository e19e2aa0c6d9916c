"""`treadle users`: manage the server's users, their roles and their limits. A token is printed once, and never again."""

import argparse
from pathlib import Path
from time import time

from msgspec.structs import asdict, replace

from treadle.agent.quotas import Quotas
from treadle.cli.commands.submit import parse_time
from treadle.cli.exit_codes import OK
from treadle.cli.parser import UNLIMITED
from treadle.cli.runner import run_async
from treadle.cli.ui.render import format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.errors import SettingsError
from treadle.home import Home, open_home, open_users
from treadle.settings.loader import user_settings
from treadle.stores.accounts import Allowance, User
from treadle.stores.users import Users

ALLOWANCES = ("requests", "runs", "tokens", "cost")
SHOWN_ONCE_NOTICE = "This token is shown only now. It is sent as `Authorization: Bearer …`, and signs in at /login."
SERVICE_NOTICE = "This token is shown only now. It is sent as `Authorization: Bearer …`; a service account can't sign in at /login."
EARLIER_DATA_NOTICE = (
    "There are things of an earlier {name} in {folder}, which this one will see; move them away first if it is another person."
)
RESTART_NOTICE = "Restart a server that is already running: it started without users, and lets only you in."


def run(args: argparse.Namespace) -> int:
    """Run the requested action."""
    screen, kept = Screen(), open_home()
    home, users = kept.folder, open_users(kept)
    match args.action:
        case "add":
            return _add_user(users, home, args, screen)
        case "change":
            return _change_user(users, args, screen)
        case "token":
            token = users.renew(args.name, _parse_expiry(args.expires))
            return _print_token(screen, args, token, users.get(args.name))
        case "link":
            return _link_user(users, args, screen)
        case "quotas":
            return run_async(_print_quotas(users, kept, args, screen))
        case "remove":
            return _remove_user(users, home, args, screen)
        case _:
            return _list_users(users, args, screen)


def _add_user(users: Users, home: Path, args: argparse.Namespace, screen: Screen) -> int:
    is_first = not users.all()
    expires = _parse_expiry(args.expires)
    if args.service and expires is None:
        raise SettingsError("The token of a service account has to end at a time: --expires 90d")
    token = users.add(
        args.name,
        args.role or "user",
        _allowance_from_args(args, Allowance()),
        groups=args.group or (),
        service=args.service,
        expires=expires,
    )
    folder = _user_folder(home, args.name)
    if folder.exists():
        screen.tell(EARLIER_DATA_NOTICE.format(name=args.name, folder=folder), "yellow")
    if is_first:
        screen.note(RESTART_NOTICE)
    return _print_token(screen, args, token, users.get(args.name))


def _print_token(screen: Screen, args: argparse.Namespace, token: str, person: User) -> int:
    screen.line(to_terminal_json({**_to_json(person), "token": token}) if args.json else token)
    screen.note(SERVICE_NOTICE if person.service else SHOWN_ONCE_NOTICE)
    return OK


def _parse_expiry(words: str | None) -> float | None:
    """Return when a token ends; None where nothing was typed."""
    if words is None:
        return None
    expires = parse_time(words, time())
    if expires <= time():
        raise SettingsError(f"{words!r} is over already: a token has to end in the future.")
    return expires


def _link_user(users: Users, args: argparse.Namespace, screen: Screen) -> int:
    issuer = user_settings().oidc.issuer
    if not issuer:
        raise SettingsError("There is no identity provider to link to: set [oidc] in your treadle.toml.")
    users.link_identity(args.name, issuer, args.subject)
    if args.json:
        screen.line(to_terminal_json({"name": args.name, "issuer": issuer, "subject": args.subject}))
    else:
        screen.line(f"{args.name} can sign in with {issuer} from now on.")
    return OK


async def _print_quotas(users: Users, home: Home, args: argparse.Namespace, screen: Screen) -> int:
    quotas = Quotas(user_settings().quotas, home, users.all)
    found = await quotas.usage_of(users.get(args.name))
    if args.json:
        screen.line(to_terminal_json(found))
        return OK
    if not found:
        screen.note(f"{args.name} has no quota. [quotas.NAME] in treadle.toml sets one.")
        return OK
    rows = [
        (
            each.quota,
            each.group or "-",
            each.period,
            _format_use(each.tokens, each.token_limit),
            _format_use(each.cost, each.cost_limit),
        )
        for each in found
    ]
    for line in format_table([("QUOTA", "GROUP", "PERIOD", "TOKENS", "DOLLARS"), *rows], screen.width):
        screen.line(line)
    return OK


def _format_use(used: float, most: float | None) -> str:
    return f"{used:,} of {UNLIMITED if most is None else f'{most:,}'}"


def _change_user(users: Users, args: argparse.Namespace, screen: Screen) -> int:
    before = users.get(args.name)
    after = users.change(args.name, args.role, _allowance_from_args(args, before.allowance), args.group)
    return _print_users([after], args, screen)


def _remove_user(users: Users, home: Path, args: argparse.Namespace, screen: Screen) -> int:
    users.remove(args.name)
    folder = _user_folder(home, args.name)
    if args.json:
        screen.line(to_terminal_json({"name": args.name, "folder": str(folder) if folder.exists() else None}))
    else:
        stays = f" What is theirs stays in {folder}." if folder.exists() else ""
        screen.line(f"{args.name} can't use the server any more: their token and their sessions have ended.{stays}")
    return OK


def _list_users(users: Users, args: argparse.Namespace, screen: Screen) -> int:
    there = users.all()
    if not there and not args.json:
        screen.note("There are no users: the server serves you alone. To add one: treadle users add NAME")
        return OK
    return _print_users(there, args, screen)


def _print_users(people: list[User], args: argparse.Namespace, screen: Screen) -> int:
    if args.json:
        screen.line(to_terminal_json([_to_json(person) for person in people]))
        return OK
    head = ("NAME", "ROLE", "REQUESTS A MINUTE", "RUNS AT ONCE", "TOKENS A DAY", "DOLLARS A DAY")
    for line in format_table([head, *map(_to_row, people)], screen.width):
        screen.line(line)
    return OK


def _to_row(person: User) -> tuple[str, ...]:
    limits = [getattr(person.allowance, name) for name in ALLOWANCES]
    return person.name, person.role, *[UNLIMITED if limit is None else f"{limit:,}" for limit in limits]


def _to_json(person: User) -> dict[str, object]:
    about = {"groups": person.groups, "service": person.service, "expires": person.expires}
    return {"name": person.name, "role": person.role, **asdict(person.allowance), **about}


def _allowance_from_args(args: argparse.Namespace, before: Allowance) -> Allowance:
    """Return the allowance from the arguments; limits that weren't typed stay as they are."""
    typed = {name: getattr(args, name) for name in ALLOWANCES if getattr(args, name) is not None}
    return replace(before, **{name: None if limit == UNLIMITED else limit for name, limit in typed.items()})


def _user_folder(home: Path, name: str) -> Path:
    return home / "users" / name
