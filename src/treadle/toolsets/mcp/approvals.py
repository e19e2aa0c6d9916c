"""Approved tool descriptions, in a small JSON file: a server's first listing is accepted, later changes wait for approval.

A description guides the model, so one that changes after a user has reviewed it is held back until they have reviewed it
again: `changes` shows old and new, `approve` accepts the new. Whether tools may run is decided by the policy, not here.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.toolsets.mcp.offers import AdvertisedTool

VERSION = 1


class DescriptionChange(Struct, frozen=True):
    """A tool that waits for approval: as it was approved (None: never), and as the server describes it now."""

    name: str
    before: AdvertisedTool | None
    after: AdvertisedTool


class _ServerRecord(Struct):
    """The record of one server: tools as approved, and changed ones that wait."""

    approved: dict[str, AdvertisedTool] = {}
    waiting: dict[str, AdvertisedTool] = {}


class _ApprovalFile(Struct):
    version: int = VERSION
    servers: dict[str, _ServerRecord] = {}


class ApprovalStore:
    """The file. It may be shared by processes; each reads it again before it writes."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).expanduser()

    def review(self, server: str, told: Sequence[AdvertisedTool]) -> list[AdvertisedTool]:
        """Return the descriptions that a model may see: each as it was approved. New or changed ones wait from now on.

        The first listing of a server is approved as it is.
        """
        file = self._read()
        if server not in file.servers:
            file.servers[server] = _ServerRecord({each.name: each for each in told})
            self._write(file)
            return list(told)
        known = file.servers[server]
        waiting = {each.name: each for each in told if not _is_same(known.approved.get(each.name), each)}
        if waiting != known.waiting:
            known.waiting = waiting
            self._write(file)
        return [known.approved[each.name] for each in told if each.name in known.approved]

    def changes(self, server: str) -> list[DescriptionChange]:
        """Return the changes that wait for the user, as last listed."""
        known = self._read().servers.get(server, _ServerRecord())
        return [DescriptionChange(name, known.approved.get(name), after) for name, after in known.waiting.items()]

    def approve(self, server: str, names: Iterable[str]) -> None:
        """Approve these tools as listed now; names are the server's own."""
        file = self._read()
        known = file.servers.get(server, _ServerRecord())
        for name in names:
            if name not in known.waiting:
                raise SettingsError(f"The tool {name} of the MCP server {server} doesn't wait for an approval.")
            known.approved[name] = known.waiting.pop(name)
        self._write(file)

    def _read(self) -> _ApprovalFile:
        try:
            file = msgspec.json.decode(self._path.read_bytes(), type=_ApprovalFile)
        except FileNotFoundError:
            return _ApprovalFile()
        except OSError as error:
            raise SettingsError(f"The approved tools in {self._path} can't be opened: {error.strerror}.") from error
        except msgspec.DecodeError as error:
            raise SettingsError(f"The approved tools in {self._path} can't be read: {error}") from error
        if file.version != VERSION:
            raise SettingsError(f"The approved tools in {self._path} were written by another Treadle (format {file.version}).")
        return file

    def _write(self, file: _ApprovalFile) -> None:
        """Write the file atomically, safe against concurrent readers and a killed process."""
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=2))
            fresh.replace(self._path)
        except OSError as error:
            raise SettingsError(f"The approved tools can't be written to {self._path}: {error.strerror}.") from error


def _is_same(approved: AdvertisedTool | None, told: AdvertisedTool) -> bool:
    return approved is not None and approved.fingerprint == told.fingerprint
