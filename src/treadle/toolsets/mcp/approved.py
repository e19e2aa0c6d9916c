"""Which descriptions of tools were approved, in a small JSON file: what a server tells first counts, what it tells later waits.

A description is what a model goes by, so one that changes after a person has looked at it is held back until they have looked
again: `changes` shows old and new, `approve` takes the new. Running tools is the policy's business, not this.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.toolsets.mcp.told import Told

VERSION = 1


class Change(Struct, frozen=True):
    """A tool that waits for approval: as it was approved (None: never), and as the server tells of it now."""

    name: str
    before: Told | None
    after: Told


class _Known(Struct):
    """What is known of one server: tools as they were approved, and as they are told otherwise."""

    approved: dict[str, Told] = {}
    waiting: dict[str, Told] = {}


class _File(Struct):
    version: int = VERSION
    servers: dict[str, _Known] = {}


class Approved:
    """The file. It may be shared by processes; whoever writes reads it again first."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).expanduser()

    def review(self, server: str, told: Sequence[Told]) -> list[Told]:
        """What may be told to a model of these tools: each as it was approved. What is new or different waits from now on.

        The first listing of a server is approved as it is.
        """
        file = self._read()
        if server not in file.servers:
            file.servers[server] = _Known({each.name: each for each in told})
            self._write(file)
            return list(told)
        known = file.servers[server]
        waiting = {each.name: each for each in told if not _is_same(known.approved.get(each.name), each)}
        if waiting != known.waiting:
            known.waiting = waiting
            self._write(file)
        return [known.approved[each.name] for each in told if each.name in known.approved]

    def changes(self, server: str) -> list[Change]:
        """What waits for a person, as it was told last."""
        known = self._read().servers.get(server, _Known())
        return [Change(name, known.approved.get(name), after) for name, after in known.waiting.items()]

    def approve(self, server: str, names: Iterable[str]) -> None:
        """Take these tools as they are told now; names are the server's own."""
        file = self._read()
        known = file.servers.get(server, _Known())
        for name in names:
            if name not in known.waiting:
                raise SettingsError(f"The tool {name} of the MCP server {server} doesn't wait for an approval.")
            known.approved[name] = known.waiting.pop(name)
        self._write(file)

    def _read(self) -> _File:
        try:
            file = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return _File()
        except OSError as error:
            raise SettingsError(f"The approved tools in {self._path} can't be opened: {error.strerror}.") from error
        except msgspec.DecodeError as error:
            raise SettingsError(f"The approved tools in {self._path} can't be read: {error}") from error
        if file.version != VERSION:
            raise SettingsError(f"The approved tools in {self._path} were written by another Treadle (format {file.version}).")
        return file

    def _write(self, file: _File) -> None:
        """All of it or nothing, whoever else reads or is killed meanwhile."""
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=2))
            fresh.replace(self._path)
        except OSError as error:
            raise SettingsError(f"The approved tools can't be written to {self._path}: {error.strerror}.") from error


def _is_same(approved: Told | None, told: Told) -> bool:
    return approved is not None and approved.fingerprint == told.fingerprint
