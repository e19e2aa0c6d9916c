"""The account of calls for people: one redacted record a call, each chained to the one before by its hash.

A record that was changed, removed or reordered breaks the chain, and `verify` names the first such place.
"""

import hashlib
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle.core.seams import AuditRecord
from treadle.stores.database import Database, insert_rows
from treadle.stores.journal import DONE

if TYPE_CHECKING:
    from sqlite3 import Connection

GENESIS = "0" * 64  # what the first record is chained to
_KEY = "audit\n"  # no run has such an id

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AuditRecord)


class Link(Struct, frozen=True):
    """One record in its place in the chain."""

    seq: int
    previous: str
    line: bytes
    hash: str

    @property
    def record(self) -> AuditRecord:
        """What it says."""
        return _decoder.decode(self.line)


class Sought(Struct, frozen=True):
    """Which records a list is of: with `before`, those before that number. `tool` is a glob: `*` is any characters, `?` is one."""

    run_id: str = ""
    tool: str = ""
    user: str = ""
    before: int | None = None
    limit: int = 100


class Verified(Struct, frozen=True):
    """What `verify` found: how many records hold, and the first that doesn't with what is wrong with it."""

    records: int
    broken_at: int | None = None
    reason: str = ""


def link(seq: int, previous: str, line: bytes) -> Link:
    """A record chained to the one before it."""
    seal = hashlib.sha256(b"%d\n%s\n" % (seq, previous.encode()) + line).hexdigest()
    return Link(seq, previous, line, seal)


def verify(links: Iterable[Link], head: tuple[int, str]) -> Verified:
    """Whether the chain holds from its first record to its `head` (number and hash of the last)."""
    count, previous = 0, GENESIS
    for found in links:
        if found.seq != count + 1:
            return Verified(count, count + 1, f"record {count + 1} is missing")
        if found.previous != previous or link(found.seq, previous, found.line).hash != found.hash:
            return Verified(count, found.seq, f"record {found.seq} is not what was written")
        count, previous = found.seq, found.hash
    if head != (count, previous):
        return Verified(count, count + 1, f"the chain ends at record {count}, but {head[0]} were written")
    return Verified(count)


class MemoryAudit:
    """The chain in this process only."""

    def __init__(self) -> None:
        self.links: list[Link] = []

    def record(self, record: AuditRecord) -> Awaitable[None]:
        """Add a record."""
        previous = self.links[-1].hash if self.links else GENESIS
        self.links.append(link(len(self.links) + 1, previous, _encoder.encode(record)))
        return DONE


class SqliteAudit:
    """The chain in a SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, record: AuditRecord) -> Awaitable[None]:
        """Add a record: together with those before it, if the writer doesn't have those yet."""
        line = _encoder.encode(record)
        ticket = self._database.gathered(_KEY)
        if ticket is not None and isinstance(ticket.job, _Append):
            ticket.job.lines.append(line)
            return ticket
        return self._database.submit(_Append([line]), _KEY)

    async def records(self, run_id: str = "", limit: int = 100) -> list[Link]:
        """The newest records, oldest of them first; only those of one run if it is named."""
        query = (
            "SELECT seq, previous, CAST(line AS BLOB), hash FROM audit "
            "WHERE ? = '' OR json_extract(CAST(line AS TEXT), '$.run_id') = ? ORDER BY seq DESC LIMIT ?"
        )
        rows = await self._database.submit(lambda connection: connection.execute(query, (run_id, run_id, limit)).fetchall())
        return [Link(*row) for row in reversed(rows)]

    async def listed(self, sought: Sought) -> list[Link]:
        """The records that are sought, newest first. Where nothing was ever written, looking makes no file."""
        if not self._database.path.exists():
            return []
        where, values = _where(sought)
        query = f"SELECT seq, previous, CAST(line AS BLOB), hash FROM audit WHERE {where} ORDER BY seq DESC LIMIT ?"  # noqa: S608 - our own
        rows = await self._database.submit(lambda connection: connection.execute(query, (*values, sought.limit)).fetchall())
        return [Link(*row) for row in rows]

    async def verify(self) -> Verified:
        """Whether the chain holds."""
        return await self._database.submit(_verify)


def _where(sought: Sought) -> tuple[str, list[object]]:
    """What is sought, as SQL with the values for its marks."""
    said = "json_extract(CAST(line AS TEXT), '$.{}') {} ?"
    picked: list[tuple[str, object]] = [
        ("seq < ?", sought.before),
        (said.format("run_id", "="), sought.run_id or None),
        (said.format("user", "="), sought.user or None),
        (said.format("tool_name", "GLOB"), sought.tool.replace("[", "[[]") or None),  # there are no brackets in our globs
    ]
    chosen = [(words, value) for words, value in picked if value is not None]
    return " AND ".join([words for words, _ in chosen]) or "1", [value for _, value in chosen]


def _head(connection: "Connection") -> tuple[int, str]:
    row = connection.execute("SELECT seq, hash FROM audit_head").fetchone()
    return (row[0], row[1]) if row else (0, GENESIS)


class _Append:
    """Records that are chained and go to the disk together."""

    __slots__ = ("lines",)

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

    def __call__(self, connection: "Connection") -> None:
        seq, previous = _head(connection)
        links: list[tuple[int, str, bytes, str]] = []
        for line in self.lines:
            new = link(seq + 1, previous, line)
            seq, previous = new.seq, new.hash
            links.append((new.seq, new.previous, new.line, new.hash))
        insert_rows(connection, "audit", links)
        connection.execute("INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?)", (seq, previous))


def _verify(connection: "Connection") -> Verified:
    rows = connection.execute("SELECT seq, previous, CAST(line AS BLOB), hash FROM audit ORDER BY seq")
    return verify((Link(*row) for row in rows), _head(connection))
