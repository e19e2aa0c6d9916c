"""The tokens and passwords of the platform's users: made by chance at the first start, shown from a file that is its owner's only.

The platform itself keeps hashes; without the file new ones are made.
"""

import os
import secrets
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

import msgspec
from msgspec import Struct

from treadle.assistants.platform.demo.people import add_key, add_user, identify
from treadle.assistants.platform.demo.samples import USERS
from treadle.assistants.platform.demo.values import Asked

LASTS = timedelta(days=90)


class Credential(Struct, frozen=True):
    """How a user gets in."""

    token: str
    password: str


class Credentials(Struct, frozen=True):
    """How everybody gets in. `expired` is a token of the first developer's that is no good any more."""

    users: dict[str, Credential]
    expired: str


def credentials_of(db: Connection, at: datetime, path: Path | None) -> Credentials:
    """Those in the file, if they are still good; else new ones, which are then in the file."""
    kept = _kept(path)
    if kept is not None and all(_is_good(db, at, each.token) for each in kept.users.values()):
        return kept
    made = _made(db, at)
    if path is not None:
        _keep(path, made)
    return made


def _made(db: Connection, at: datetime) -> Credentials:
    users: dict[str, Credential] = {}
    for user in USERS:
        users[user.username] = made = Credential(secrets.token_hex(32), secrets.token_urlsafe(15))
        add_user(db, user, made.password)
        add_key(db, user.username, "demo", made.token, at, at + LASTS)
    expired = secrets.token_hex(32)
    long_ago = at - LASTS - timedelta(days=1)
    add_key(db, "alice", "old-laptop", expired, long_ago, long_ago + LASTS)
    return Credentials(users, expired)


def _is_good(db: Connection, at: datetime, token: str) -> bool:
    asked = Asked("GET", "/", {}, {"authorization": f"Bearer {token}"}, {}, {}, b"", "")
    return identify(db, at, asked) is not None


def _kept(path: Path | None) -> Credentials | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Credentials) if path else None
    except (OSError, msgspec.DecodeError):
        return None


def _keep(path: Path, credentials: Credentials) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(credentials), indent=2) + b"\n")
