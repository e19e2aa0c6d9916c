"""The key that secrets in a home are encrypted under: 32 random bytes as Base64, in TREADLE_KEY or in a file of the home.

The file is made when the first secret is written, whole or not at all, readable by its owner only. Encrypting is `encryption`.
"""

import os
from base64 import b64encode
from binascii import Error, a2b_base64
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from treadle.core.errors import JournalError, SettingsError

NAME = "journal.key"
VARIABLE = "TREADLE_KEY"
SIZE = 32  # bytes
HOW = f"python -c 'import base64, os; print(base64.b64encode(os.urandom({SIZE})).decode())'"


class JournalKey(Struct, frozen=True):
    """A key, and what tells it from others without giving it away."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"JournalKey({self.id})"


def settled_key() -> JournalKey | None:
    """The key in the environment."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    key = _read(text)
    if key is None:
        raise SettingsError(f"{VARIABLE} is no key: it has to be {SIZE} random bytes as Base64. This makes one: {HOW}")
    return key


def kept_key(folder: Path) -> JournalKey | None:
    """The key in the file of a home; None where there is no file."""
    path = folder / NAME
    try:
        key = _read(path.read_text("ascii", errors="replace"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} can't be read ({error.strerror}); give yourself the right to.") from error
    if key is None:
        raise SettingsError(f"{path} holds no key; put it back from a backup. Secrets in the journal can't be read without it.")
    return key


def made_key(folder: Path) -> JournalKey:
    """The key in the file of a home, which is made where there is none; whoever else makes it, all get the same."""
    found = kept_key(folder)
    if found is None:
        try:
            _make(folder)
        except OSError as error:
            raise JournalError(
                f"{folder / NAME} can't be written ({error.strerror}), so a secret can't be kept. Make room, or set {VARIABLE}."
            ) from error
        found = kept_key(folder)
        assert found is not None  # somebody made it
    return found


def _make(folder: Path) -> None:
    """The file appears with all its bytes, and only if there is none."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = folder / f"{NAME}.{os.urandom(4).hex()}.part"
    try:
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(b64encode(os.urandom(SIZE)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        _place(fresh, folder)
    finally:
        fresh.unlink(missing_ok=True)


def _place(fresh: Path, folder: Path) -> None:
    try:
        os.link(fresh, folder / NAME)
    except FileExistsError:
        return  # another process was quicker
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _read(text: str) -> JournalKey | None:
    try:
        secret = a2b_base64(text.strip(), strict_mode=True)
    except (Error, ValueError):
        return None
    return JournalKey(sha256(secret).hexdigest()[:8], secret) if len(secret) == SIZE else None
