"""The users of a server: their names, roles and allowances, and the proofs of their tokens and sessions.

A token is shown once, when it is made; only its SHA-256 is kept. They are in a SQLite file of their own or, where homes are in
PostgreSQL, in the schema of the owner. Whatever another process changes counts at once. Looking makes no file.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from time import time
from typing import Protocol, get_args

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.stores.database import Connection
from treadle.stores.people import Allowance, Person, Role
from treadle.stores.users_file import UsersFile

FILE = "users.db"
LASTS = 30 * 24 * 3600  # seconds that a browser's session lasts
SESSIONS = 20  # of one person at most
TAKEN = ("local",)  # what assistants call the one person of a server without users
_NAME = "[a-z0-9][a-z0-9._-]{0,39}"
_BYTES, _LETTERS = 32, 43  # of a secret, and how many letters these make
_TOKEN = re.compile(rf"treadle_({_NAME})_[A-Za-z0-9_-]{{{_LETTERS}}}")
_NEWEST = "SELECT proof FROM sessions WHERE name = ? ORDER BY until DESC LIMIT ?"
_OLDEST = f"DELETE FROM sessions WHERE name = ? AND proof NOT IN ({_NEWEST})"  # noqa: S608 - our own words
_NOBODY = bytes(sha256().digest_size)  # the proof that a claim is held against where there is no such user


class Place(Protocol):
    """Where users are kept."""

    def reading(self) -> "AbstractContextManager[Connection | None]":
        """What is there now; None where there is nothing."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """For a change that happens wholly or not at all, and beside no other."""
        ...


class Known(Struct, frozen=True):
    """A person, and what proves that somebody is them."""

    person: Person
    proof: bytes


def is_name(name: str) -> bool:
    """Whether somebody may be called so. It is a folder's name too, so that none leads anywhere else."""
    return re.fullmatch(_NAME, name) is not None and ".." not in name


class Users:
    """The users in one file or other place. `same` compares proofs, in a time that doesn't say where they differ."""

    def __init__(
        self, place: Path | Place, *, clock: Callable[[], float] = time, same: Callable[[bytes, bytes], bool] = compare_digest
    ) -> None:
        self.path = place if isinstance(place, Path) else None
        self._place: Place = UsersFile(place) if isinstance(place, Path) else place
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
        with self._place.writing() as connection:
            if _found(connection, name) is not None:
                raise SettingsError(f"There is a user {name} already; `treadle users token {name}` gives them a new token.")
            connection.execute("INSERT INTO users VALUES (?, ?, ?, ?, ?)", (name, *row, _proof(token), self._clock()))
        return token

    def renew(self, name: str) -> str:
        """A new token. The old one, and all sessions, have ended."""
        token = _token(name)
        with self._place.writing() as connection:
            _there(connection, name)
            connection.execute("UPDATE users SET proof = ? WHERE name = ?", (_proof(token), name))
            connection.execute("DELETE FROM sessions WHERE name = ?", (name,))
        return token

    def remove(self, name: str) -> None:
        """A user is none any more; their sessions have ended."""
        with self._place.writing() as connection:
            _there(connection, name)
            connection.execute("DELETE FROM users WHERE name = ?", (name,))

    def change(self, name: str, role: Role | None = None, allowance: Allowance | None = None) -> Person:
        """Another role or allowance, from the next request on; what isn't given stays."""
        with self._place.writing() as connection:
            before = _there(connection, name)
            after = Person(name, role or before.role, allowance or before.allowance)
            connection.execute(
                "UPDATE users SET role = ?, allowance = ? WHERE name = ?", (*_row(after.role, after.allowance), name)
            )
        return after

    def get(self, name: str) -> Person:
        """The user by this name."""
        with self._place.reading() as connection:
            return _there(connection, name)

    def all(self) -> list[Person]:
        """All users, by name."""
        with self._place.reading() as connection:
            rows = connection.execute("SELECT name, role, allowance FROM users ORDER BY name").fetchall() if connection else []
        return [_person(*row) for row in rows]

    def person_of(self, token: str) -> Person | None:
        """Whose token this is. The same work is done whether there is such a user or not."""
        claimed = _TOKEN.fullmatch(token)
        with self._place.reading() as connection:
            known = _found(connection, claimed[1] if claimed else "")
        fits = self._same(_proof(token), known.proof if known else _NOBODY)
        return known.person if known and fits else None

    def begin_session(self, name: str) -> str:
        """What a browser shows from now on in place of a token, for 30 days. The oldest end where there would be too many."""
        secret, now = token_urlsafe(_BYTES), self._clock()
        with self._place.writing() as connection:
            _there(connection, name)
            connection.execute("DELETE FROM sessions WHERE until <= ?", (now,))
            connection.execute(_OLDEST, (name, name, SESSIONS - 1))
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_proof(secret), name, now + LASTS))
        return secret

    def person_of_session(self, secret: str) -> Person | None:
        """Whose session this is."""
        query = "SELECT users.name, role, allowance FROM sessions JOIN users USING (name) WHERE sessions.proof = ? AND until > ?"
        with self._place.reading() as connection:
            row = connection.execute(query, (_proof(secret), self._clock())).fetchone() if connection else None
        return _person(*row) if row else None

    def end_session(self, secret: str) -> None:
        """Nobody is known by it any more."""
        with self._place.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE proof = ?", (_proof(secret),))


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


def _found(connection: Connection | None, name: str) -> Known | None:
    query = "SELECT name, role, allowance, proof FROM users WHERE name = ?"
    row = connection.execute(query, (name,)).fetchone() if connection else None
    return Known(_person(*row[:3]), row[3]) if row else None


def _there(connection: Connection | None, name: str) -> Person:
    known = _found(connection, name)
    if known is None:
        raise SettingsError(f"There is no user {name!r}; `treadle users list` says who there is.")
    return known.person
