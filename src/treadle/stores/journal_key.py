"""The encryption key of a home's secrets: 32 random bytes as Base64, in TREADLE_KEY or in a file of the home.

The file is created when the first secret is written, atomically, readable by its owner only. Encryption is in `encryption`.
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
GENERATE_COMMAND = f"python -c 'import base64, os; print(base64.b64encode(os.urandom({SIZE})).decode())'"


class JournalKey(Struct, frozen=True):
    """A key, and an id that distinguishes it from others without revealing it."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"JournalKey({self.id})"


def load_environment_key() -> JournalKey | None:
    """Return the key in the environment."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    key = _parse_key(text)
    if key is None:
        raise SettingsError(f"{VARIABLE} is no key: it has to be {SIZE} random bytes as Base64. This makes one: {GENERATE_COMMAND}")
    return key


def load_key_file(folder: Path) -> JournalKey | None:
    """Return the key in a home's key file; None where there is no file."""
    path = folder / NAME
    try:
        key = _parse_key(path.read_text("ascii", errors="replace"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} can't be read ({error.strerror}); give yourself the right to.") from error
    if key is None:
        raise SettingsError(f"{path} holds no key; put it back from a backup. Secrets in the journal can't be read without it.")
    return key


def load_or_create_key(folder: Path) -> JournalKey:
    """Return the key in a home's key file, creating it if needed; concurrent processes all get the same key."""
    found = load_key_file(folder)
    if found is None:
        try:
            _create_key_file(folder)
        except OSError as error:
            raise JournalError(
                f"{folder / NAME} can't be written ({error.strerror}), so a secret can't be kept. Make room, or set {VARIABLE}."
            ) from error
        found = load_key_file(folder)
        assert found is not None  # another process created it
    return found


def _create_key_file(folder: Path) -> None:
    """Create the file with all its bytes, and only if there is none."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = folder / f"{NAME}.{os.urandom(4).hex()}.part"
    try:
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(b64encode(os.urandom(SIZE)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        _publish_key_file(fresh, folder)
    finally:
        fresh.unlink(missing_ok=True)


def _publish_key_file(fresh: Path, folder: Path) -> None:
    try:
        os.link(fresh, folder / NAME)
    except FileExistsError:
        return  # another process was quicker
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _parse_key(text: str) -> JournalKey | None:
    try:
        secret = a2b_base64(text.strip(), strict_mode=True)
    except (Error, ValueError):
        return None
    return JournalKey(sha256(secret).hexdigest()[:8], secret) if len(secret) == SIZE else None
