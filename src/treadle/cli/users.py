"""`treadle users`: who may use the server, what they may do, and how much. A token is printed once, and never again."""

import argparse
from pathlib import Path

from msgspec.structs import asdict, replace

from treadle.app.home import open_home, users_in
from treadle.cli.codes import FINE
from treadle.cli.numbers import UNLIMITED
from treadle.cli.render import table, to_json
from treadle.cli.screen import Screen
from treadle.stores.people import Allowance, Person
from treadle.stores.users import Users

LIMITS = ("requests", "runs", "tokens", "cost")
KEEP_IT = "This token is shown only now. It is sent as `Authorization: Bearer …`, and signs in at /login."
EARLIER = "There are things of an earlier {name} in {folder}, which this one will see; move them away first if it is somebody else."
FIRST = "A server that runs already has to be started again: it began without users, and lets nobody in but you."


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    screen, kept = Screen(), open_home()
    home, users = kept.folder, users_in(kept)
    match args.action:
        case "add":
            return _add(users, home, args, screen)
        case "change":
            return _change(users, args, screen)
        case "token":
            return _show_token(screen, args, users.renew(args.name), users.get(args.name))
        case "remove":
            return _remove(users, home, args, screen)
        case _:
            return _list(users, args, screen)


def _add(users: Users, home: Path, args: argparse.Namespace, screen: Screen) -> int:
    is_first = not users.all()
    token = users.add(args.name, args.role or "user", _allowance(args, Allowance()))
    folder = _folder(home, args.name)
    if folder.exists():
        screen.tell(EARLIER.format(name=args.name, folder=folder), "yellow")
    if is_first:
        screen.note(FIRST)
    return _show_token(screen, args, token, users.get(args.name))


def _show_token(screen: Screen, args: argparse.Namespace, token: str, person: Person) -> int:
    screen.line(to_json({**_value(person), "token": token}) if args.json else token)
    screen.note(KEEP_IT)
    return FINE


def _change(users: Users, args: argparse.Namespace, screen: Screen) -> int:
    before = users.get(args.name)
    return _show([users.change(args.name, args.role, _allowance(args, before.allowance))], args, screen)


def _remove(users: Users, home: Path, args: argparse.Namespace, screen: Screen) -> int:
    users.remove(args.name)
    folder = _folder(home, args.name)
    if args.json:
        screen.line(to_json({"name": args.name, "folder": str(folder) if folder.exists() else None}))
    else:
        stays = f" What is theirs stays in {folder}." if folder.exists() else ""
        screen.line(f"{args.name} can't use the server any more: their token and their sessions have ended.{stays}")
    return FINE


def _list(users: Users, args: argparse.Namespace, screen: Screen) -> int:
    there = users.all()
    if not there and not args.json:
        screen.note("There are no users: the server serves you alone. To add one: treadle users add NAME")
        return FINE
    return _show(there, args, screen)


def _show(people: list[Person], args: argparse.Namespace, screen: Screen) -> int:
    if args.json:
        screen.line(to_json([_value(person) for person in people]))
        return FINE
    head = ("NAME", "ROLE", "REQUESTS A MINUTE", "RUNS AT ONCE", "TOKENS A DAY", "DOLLARS A DAY")
    for line in table([head, *map(_row, people)], screen.width):
        screen.line(line)
    return FINE


def _row(person: Person) -> tuple[str, ...]:
    limits = [getattr(person.allowance, name) for name in LIMITS]
    return person.name, person.role, *[UNLIMITED if limit is None else f"{limit:,}" for limit in limits]


def _value(person: Person) -> dict[str, object]:
    return {"name": person.name, "role": person.role, **asdict(person.allowance)}


def _allowance(args: argparse.Namespace, before: Allowance) -> Allowance:
    """What was typed; whatever wasn't stays as it is."""
    typed = {name: getattr(args, name) for name in LIMITS if getattr(args, name) is not None}
    return replace(before, **{name: None if limit == UNLIMITED else limit for name, limit in typed.items()})


def _folder(home: Path, name: str) -> Path:
    return home / "users" / name
