"""The users of a server: their names, roles and allowances, and the proofs of their tokens and sessions. One SQLite file.

A token is shown once, when it is made; only its SHA-256 is kept. Each look opens the file anew, so that whatever another process
changes counts at once. Looking makes no file.
"""

import os
import re
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from time import time
from typing import TYPE_CHECKING, get_args

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError, TreadleError
from treadle.stores.people import Allowance, Person, Role

if TYPE_CHECKING:
    from sqlite3 import Connection

FILE = "users.db"
LASTS = 30 * 24 * 3600  # seconds that a browser's session lasts
PATIENCE = 10  # seconds to wait for another process that writes
TAKEN = ("local",)  # what assistants call the one person of a server without users
VERSION = 1
SCHEMA = """
CREATE TABLE users (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, allowance BLOB NOT NULL, proof BLOB NOT NULL, added_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
    proof BLOB PRIMARY KEY, name TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE, until REAL NOT NULL
) WITHOUT ROWID;
"""

_NAME = "[a-z0-9][a-z0-9._-]{0,39}"
_BYTES, _LETTERS = 32, 43  # of a secret, and how many letters these make
_TOKEN = re.compile(rf"treadle_({_NAME})_[A-Za-z0-9_-]{{{_LETTERS}}}")
_NOBODY = bytes(sha256().digest_size)  # the proof that a claim is held against where there is no such user


class UsersError(TreadleError):
    """The file of users can't be read or written."""


class Known(Struct, frozen=True):
    """A person, and what proves that somebody is them."""

    person: Person
    proof: bytes


def is_name(name: str) -> bool:
    """Whether somebody may be called so. It is a folder's name too, so that none leads anywhere else."""
    return re.fullmatch(_NAME, name) is not None and ".." not in name


class Users:
    """The users in one file. `same` compares proofs, in a time that doesn't say where they differ."""

    def __init__(
        self, path: Path, *, clock: Callable[[], float] = time, same: Callable[[bytes, bytes], bool] = compare_digest
    ) -> None:
        self.path = path
        self._clock = clock
        self._same = same

    def add(self, name: str, role: Role = "user", allowance: Allowance = Allowance()) -> str:  # noqa: B008 - it is frozen
        """A new user; their token, which nobody can be told again."""
        if not is_name(name):
            raise SettingsError(
                f"{name!r} can't be a user's name: that has up to 40 of a-z, 0-9, '.', '_' and '-',"
                " begins with a letter or digit, and has no '..'."
            )
        if name in TAKEN:
            raise SettingsError(f"{name!r} is what a server without users calls its one person; choose another name.")
        token, row = _token(name), _row(role, allowance)
        with self._writing() as connection:
            if _found(connection, name) is not None:
                raise SettingsError(f"There is a user {name} already; `treadle users token {name}` gives them a new token.")
            connection.execute("INSERT INTO users VALUES (?, ?, ?, ?, ?)", (name, *row, _proof(token), self._clock()))
        return token

    def renew(self, name: str) -> str:
        """A new token. The old one, and all sessions, have ended."""
        token = _token(name)
        with self._writing() as connection:
            _there(connection, name)
            connection.execute("UPDATE users SET proof = ? WHERE name = ?", (_proof(token), name))
            connection.execute("DELETE FROM sessions WHERE name = ?", (name,))
        return token

    def remove(self, name: str) -> None:
        """A user is none any more; their sessions have ended."""
        with self._writing() as connection:
            _there(connection, name)
            connection.execute("DELETE FROM users WHERE name = ?", (name,))

    def change(self, name: str, role: Role | None = None, allowance: Allowance | None = None) -> Person:
        """Another role or allowance, from the next request on; what isn't given stays."""
        with self._writing() as connection:
            before = _there(connection, name)
            after = Person(name, role or before.role, allowance or before.allowance)
            connection.execute(
                "UPDATE users SET role = ?, allowance = ? WHERE name = ?", (*_row(after.role, after.allowance), name)
            )
        return after

    def get(self, name: str) -> Person:
        """The user by this name."""
        with self._reading() as connection:
            return _there(connection, name)

    def all(self) -> list[Person]:
        """All users, by name."""
        with self._reading() as connection:
            rows = connection.execute("SELECT name, role, allowance FROM users ORDER BY name").fetchall() if connection else []
        return [_person(*row) for row in rows]

    def person_of(self, token: str) -> Person | None:
        """Whose token this is. The same work is done whether there is such a user or not."""
        claimed = _TOKEN.fullmatch(token)
        with self._reading() as connection:
            known = _found(connection, claimed[1] if claimed else "")
        fits = self._same(_proof(token), known.proof if known else _NOBODY)
        return known.person if known and fits else None

    def begin_session(self, name: str) -> str:
        """What a browser shows from now on in place of a token, for 30 days."""
        secret, now = token_urlsafe(_BYTES), self._clock()
        with self._writing() as connection:
            _there(connection, name)
            connection.execute("DELETE FROM sessions WHERE until <= ?", (now,))
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_proof(secret), name, now + LASTS))
        return secret

    def person_of_session(self, secret: str) -> Person | None:
        """Whose session this is."""
        query = "SELECT users.name, role, allowance FROM sessions JOIN users USING (name) WHERE sessions.proof = ? AND until > ?"
        with self._reading() as connection:
            row = connection.execute(query, (_proof(secret), self._clock())).fetchone() if connection else None
        return _person(*row) if row else None

    def end_session(self, secret: str) -> None:
        """Nobody is known by it any more."""
        with self._writing() as connection:
            connection.execute("DELETE FROM sessions WHERE proof = ?", (_proof(secret),))

    @contextmanager
    def _reading(self) -> "Generator[Connection | None]":
        """The file as it is now; None where there is none."""
        if not self.path.exists():
            yield None
            return
        with _opened(self.path) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> "Generator[Connection]":
        """The file, for a change that happens wholly or not at all."""
        with _opened(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


@contextmanager
def _opened(path: Path) -> "Generator[Connection]":
    """The file, made with its tables if it isn't there, readable by its owner only. What wasn't committed is undone."""
    import sqlite3

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as connection:
            connection.execute("PRAGMA foreign_keys=ON")
            _prepare(connection, path)
            yield connection
    except (OSError, sqlite3.Error) as error:
        raise UsersError(
            f"The users in {path} can't be read or changed ({error}). Mend that, or restore a backup of it."
        ) from error


def _prepare(connection: "Connection", path: Path) -> None:
    found = _version(connection)
    if found > VERSION:
        raise UsersError(f"{path} was made by a newer Treadle; update Treadle to use it.")
    if found < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        statements = SCHEMA.split(";") if _version(connection) == 0 else ()  # another process may have been quicker
        for statement in (*statements, f"PRAGMA user_version={VERSION}"):
            connection.execute(statement)
        connection.execute("COMMIT")


def _version(connection: "Connection") -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _token(name: str) -> str:
    return f"treadle_{name}_{token_urlsafe(_BYTES)}"


def _proof(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()


def _row(role: Role, allowance: Allowance) -> tuple[str, bytes]:
    if role not in get_args(Role):
        raise SettingsError(f"There is no role {role!r}; there are {', '.join(get_args(Role))}.")
    return role, msgspec.json.encode(allowance)


def _person(name: str, role: Role, allowance: bytes) -> Person:
    return Person(name, role, msgspec.json.decode(allowance, type=Allowance))


def _found(connection: "Connection | None", name: str) -> Known | None:
    query = "SELECT name, role, allowance, proof FROM users WHERE name = ?"
    row = connection.execute(query, (name,)).fetchone() if connection else None
    return Known(_person(*row[:3]), row[3]) if row else None


def _there(connection: "Connection | None", name: str) -> Person:
    known = _found(connection, name)
    if known is None:
        raise SettingsError(f"There is no user {name!r}; `treadle users list` says who there is.")
    return known.person
