"""The users of a server: names, roles, allowances, and the hashes of their tokens and sessions.

A token is shown once, when it is created; only its SHA-256 is stored. Users are in a SQLite file of their own or, where homes
are in PostgreSQL, in the schema of the owner. Changes by another process take effect at once. Reading creates no file.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_bytes, token_urlsafe
from time import time
from typing import Protocol, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.stores.accounts import Allowance, Role, User
from treadle.stores.database import Connection
from treadle.stores.sqlite_users import SqliteUserStore

USERS_FILE = "users.db"
SESSION_SECONDS = 30 * 24 * 3600  # seconds that a browser's session lasts
MAX_SESSIONS = 20  # of one person at most
RESERVED_NAMES = ("local",)  # what assistants call the one person of a server without users
_NAME = "[a-z0-9][a-z0-9._-]{0,39}"
_BYTES, _LETTERS = 32, 43  # of a secret, and how many letters these make
_TOKEN = re.compile(rf"treadle_({_NAME})_[A-Za-z0-9_-]{{{_LETTERS}}}")
_NEWEST = "SELECT proof FROM sessions WHERE name = ? ORDER BY until DESC LIMIT ?"
_OLDEST = f"DELETE FROM sessions WHERE name = ? AND proof NOT IN ({_NEWEST})"  # noqa: S608 - our own words
_COLUMNS = "name, role, allowance, proof, added_at, groups, service, expires"
_SELECT = "SELECT name, role, allowance, groups, service, expires, proof FROM users"
_NO_PROOF = bytes(sha256().digest_size)  # the proof that a claim is held against where there is no such user


class UserStore(Protocol):
    """Storage of users."""

    def reading(self) -> "AbstractContextManager[Connection | None]":
        """Return a connection to the current state; None where nothing is stored."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """Return a connection for one atomic change, exclusive of all others."""
        ...


class StoredUser(Struct, frozen=True):
    """A stored user and the hash of their token."""

    person: User
    proof: bytes


class Share(Struct, frozen=True):
    """A user, or a group, who may read a run or an assistant's item, or also change the item."""

    grantee: str
    is_group: bool = False
    can_edit: bool = False


class SharedItem(Struct, frozen=True):
    """An item of an assistant, such as a project, that its owner shares with a user."""

    owner: str
    item: str
    can_edit: bool = False


class OwnShare(Struct, frozen=True):
    """An item of an assistant that a user shares, and with whom."""

    assistant: str
    item: str
    share: Share


def is_user_name(name: str) -> bool:
    """Return whether a user may have this name. It is a folder's name too, so no valid name leads anywhere else."""
    return re.fullmatch(_NAME, name) is not None and ".." not in name


class Users:
    """The users in one store. `same` compares hashes in constant time."""

    def __init__(
        self, place: Path | UserStore, *, clock: Callable[[], float] = time, same: Callable[[bytes, bytes], bool] = compare_digest
    ) -> None:
        self.path = place if isinstance(place, Path) else None
        self._place: UserStore = SqliteUserStore(place) if isinstance(place, Path) else place
        self._clock = clock
        self._same = same

    def add(
        self,
        name: str,
        role: Role = "user",
        allowance: Allowance = Allowance(),  # noqa: B008 - it is frozen
        *,
        groups: Sequence[str] = (),
        service: bool = False,
        expires: float | None = None,
    ) -> str:
        """Add a user; return their token, which can't be shown again."""
        if not is_user_name(name):
            raise SettingsError(
                f"{name!r} can't be a user's name: that has up to 40 of a-z, 0-9, '.', '_' and '-',"
                " begins with a letter or digit, and has no '..'."
            )
        if name in RESERVED_NAMES:
            raise SettingsError(f"{name!r} is what a server without users calls its one person; choose another name.")
        token, row = _new_token(name), _to_row(role, allowance)
        with self._place.writing() as connection:
            if _find_user(connection, name) is not None:
                raise SettingsError(f"There is a user {name} already; `treadle users token {name}` gives them a new token.")
            values = (name, *row, _hash_secret(token), self._clock(), _encode_groups(groups), int(service), expires)
            connection.execute(f"INSERT INTO users ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)  # noqa: S608 - our own words
        return token

    def renew(self, name: str, expires: float | None = None) -> str:
        """Return a new token, valid until a time. The old one, and all sessions, have ended."""
        token = _new_token(name)
        with self._place.writing() as connection:
            if expires is None and _get_user(connection, name).expires is not None:
                raise SettingsError(f"The token of {name} ends at a time: say when the new one ends, as with --expires 90d.")
            connection.execute("UPDATE users SET proof = ?, expires = ? WHERE name = ?", (_hash_secret(token), expires, name))
            connection.execute("DELETE FROM sessions WHERE name = ?", (name,))
        return token

    def remove(self, name: str) -> None:
        """Remove a user and end their sessions."""
        with self._place.writing() as connection:
            _get_user(connection, name)
            for table in ("shares", "item_shares"):  # another may get the name later
                connection.execute(f"DELETE FROM {table} WHERE is_group = 0 AND grantee = ?", (name,))  # noqa: S608 - our own words
            connection.execute("DELETE FROM users WHERE name = ?", (name,))

    def change(
        self, name: str, role: Role | None = None, allowance: Allowance | None = None, groups: Sequence[str] | None = None
    ) -> User:
        """Change role, allowance or groups, from the next request on; None leaves a value as it is."""
        with self._place.writing() as connection:
            before = _get_user(connection, name)
            after = replace(
                before,
                role=role or before.role,
                allowance=allowance or before.allowance,
                groups=before.groups if groups is None else tuple(sorted(set(groups))),
            )
            row = (*_to_row(after.role, after.allowance), _encode_groups(after.groups), name)
            connection.execute("UPDATE users SET role = ?, allowance = ?, groups = ? WHERE name = ?", row)
        return after

    def get(self, name: str) -> User:
        """Return the user with this name."""
        with self._place.reading() as connection:
            return _get_user(connection, name)

    def all(self) -> list[User]:
        """Return all users, by name."""
        with self._place.reading() as connection:
            rows = connection.execute(f"{_SELECT} ORDER BY name").fetchall() if connection else []
        return [_from_row(*row) for row in rows]

    def person_of(self, token: str) -> User | None:
        """Return the user of a token. Takes the same time whether there is such a user or not."""
        claimed = _TOKEN.fullmatch(token)
        with self._place.reading() as connection:
            known = _find_user(connection, claimed[1] if claimed else "")
        fits = self._same(_hash_secret(token), known.proof if known else _NO_PROOF)
        return known.person if known and fits and self._is_current(known.person) else None

    def _is_current(self, person: User) -> bool:
        return person.expires is None or self._clock() < person.expires

    def begin_session(self, name: str, seconds: float = SESSION_SECONDS) -> str:
        """Return the secret of a new browser session, valid for 30 days. The oldest sessions end where there would be too many."""
        secret, now = token_urlsafe(_BYTES), self._clock()
        with self._place.writing() as connection:
            if _get_user(connection, name).service:
                raise SettingsError(f"{name} is a service account: it sends its token with each request, and has no sessions.")
            connection.execute("DELETE FROM sessions WHERE until <= ?", (now,))
            connection.execute(_OLDEST, (name, name, MAX_SESSIONS - 1))
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash_secret(secret), name, now + seconds))
        return secret

    def person_of_session(self, secret: str) -> User | None:
        """Return the user of a session."""
        query = f"{_SELECT} WHERE name = (SELECT name FROM sessions WHERE proof = ? AND until > ?)"  # noqa: S608 - our own words
        with self._place.reading() as connection:
            row = connection.execute(query, (_hash_secret(secret), self._clock())).fetchone() if connection else None
        person = _from_row(*row) if row else None
        return person if person and self._is_current(person) else None

    def end_session(self, secret: str) -> None:
        """End a session."""
        with self._place.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE proof = ?", (_hash_secret(secret),))

    def person_of_identity(self, issuer: str, subject: str) -> User | None:
        """Return the user that an identity provider's subject is linked to."""
        query = f"{_SELECT} WHERE name = (SELECT name FROM identities WHERE issuer = ? AND subject = ?)"  # noqa: S608 - our own words
        with self._place.reading() as connection:
            row = connection.execute(query, (issuer, subject)).fetchone() if connection else None
        return _from_row(*row) if row else None

    def link_identity(self, name: str, issuer: str, subject: str) -> None:
        """Link an identity provider's subject to a user, who signs in with it from now on. Raises where it is another user's."""
        with self._place.writing() as connection:
            _get_user(connection, name)
            query = "SELECT name FROM identities WHERE issuer = ? AND subject = ?"
            there = connection.execute(query, (issuer, subject)).fetchone()
            if there is not None and there[0] != name:
                raise SettingsError(f"This subject is linked to the user {there[0]} already.")
            connection.execute("INSERT INTO identities VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (issuer, subject, name))

    def set_shares(self, owner: str, run_id: str, shares: Sequence[Share]) -> None:
        """Set who may read a run of a user; all others can't any more."""
        with self._place.writing() as connection:
            _get_user(connection, owner)
            connection.execute("DELETE FROM shares WHERE owner = ? AND run_id = ?", (owner, run_id))
            for each in dict.fromkeys(shares):
                connection.execute("INSERT INTO shares VALUES (?, ?, ?, ?)", (owner, run_id, int(each.is_group), each.grantee))

    def shares_of(self, owner: str, run_id: str) -> list[Share]:
        """Return who may read a run of a user."""
        query = "SELECT grantee, is_group FROM shares WHERE owner = ? AND run_id = ? ORDER BY is_group, grantee"
        with self._place.reading() as connection:
            rows = connection.execute(query, (owner, run_id)).fetchall() if connection else []
        return [Share(grantee, bool(is_group)) for grantee, is_group in rows]

    def shared_with(self, person: User) -> list[tuple[str, str]]:
        """Return the runs of other users that a user may read: owner and id of each."""
        groups = ",".join("?" * len(person.groups))
        query = (
            "SELECT DISTINCT owner, run_id FROM shares WHERE owner <> ? AND ((is_group = 0 AND grantee = ?)"  # noqa: S608 - marks only
            f" OR (is_group = 1 AND grantee IN ({groups or 'NULL'}))) ORDER BY owner, run_id"
        )
        with self._place.reading() as connection:
            rows = connection.execute(query, (person.name, person.name, *person.groups)).fetchall() if connection else []
        return [(owner, run_id) for owner, run_id in rows]

    def set_item_shares(self, owner: str, assistant: str, item: str, shares: Sequence[Share]) -> None:
        """Set who may read or change an item of a user's; all others can't any more."""
        with self._place.writing() as connection:
            _get_user(connection, owner)
            connection.execute("DELETE FROM item_shares WHERE owner = ? AND assistant = ? AND item = ?", (owner, assistant, item))
            for (grantee, is_group), can_edit in {(each.grantee, each.is_group): each.can_edit for each in shares}.items():
                row = (owner, assistant, item, int(is_group), grantee, int(can_edit))
                connection.execute("INSERT INTO item_shares VALUES (?, ?, ?, ?, ?, ?)", row)

    def item_shares_of(self, owner: str) -> list[OwnShare]:
        """Return what a user shares of assistants' items."""
        query = (
            "SELECT assistant, item, grantee, is_group, can_edit FROM item_shares WHERE owner = ?"
            " ORDER BY assistant, item, is_group, grantee"
        )
        with self._place.reading() as connection:
            rows = connection.execute(query, (owner,)).fetchall() if connection else []
        return [OwnShare(assistant, item, Share(name, bool(group), bool(edit))) for assistant, item, name, group, edit in rows]

    def items_shared_with(self, name: str, assistant: str) -> list[SharedItem]:
        """Return the items of other users that a user may read, by their present groups."""
        with self._place.reading() as connection:
            known = _find_user(connection, name)
            if connection is None or known is None:
                return []
            groups = known.person.groups
            query = (
                "SELECT owner, item, MAX(can_edit) FROM item_shares WHERE assistant = ? AND owner <> ? AND ("  # noqa: S608 - marks only
                f"(is_group = 0 AND grantee = ?) OR (is_group = 1 AND grantee IN ({','.join('?' * len(groups)) or 'NULL'})))"
                " GROUP BY owner, item ORDER BY owner, item"
            )
            rows = connection.execute(query, (assistant, name, name, *groups)).fetchall()
        return [SharedItem(owner, item, bool(can_edit)) for owner, item, can_edit in rows]

    def key(self, name: str) -> bytes:
        """Return a secret key that all servers with these users share; it is created at the first use."""
        with self._place.writing() as connection:
            connection.execute("INSERT INTO server_keys VALUES (?, ?) ON CONFLICT DO NOTHING", (name, token_bytes(_BYTES)))
            return bytes(connection.execute("SELECT secret FROM server_keys WHERE name = ?", (name,)).fetchone()[0])


def _new_token(name: str) -> str:
    return f"treadle_{name}_{token_urlsafe(_BYTES)}"


def _hash_secret(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()


def _to_row(role: Role, allowance: Allowance) -> tuple[str, bytes]:
    if role not in get_args(Role):
        raise SettingsError(f"There is no role {role!r}; there are {', '.join(get_args(Role))}.")
    return role, msgspec.json.encode(allowance)


def _encode_groups(groups: Sequence[str]) -> bytes:
    return msgspec.json.encode(sorted(set(groups)))


def _from_row(name: str, role: Role, allowance: bytes, groups: bytes, service: int, expires: float | None, _proof: bytes) -> User:
    limits = msgspec.json.decode(allowance, type=Allowance)
    return User(name, role, limits, msgspec.json.decode(groups, type=tuple[str, ...]), bool(service), expires)


def _find_user(connection: Connection | None, name: str) -> StoredUser | None:
    row = connection.execute(f"{_SELECT} WHERE name = ?", (name,)).fetchone() if connection else None
    return StoredUser(_from_row(*row), row[-1]) if row else None


def _get_user(connection: Connection | None, name: str) -> User:
    known = _find_user(connection, name)
    if known is None:
        raise SettingsError(f"There is no user {name!r}; `treadle users list` says who there is.")
    return known.person
