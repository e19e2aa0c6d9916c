"""`treadle users`: manage the server's users, their roles and their limits. A token is printed once, and never again."""

import argparse
from pathlib import Path

from msgspec.structs import asdict, replace

from treadle.cli.exit_codes import OK
from treadle.cli.parser import UNLIMITED
from treadle.cli.ui.render import format_table, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.home import open_home, open_users
from treadle.stores.accounts import Allowance, User
from treadle.stores.users import Users

ALLOWANCES = ("requests", "runs", "tokens", "cost")
SHOWN_ONCE_NOTICE = "This token is shown only now. It is sent as `Authorization: Bearer …`, and signs in at /login."
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
            return _print_token(screen, args, users.renew(args.name), users.get(args.name))
        case "remove":
            return _remove_user(users, home, args, screen)
        case _:
            return _list_users(users, args, screen)


def _add_user(users: Users, home: Path, args: argparse.Namespace, screen: Screen) -> int:
    is_first = not users.all()
    token = users.add(args.name, args.role or "user", _allowance_from_args(args, Allowance()))
    folder = _user_folder(home, args.name)
    if folder.exists():
        screen.tell(EARLIER_DATA_NOTICE.format(name=args.name, folder=folder), "yellow")
    if is_first:
        screen.note(RESTART_NOTICE)
    return _print_token(screen, args, token, users.get(args.name))


def _print_token(screen: Screen, args: argparse.Namespace, token: str, person: User) -> int:
    screen.line(to_terminal_json({**_to_json(person), "token": token}) if args.json else token)
    screen.note(SHOWN_ONCE_NOTICE)
    return OK


def _change_user(users: Users, args: argparse.Namespace, screen: Screen) -> int:
    before = users.get(args.name)
    return _print_users([users.change(args.name, args.role, _allowance_from_args(args, before.allowance))], args, screen)


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
    return {"name": person.name, "role": person.role, **asdict(person.allowance)}


def _allowance_from_args(args: argparse.Namespace, before: Allowance) -> Allowance:
    """Return the allowance from the arguments; limits that weren't typed stay as they are."""
    typed = {name: getattr(args, name) for name in ALLOWANCES if getattr(args, name) is not None}
    return replace(before, **{name: None if limit == UNLIMITED else limit for name, limit in typed.items()})


def _user_folder(home: Path, name: str) -> Path:
    return home / "users" / name
