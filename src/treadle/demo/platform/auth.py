"""Authentication: API keys, sessions and logins. Secrets are stored as hashes only."""

import hashlib
import secrets
from datetime import datetime, timedelta
from sqlite3 import Connection

import msgspec
from msgspec import Struct

from treadle.demo.platform.clock import format_timestamp
from treadle.demo.platform.http_types import PlatformRequest, PlatformResponse, PlatformUser, RequestContext, json_reply, text_reply
from treadle.demo.platform.store import Row, fetch_number, fetch_row, fetch_rows, insert_row

SESSION_LIFETIME = timedelta(hours=3)
LOCKOUT = timedelta(minutes=15)
MAX_FAILURES = 5


class _LoginBody(Struct, frozen=True):
    username: str = ""
    password: str = ""


def add_user(db: Connection, user: PlatformUser, password: str) -> None:
    """Add a user, or change their password."""
    salt = secrets.token_bytes(16)
    db.execute(
        "INSERT OR REPLACE INTO users (username, team, role, salt, password) VALUES (?, ?, ?, ?, ?)",
        (user.username, user.team, user.role, salt, _hash_password(password, salt)),
    )


def add_key(db: Connection, username: str, name: str, key: str, created_at: datetime, expires_at: datetime) -> None:
    """Add an API key for a user; an existing one of the same name becomes invalid."""
    db.execute("DELETE FROM api_keys WHERE username = ? AND name = ?", (username, name))
    masked = f"{key[:8]}...{key[-4:]}"
    times = {"created_at": format_timestamp(created_at), "expires_at": format_timestamp(expires_at)}
    insert_row(db, "api_keys", {"hash": _hash_token(key), "username": username, "name": name, "masked_key": masked, **times})


def authenticate(db: Connection, at: datetime, asked: PlatformRequest) -> PlatformUser | None:
    """Return the user of the request's session or key: in a cookie, a header, or the query string."""
    kind, _, bearer = asked.headers.get("authorization", "").partition(" ")
    header = bearer.strip() if kind == "Bearer" else ""
    for token in (asked.cookies.get("session_id", ""), header, asked.query.get("token", "")):
        found = _find_token_owner(db, at, token) if token else None
        if found is not None:
            return found
    return None


def login(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Create a session for a name and a password."""
    db, at = visit.db, visit.at
    since = format_timestamp(at - LOCKOUT)
    db.execute("DELETE FROM login_failures WHERE at <= ?", (since,))
    if fetch_number(db, "SELECT count(*) FROM login_failures WHERE address = ?", asked.address) >= MAX_FAILURES:
        return text_reply("Too many login attempts; wait 15 minutes.", 429)
    try:
        given = msgspec.json.decode(asked.body, type=_LoginBody)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text_reply("Invalid JSON", 400)
    if not given.username or not given.password:
        return text_reply("Username and password are required", 400)
    user = _verify_password(db, given.username, given.password)
    if user is None:
        insert_row(db, "login_failures", {"address": asked.address, "at": format_timestamp(at)})
        return text_reply("Invalid username or password", 401)
    db.execute("DELETE FROM login_failures WHERE address = ?", (asked.address,))
    return json_reply(_open_session(db, at, user))


def profile(visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
    """Return the current user."""
    return json_reply(msgspec.to_builtins(visit.who))


def user_info(visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
    """Return the current user with the names of their keys, never the keys themselves."""
    columns = "name, masked_key, created_at, last_used_at, expires_at"
    keys = fetch_rows(visit.db, f"SELECT {columns} FROM api_keys WHERE username = ? ORDER BY name", visit.who.username)  # noqa: S608 - our own
    more = {"is_admin": visit.who.is_admin, "api_keys": keys, "is_impersonating": False}
    return json_reply({**msgspec.to_builtins(visit.who), **more})


def _open_session(db: Connection, at: datetime, user: PlatformUser) -> Row:
    token, expires = secrets.token_urlsafe(32), format_timestamp(at + SESSION_LIFETIME)
    insert_row(db, "sessions", {"hash": _hash_token(token), "username": user.username, "expires_at": expires})
    return {"token": token, **msgspec.to_builtins(user), "expires": expires}


def _find_token_owner(db: Connection, at: datetime, token: str) -> PlatformUser | None:
    """Return the user of a token. A session is extended when used; a key isn't."""
    digest, now = _hash_token(token), format_timestamp(at)
    session = fetch_row(db, "SELECT username FROM sessions WHERE hash = ? AND expires_at > ?", digest, now)
    if session:
        db.execute("UPDATE sessions SET expires_at = ? WHERE hash = ?", (format_timestamp(at + SESSION_LIFETIME), digest))
        return _find_user(db, session["username"])
    key = fetch_row(db, "SELECT username FROM api_keys WHERE hash = ? AND expires_at > ?", digest, now)
    if key is None:
        return None
    db.execute("UPDATE api_keys SET last_used_at = ? WHERE hash = ?", (now, digest))
    return _find_user(db, key["username"])


def _find_user(db: Connection, username: str) -> PlatformUser | None:
    found = fetch_row(db, "SELECT username, team, role FROM users WHERE username = ?", username)
    return PlatformUser(**found) if found else None


def _verify_password(db: Connection, username: str, password: str) -> PlatformUser | None:
    found = fetch_row(db, "SELECT salt, password FROM users WHERE username = ?", username)
    salt, kept = (found["salt"], found["password"]) if found else (b"", b"")
    matches = secrets.compare_digest(_hash_password(password, salt), kept)  # takes as long for a name that isn't known
    return _find_user(db, username) if matches else None


def _hash_password(password: str, salt: bytes) -> bytes:
    """Hash a password cheaply, as passwords here are random and long, and tests start many platforms."""
    return hashlib.scrypt(password.encode(errors="replace"), salt=salt, n=2**10, r=8, p=1)


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
