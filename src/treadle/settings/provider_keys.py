"""Keys of model providers that were added on the settings page: encrypted in the data folder, used by every face.

The file has one encrypted line per provider (`stores.encryption`: AES-256-GCM under TREADLE_KEY, else under `journal.key` beside
it), bound to the provider's name. A variable that holds the provider's key takes precedence.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from time import time

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError

PROVIDER_KEYS_FILE = "provider-keys.json"
MIN_SHOWN = 12  # characters of a key from which on its ending is shown
_ENDING = 4
_inherited: list[Path] = []  # folders whose keys are used too: the demo's home has the user's


class StoredKey(Struct, frozen=True):
    """A stored key: Base64 of it, encrypted, and when it was added, in seconds since 1970."""

    line: str
    at: float


def load_provider_key(kind: str) -> str:
    """Return the stored key of a provider; empty where there is none. Raises `WrongKey` if it can't be decrypted."""
    from treadle.home import cipher_of

    for folder in _folders():
        found = _read(folder).get(kind)
        if found is not None:
            return cipher_of(folder).read(found.line.encode(), _about(kind)).decode()
    return ""


def stored_providers() -> dict[str, float]:
    """Return the providers that have a stored key, and when each was added. Nothing is decrypted."""
    return {kind: found.at for folder in reversed(_folders()) for kind, found in _read(folder).items()}


def key_ending(key: str) -> str:
    """Return the last characters of a key, to tell it from others; none of a short one."""
    return key[-_ENDING:] if len(key) >= MIN_SHOWN else ""


def store_provider_key(kind: str, key: str) -> None:
    """Store the key of a provider, in place of the one before. It is safe on disk when this returns."""
    from treadle.home import cipher_of

    folder = _folders()[0]
    line = cipher_of(folder).encrypt(key.encode(), _about(kind)).decode()
    _change(folder, lambda keys: {**keys, kind: StoredKey(line, time())})


def remove_provider_key(kind: str) -> None:
    """Remove the stored key of a provider, if there is one."""
    _change(_folders()[0], lambda keys: {each: found for each, found in keys.items() if each != kind})


def inherit_provider_keys(folder: Path) -> None:
    """Use the keys of another data folder too, where this process' own has none."""
    _inherited[:] = [folder]


def provider_keys_stamp() -> tuple[int, ...]:
    """Return what changes when a stored key does."""
    return tuple([_mtime(folder / PROVIDER_KEYS_FILE) for folder in _folders()])


def _folders() -> list[Path]:
    from treadle.home import home_folder

    own = home_folder()
    return [own, *[folder for folder in _inherited if folder != own]]


def _about(kind: str) -> str:
    return f"the key of {kind}"


def _mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _read(folder: Path) -> dict[str, StoredKey]:
    path = folder / PROVIDER_KEYS_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, StoredKey])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{path} can't be read: {error.strerror}.") from error
    except msgspec.DecodeError as error:
        raise SettingsError(f"{path} can't be read: {error}. Remove it, and add the keys again.") from error


def _change(folder: Path, change: Callable[[dict[str, StoredKey]], dict[str, StoredKey]]) -> None:
    """Read, change and replace the file; other processes that change it wait."""
    path = folder / PROVIDER_KEYS_FILE
    fresh = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            after = change(_read(folder))
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(after)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
    except OSError as error:
        raise SettingsError(f"{path} can't be written: {error.strerror}.") from error
    finally:
        fresh.unlink(missing_ok=True)
