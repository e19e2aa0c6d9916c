"""Tokens and passwords of the demo users: generated at the first start, stored in a file that only its owner can read.

The platform itself stores hashes; without the file new credentials are generated.
"""

import os
import secrets
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

import msgspec
from msgspec import Struct

from treadle.demo.platform.auth import add_key, add_user, authenticate
from treadle.demo.platform.http_types import PlatformRequest
from treadle.demo.platform.sample_data import USERS

TOKEN_LIFETIME = timedelta(days=90)


class DemoCredential(Struct, frozen=True):
    """A user's token and password."""

    token: str
    password: str


class DemoCredentials(Struct, frozen=True):
    """The credentials of all users. `expired` is an expired token of the first developer."""

    users: dict[str, DemoCredential]
    expired: str


def load_credentials(db: Connection, at: datetime, path: Path | None) -> DemoCredentials:
    """Load the credentials from the file if they are still valid; else generate new ones and write them."""
    kept = _read_file(path)
    if kept is not None and all(_is_valid_token(db, at, each.token) for each in kept.users.values()):
        return kept
    made = _create_credentials(db, at)
    if path is not None:
        _write_file(path, made)
    return made


def _create_credentials(db: Connection, at: datetime) -> DemoCredentials:
    users: dict[str, DemoCredential] = {}
    for user in USERS:
        users[user.username] = made = DemoCredential(secrets.token_hex(32), secrets.token_urlsafe(15))
        add_user(db, user, made.password)
        add_key(db, user.username, "demo", made.token, at, at + TOKEN_LIFETIME)
    expired = secrets.token_hex(32)
    long_ago = at - TOKEN_LIFETIME - timedelta(days=1)
    add_key(db, "alice", "old-laptop", expired, long_ago, long_ago + TOKEN_LIFETIME)
    return DemoCredentials(users, expired)


def _is_valid_token(db: Connection, at: datetime, token: str) -> bool:
    asked = PlatformRequest("GET", "/", {}, {"authorization": f"Bearer {token}"}, {}, {}, b"", "")
    return authenticate(db, at, asked) is not None


def _read_file(path: Path | None) -> DemoCredentials | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=DemoCredentials) if path else None
    except (OSError, msgspec.DecodeError):
        return None


def _write_file(path: Path, credentials: DemoCredentials) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(credentials), indent=2) + b"\n")
