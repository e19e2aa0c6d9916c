"""Access for the account that runs a server without users: one token in a file of its home, and the sessions of its browsers.

The token file is readable by its owner only; programs of the same account send its content. Sessions outlast a restart of
the server; a token file that is removed is created again at the next start, and all sessions have ended then.
"""

import os
import stat
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe

from treadle.core.errors import SettingsError
from treadle.stores.accounts import LOCAL_OWNER, Allowance, User
from treadle.stores.users import Users

TOKEN_FILE = "server.token"  # noqa: S105 - its name
SESSIONS_FILE = "server.db"
_ACCOUNT = "owner"  # the one row in the file of sessions
_LONGEST = 200  # characters of a token


class OwnerAccess:
    """Authenticates the owner of a home. Nothing is created before `open`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / TOKEN_FILE
        self.token = ""
        self._sessions = Users(folder / SESSIONS_FILE)

    def open(self) -> None:
        """Read the token, or create one; a new token ends all sessions."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_known, is_new = bool(self._sessions.all()), self._create()
        if is_known and is_new:
            self._sessions.remove(_ACCOUNT)
        self.token = _read_token(self.path)
        if is_new or not is_known:
            self._sessions.add(_ACCOUNT, "admin", Allowance(requests=None, runs=None))

    def _create(self) -> bool:
        """Write a new token if there is no file; return whether there was none."""
        part = self.path.with_name(f"{TOKEN_FILE}.{token_urlsafe(8)}.part")
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, f"treadle_{_ACCOUNT}_{token_urlsafe(32)}\n".encode())
            os.close(descriptor)
            os.link(part, self.path)  # whole or not at all, and only where no other process was quicker
        except FileExistsError:
            return False
        finally:
            part.unlink()
        return True

    def person_of(self, token: str) -> User | None:
        """Return the owner if this is their token."""
        return LOCAL_OWNER if self.token and compare_digest(_hash(token), _hash(self.token)) else None

    def person_of_session(self, secret: str) -> User | None:
        """Return the owner if this is a session of theirs that hasn't ended."""
        return LOCAL_OWNER if self._sessions.person_of_session(secret) is not None else None

    def begin_session(self, name: str) -> str:
        """Return the secret of a new session; `name` is ignored, since the owner has none."""
        return self._sessions.begin_session(_ACCOUNT)

    def end_session(self, secret: str) -> None:
        """End a session."""
        self._sessions.end_session(secret)


def _hash(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()


def _read_token(path: Path) -> str:
    """Return the token in a file. Raises if other accounts could have read or written it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        status = os.fstat(file.fileno())
        token = file.read(_LONGEST).strip() if stat.S_ISREG(status.st_mode) else ""
    is_private = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
    if not is_private or not token.startswith(f"treadle_{_ACCOUNT}_") or len(token) < 40:
        raise SettingsError(
            f"{path} isn't a token that only you can read. Remove it; the next start of the server makes a new one."
        )
    return token
