"""The audit log: redacted records of calls, each chained to the previous one by its hash, and anchored outside the database.

A record that was changed, removed or reordered breaks the chain, and `verify_chain` names the first such record. Records of a
deleted run are erased: a tombstone takes their place, with the hash that the record had, and a record of the deletion names
it.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.entries import Finished
from treadle.core.seams import AuditRecord
from treadle.stores.anchors import Anchor, Anchors
from treadle.stores.database import Connection, Database, SqlDialect, insert_rows
from treadle.stores.journal import decode_lines
from treadle.stores.memory import DONE

NO_DATABASE = "there is no database"
NO_ANCHOR_YET = "no anchor exists yet, since no run has ended"
NO_ANCHORS = "there are no anchors, so it can't be determined whether records were cut off or all were written anew"
GENESIS = "0" * 64  # what the first record is chained to
_PAGE = 1000  # records that are read at once
_KEY = "audit\n"  # no run has such an id

_ERASED, _DELETION = b'"stage":"erased"', b'"stage":"deletion"'

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AuditRecord)


class AuditLink(Struct, frozen=True):
    """One record with its position in the chain."""

    seq: int
    previous: str
    line: bytes
    hash: str

    @property
    def record(self) -> AuditRecord:
        """Return the decoded record."""
        return _decoder.decode(self.line)


class AuditQuery(Struct, frozen=True):
    """Filter for a list of records. `before` selects those before a number; `tool` is a glob: `*` is any characters, `?` is one."""

    run_id: str = ""
    tool: str = ""
    user: str = ""
    before: int | None = None
    limit: int = 100


class AuditVerification(Struct, frozen=True):
    """Result of a verification: how many records are valid, and the first one that isn't, with the reason.

    Where the database or the anchors are `missing`, `reason` says what that means: it can't be determined whether all records
    are there. Before the first run has ended there is no anchor, and `reason` says so of a valid chain.
    """

    records: int
    broken_at: int | None = None
    reason: str = ""
    missing: Literal["", "database", "anchors"] = ""

    @property
    def holds(self) -> bool:
        """Whether the whole chain could be verified and is valid."""
        return self.broken_at is None and not self.missing


def chain_record(seq: int, previous: str, line: bytes) -> AuditLink:
    """Chain a record to the previous one."""
    seal = hashlib.sha256(b"%d\n%s\n" % (seq, previous.encode()) + line).hexdigest()
    return AuditLink(seq, previous, line, seal)


def verify_chain(links: Iterable[AuditLink], head: tuple[int, str], anchors: Sequence[Anchor] = ()) -> AuditVerification:
    """Verify the chain from its first record to its `head` (number and hash of the last), and against the anchors."""
    known = {anchor.seq: anchor for anchor in anchors}
    verified = _verify_links(links, head, known)
    if verified.broken_at is not None:
        return verified
    lost = next((anchor for seq, anchor in sorted(known.items()) if seq > verified.records), None)
    if lost is None:
        return verified
    reason = f"the chain ends at record {verified.records}, but record {lost.seq} was there when run {lost.run_id} ended"
    return AuditVerification(verified.records, verified.records + 1, reason)


def _verify_links(links: Iterable[AuditLink], head: tuple[int, str], known: Mapping[int, Anchor]) -> AuditVerification:
    count, previous = 0, GENESIS
    tombstones = _TombstoneChecker()
    for found in links:
        if found.seq != count + 1:
            return AuditVerification(count, count + 1, f"record {count + 1} is missing")
        if found.previous != previous or not tombstones.holds(found):
            return AuditVerification(count, found.seq, f"record {found.seq} is not what was written")
        if found.seq in known and known[found.seq].hash != found.hash:
            return AuditVerification(
                count, found.seq, f"record {found.seq} is not what it was when run {known[found.seq].run_id} ended"
            )
        count, previous = found.seq, found.hash
    if head != (count, previous):
        return AuditVerification(count, count + 1, f"the chain ends at record {count}, but {head[0]} were written")
    if tombstones.unexplained:
        first = min(tombstones.unexplained)
        return AuditVerification(first - 1, first, f"record {first} was erased, and no deletion on record names it")
    return AuditVerification(count)


class _TombstoneChecker:
    """Checks records in order. A tombstone's own hash can't be computed, so a later deletion has to name it."""

    def __init__(self) -> None:
        self.unexplained: dict[int, str] = {}  # the digests of tombstones, by the numbers of their records

    def holds(self, found: AuditLink) -> bool:
        """Return whether a record is as it was written, or a tombstone."""
        if chain_record(found.seq, found.previous, found.line).hash == found.hash:
            if _DELETION in found.line and found.record.stage == "deletion":
                self._explain(found.record.arguments.get("erased", {}))
            return True
        if _ERASED not in found.line or found.record.stage != "erased":
            return False
        self.unexplained[found.seq] = _digest(found.line)
        return True

    def _explain(self, erased: Mapping[str, str]) -> None:
        for seq, digest in erased.items():
            if self.unexplained.get(int(seq)) == digest:
                del self.unexplained[int(seq)]


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def erase_records(connection: Connection, words: SqlDialect, run_ids: Collection[str], deletion: AuditRecord) -> tuple[int, str]:
    """Erase the content of these runs' calls and record the deletion; return the new end of the chain.

    Which user called which tool when, and whether it succeeded, stays.
    """
    _read_head(connection, words.lock_exclusive)
    erased: dict[str, str] = {}
    for found in _read_links(connection, words):
        record = found.record
        if record.run_id in run_ids and record.stage in ("begins", "ended"):
            tombstone = replace(record, arguments={}, result_summary="", error=None, stage="erased")
            line = _encoder.encode(tombstone)
            connection.execute("UPDATE audit SET line = ? WHERE seq = ?", (line, found.seq))
            erased[str(found.seq)] = _digest(line)
    return _AppendRecords([_encoder.encode(replace(deletion, arguments={"erased": erased}))], words.lock_exclusive)(connection)


class MemoryAudit:
    """The audit chain in this process only."""

    def __init__(self) -> None:
        self.links: list[AuditLink] = []

    def record(self, record: AuditRecord) -> Awaitable[None]:
        """Add a record."""
        previous = self.links[-1].hash if self.links else GENESIS
        self.links.append(chain_record(len(self.links) + 1, previous, _encoder.encode(record)))
        return DONE


class DatabaseAudit:
    """The audit chain in a database. Appends are serialized, since the chain has one end."""

    def __init__(self, database: Database, anchors: Anchors | None = None) -> None:
        self._database = database
        self._anchors = anchors
        self._last: Awaitable[tuple[int, str]] | None = None  # gives where the chain ends once it is on disk

    def record(self, record: AuditRecord) -> Awaitable[Any]:
        """Append a record; together with the ones before it, if those haven't been handed to the writer yet."""
        line = _encoder.encode(record)
        ticket = self._database.find_pending(_KEY)
        if ticket is not None and isinstance(ticket.job, _AppendRecords):
            ticket.job.lines.append(line)
            return ticket
        self._last = ticket = self._database.submit(_AppendRecords([line], self._database.words.lock_exclusive), _KEY)
        return ticket

    async def erase(self, job: Callable[[Connection], tuple[int, str]], run_id: str) -> None:
        """Run a job that erases records and returns the new end of the chain, then anchor that end."""
        self._last = self._database.submit(job)
        await self._last
        await self.anchor(run_id)

    async def anchor(self, run_id: str) -> None:
        """Anchor the end of the chain outside the database, at the end of a run."""
        if self._anchors is not None and self._last is not None:
            self._anchors.add(*await self._last, run_id)

    async def records(self, run_id: str = "", limit: int = 100) -> list[AuditLink]:
        """Return the newest records, oldest of them first; only those of one run if `run_id` is given."""
        return [*reversed(await self._query(AuditQuery(run_id=run_id, limit=limit)))]

    async def list_records(self, sought: AuditQuery) -> list[AuditLink]:
        """Return the records that match a query, newest first. Creates nothing where nothing was ever written."""
        return await self._query(sought) if self._database.exists() else []

    async def _query(self, sought: AuditQuery) -> list[AuditLink]:
        words = self._database.words
        where, values = _to_sql(sought, words)
        query = f"SELECT {_columns(words)} FROM audit WHERE {where} ORDER BY seq DESC LIMIT ?"  # noqa: S608 - our own
        rows = await self._database.submit(lambda connection: connection.execute(query, (*values, sought.limit)).fetchall())
        return [AuditLink(*row) for row in rows]

    async def verify(self) -> AuditVerification:
        """Verify the chain, and report what is missing for that. The chain may be long: writers are not blocked."""
        if self._last is None and not self._database.exists():
            return self._verify_without_database()
        await self._database.submit(_do_nothing)  # what was recorded before is to be in it
        return await asyncio.to_thread(self._verify)

    def _verify(self) -> AuditVerification:
        words = self._database.words
        anchors = [] if self._anchors is None else self._anchors.all()
        with self._database.apart() as connection:
            connection.execute(words.snapshot)
            verified = verify_chain(_read_links(connection, words), _read_head(connection), anchors)
            if self._anchors is None or anchors or not verified.records or verified.broken_at is not None:
                return verified
            if self._was_anchored(connection):
                return AuditVerification(verified.records, None, NO_ANCHORS, "anchors")
            return AuditVerification(verified.records, None, NO_ANCHOR_YET)

    def _was_anchored(self, connection: Connection) -> bool:
        """Return whether a run in the audit has ended a turn, which writes an anchor. A run that is no longer stored has."""
        words = self._database.words
        named = {row[0] for row in connection.execute(f"SELECT DISTINCT {words.json_field.format('run_id')} FROM audit").fetchall()}  # noqa: S608
        for run_id in named:
            root = _find_root(connection, run_id)
            rows = connection.execute("SELECT lines FROM entries WHERE run_id = ? ORDER BY position", (root,)).fetchall()
            entries = decode_lines(self._database.cipher, root, rows)
            if not entries or any(isinstance(entry, Finished) for entry in entries):
                return True
        return False

    def _verify_without_database(self) -> AuditVerification:
        """Return the result for a missing database, which is not created."""
        anchors = [] if self._anchors is None else self._anchors.all()
        if not anchors:
            return AuditVerification(0, None, NO_DATABASE, "database")
        last = max(anchors, key=lambda anchor: anchor.seq)
        reason = f"the database is gone, and record {last.seq} was there when run {last.run_id} ended"
        return AuditVerification(0, 1, reason, "database")


def _do_nothing(connection: Connection) -> None:
    """A job that completes once the jobs before it have."""


def _find_root(connection: Connection, run_id: str) -> str:
    """Return the root run of a run; anchors are written at the end of its turns."""
    while row := connection.execute("SELECT parent FROM runs WHERE run_id = ? AND parent <> ''", (run_id,)).fetchone():
        run_id = row[0]
    return run_id


def _columns(words: SqlDialect) -> str:
    return f"seq, previous, CAST(line AS {words.blob}), hash"


def _to_sql(sought: AuditQuery, words: SqlDialect) -> tuple[str, list[object]]:
    """Return the query as a SQL condition with the values of its placeholders."""
    glob, pattern = words.glob(words.json_field.format("tool_name"), sought.tool)
    picked: list[tuple[str, object]] = [
        ("seq < ?", sought.before),
        (f"{words.json_field.format('run_id')} = ?", sought.run_id or None),
        (f"{words.json_field.format('user')} = ?", sought.user or None),
        (glob, pattern or None),
    ]
    chosen = [(clause, value) for clause, value in picked if value is not None]
    return " AND ".join([clause for clause, _ in chosen]) or "1 = 1", [value for _, value in chosen]


def _read_head(connection: Connection, lock: str = "") -> tuple[int, str]:
    row = connection.execute(f"SELECT seq, hash FROM audit_head{lock}").fetchone()  # noqa: S608 - our own
    return (row[0], row[1]) if row else (0, GENESIS)


def _read_links(connection: Connection, words: SqlDialect) -> Iterator[AuditLink]:
    """Yield the whole chain, in chunks."""
    query = f"SELECT {_columns(words)} FROM audit WHERE {{}} ORDER BY seq LIMIT {_PAGE}"  # noqa: S608 - our own
    rows = connection.execute(query.format("1 = 1")).fetchall()
    while rows:
        yield from (AuditLink(*row) for row in rows)
        rows = connection.execute(query.format("seq > ?"), (rows[-1][0],)).fetchall()


class _AppendRecords:
    """Records that are chained and committed together."""

    __slots__ = ("_lock", "lines")

    def __init__(self, lines: list[bytes], lock: str) -> None:
        self.lines = lines
        self._lock = lock

    def __call__(self, connection: Connection) -> tuple[int, str]:
        seq, previous = _read_head(connection, self._lock)
        links: list[tuple[int, str, bytes, str]] = []
        for line in self.lines:
            new = chain_record(seq + 1, previous, line)
            seq, previous = new.seq, new.hash
            links.append((new.seq, new.previous, new.line, new.hash))
        insert_rows(connection, "audit", links)
        connection.execute(_MOVE, (seq, previous))
        return seq, previous


_MOVE = "INSERT INTO audit_head VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash"
