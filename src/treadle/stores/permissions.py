"""What a user has allowed for always: `permissions.toml` in their home, which they can read and edit.

Written atomically, readable by its owner only. A file that others can write to isn't used. `guard.grants` has what a grant covers.
"""

import fcntl
import os
import stat
import tomllib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from treadle.core.errors import ApprovalError, SettingsError
from treadle.core.grants import Grant
from treadle.guard.argument_patterns import check_pattern

PERMISSIONS_FILE = "permissions.toml"
_HEADER = """\
# What you have allowed for always: calls like these run without asking.
# `treadle permissions list` shows them, `treadle permissions revoke ID` removes one; so does deleting it here.
"""
_Signature = tuple[int, int, int]


class PermissionFile:
    """The file. It is created with the first grant, and read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: tuple[_Signature, tuple[Grant, ...]] | None = None

    def load(self) -> Sequence[Grant]:
        """Return all grants. Raises `SettingsError` where the file can't be read, or could be another user's."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise SettingsError(f"{self.path} can't be read: {error.strerror}.") from error
        signature = found.st_mtime_ns, found.st_size, found.st_ino
        if self._known is None or self._known[0] != signature:
            self._known = signature, _read(self.path)
        return self._known[1]

    def add(self, grant: Grant) -> None:
        """Add a grant, unless it is there. It is safe on disk when this returns."""
        self._change(lambda grants: grants if any(each.id == grant.id for each in grants) else [*grants, grant])

    def revoke(self, grant_id: str) -> Grant:
        """Remove a grant and return it. The beginning of its id is enough where no other begins so."""
        removed: list[Grant] = []

        def remove(grants: list[Grant]) -> list[Grant]:
            removed[:] = [each for each in grants if grant_id and each.id.startswith(grant_id)]
            if len(removed) != 1:
                what = f"Several grants begin with {grant_id}" if removed else f"There is no grant {grant_id}"
                raise ApprovalError(f"{what}; `treadle permissions list` lists them.")
            return [each for each in grants if each is not removed[0]]

        self._change(remove)
        return removed[0]

    def _change(self, change: Callable[[list[Grant]], list[Grant]]) -> None:
        """Read, change and replace the file; other processes that change it wait."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                before = list(_read(self.path)) if self.path.exists() else []
                after = change(list(before))
                if after != before:
                    self._replace(_HEADER + "".join(map(_format_grant, after)))
        except OSError as error:
            raise SettingsError(f"{self.path} can't be written: {error.strerror}.") from error

    def _replace(self, text: str) -> None:
        fresh = self.path.with_name(f".{self.path.name}.{os.urandom(4).hex()}")
        try:
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
        finally:
            fresh.unlink(missing_ok=True)


def _read(path: Path) -> tuple[Grant, ...]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise SettingsError(f"{path} isn't used: others can write to it. Make it yours alone: chmod 600 {path}")
            tables = tomllib.loads(file.read().decode())
        return tuple([_parse_grant(table) for table in tables.get("grant", [])])
    except OSError as error:
        raise SettingsError(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, TypeError, AttributeError, msgspec.ValidationError, ApprovalError) as error:
        raise SettingsError(f"{path} can't be read: {error}") from error


def _parse_grant(table: dict[str, Any]) -> Grant:
    """Return a grant. A name that isn't known is an error: a `where` that is misspelt must not allow everything."""
    if unknown := [name for name in table if name not in Grant.__struct_fields__]:
        raise ValueError(f"a grant has no {unknown[0]!r}")
    at = table.get("at")
    grant = msgspec.convert({**table, "scope": "always", "at": at.timestamp() if isinstance(at, datetime) else 0.0}, Grant)
    for name, pattern in grant.where.items():
        check_pattern(name, pattern)
    return grant


def _format_grant(grant: Grant) -> str:
    at = datetime.fromtimestamp(round(grant.at), UTC)
    texts = {name: getattr(grant, name) for name in ("id", "tool", "agent", "toolset", "effect", "user", "by", "run_id", "call_id")}
    where = [
        f"{_quote(name)} = {{ kind = {_quote(pattern.kind)}, value = {_quote(pattern.value)} }}"
        for name, pattern in grant.where.items()
    ]
    return "\n".join(
        [
            f"\n# Allowed by {_quote(grant.by)} on {at:%Y-%m-%d at %H:%M} UTC, in run {_quote(grant.run_id)}",
            "[[grant]]",
            *[f"{name} = {_quote(text)}" for name, text in texts.items() if text],
            f"at = {at:%Y-%m-%dT%H:%M:%SZ}",
            *(["[grant.where]", *where] if where else []),
            "",
        ]
    )


def _quote(text: str) -> str:
    """Return a TOML string on one line."""
    plain = text.encode("utf-8", "replace").decode()
    return '"' + "".join([_ESCAPES.get(char) or (char if char.isprintable() else f"\\U{ord(char):08x}") for char in plain]) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\"}
