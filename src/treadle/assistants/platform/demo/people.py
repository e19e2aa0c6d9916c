"""Who is asking: API keys, sessions and logins. Secrets are kept as hashes only."""

import hashlib
import secrets
from datetime import datetime, timedelta
from sqlite3 import Connection

import msgspec
from msgspec import Struct

from treadle.assistants.platform.demo.clock import stamp
from treadle.assistants.platform.demo.store import Row, insert, number, row, rows
from treadle.assistants.platform.demo.values import Answer, Asked, User, Visit, plainly, said

SESSION = timedelta(hours=3)
LOCKED = timedelta(minutes=15)
MOST_FAILURES = 5


class _Login(Struct, frozen=True):
    username: str = ""
    password: str = ""


def add_user(db: Connection, user: User, password: str) -> None:
    """Add somebody, or give them another password."""
    salt = secrets.token_bytes(16)
    db.execute(
        "INSERT OR REPLACE INTO users (username, team, role, salt, password) VALUES (?, ?, ?, ?, ?)",
        (user.username, user.team, user.role, salt, _hashed(password, salt)),
    )


def add_key(db: Connection, username: str, name: str, key: str, created_at: datetime, expires_at: datetime) -> None:
    """Let a user in by a key; one that had the same name is no good from now on."""
    db.execute("DELETE FROM api_keys WHERE username = ? AND name = ?", (username, name))
    masked = f"{key[:8]}...{key[-4:]}"
    times = {"created_at": stamp(created_at), "expires_at": stamp(expires_at)}
    insert(db, "api_keys", {"hash": _digest(key), "username": username, "name": name, "masked_key": masked, **times})


def identify(db: Connection, at: datetime, asked: Asked) -> User | None:
    """Whoever's session or key is with a request: in a cookie, a header, or the address."""
    kind, _, bearer = asked.headers.get("authorization", "").partition(" ")
    header = bearer.strip() if kind == "Bearer" else ""
    for token in (asked.cookies.get("session_id", ""), header, asked.query.get("token", "")):
        found = _owner(db, at, token) if token else None
        if found is not None:
            return found
    return None


def login(visit: Visit, asked: Asked) -> Answer:
    """A session for a name and a password."""
    db, at = visit.db, visit.at
    since = stamp(at - LOCKED)
    db.execute("DELETE FROM login_failures WHERE at <= ?", (since,))
    if number(db, "SELECT count(*) FROM login_failures WHERE address = ?", asked.address) >= MOST_FAILURES:
        return plainly("Too many login attempts; wait 15 minutes.", 429)
    try:
        given = msgspec.json.decode(asked.body, type=_Login)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return plainly("Invalid JSON", 400)
    if not given.username or not given.password:
        return plainly("Username and password are required", 400)
    user = _user(db, given.username, given.password)
    if user is None:
        insert(db, "login_failures", {"address": asked.address, "at": stamp(at)})
        return plainly("Invalid username or password", 401)
    db.execute("DELETE FROM login_failures WHERE address = ?", (asked.address,))
    return said(_opened(db, at, user))


def profile(visit: Visit, _: Asked) -> Answer:
    """Who somebody is."""
    return said(msgspec.to_builtins(visit.who))


def user_info(visit: Visit, _: Asked) -> Answer:
    """Who somebody is, with the keys they have; never the keys themselves."""
    columns = "name, masked_key, created_at, last_used_at, expires_at"
    keys = rows(visit.db, f"SELECT {columns} FROM api_keys WHERE username = ? ORDER BY name", visit.who.username)  # noqa: S608 - our own
    more = {"is_admin": visit.who.is_admin, "api_keys": keys, "is_impersonating": False}
    return said({**msgspec.to_builtins(visit.who), **more})


def _opened(db: Connection, at: datetime, user: User) -> Row:
    token, expires = secrets.token_urlsafe(32), stamp(at + SESSION)
    insert(db, "sessions", {"hash": _digest(token), "username": user.username, "expires_at": expires})
    return {"token": token, **msgspec.to_builtins(user), "expires": expires}


def _owner(db: Connection, at: datetime, token: str) -> User | None:
    """Whose token it is. A session that is used lasts as long again; a key doesn't."""
    digest, now = _digest(token), stamp(at)
    session = row(db, "SELECT username FROM sessions WHERE hash = ? AND expires_at > ?", digest, now)
    if session:
        db.execute("UPDATE sessions SET expires_at = ? WHERE hash = ?", (stamp(at + SESSION), digest))
        return _known(db, session["username"])
    key = row(db, "SELECT username FROM api_keys WHERE hash = ? AND expires_at > ?", digest, now)
    if key is None:
        return None
    db.execute("UPDATE api_keys SET last_used_at = ? WHERE hash = ?", (now, digest))
    return _known(db, key["username"])


def _known(db: Connection, username: str) -> User | None:
    found = row(db, "SELECT username, team, role FROM users WHERE username = ?", username)
    return User(**found) if found else None


def _user(db: Connection, username: str, password: str) -> User | None:
    found = row(db, "SELECT salt, password FROM users WHERE username = ?", username)
    salt, kept = (found["salt"], found["password"]) if found else (b"", b"")
    matches = secrets.compare_digest(_hashed(password, salt), kept)  # takes as long for a name that isn't known
    return _known(db, username) if matches else None


def _hashed(password: str, salt: bytes) -> bytes:
    """Cheap, as passwords here are made by chance and long, and tests start many platforms."""
    return hashlib.scrypt(password.encode(errors="replace"), salt=salt, n=2**10, r=8, p=1)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
