"""Keeps the statistics up to date: folds journal entries that aren't counted yet, a few runs at a time.

Triggers note each run whose status changes in `stats_new`, where it stays until its turn is over. Runs are read and folded
without a lock, then their facts are written in one short transaction with the position up to which they count; so nothing
counts twice, whichever processes do the same concurrently and whenever one dies.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from treadle.core.errors import JournalError
from treadle.loop.facts import CallFact, Fact, FoldState, RequestFact, fold_facts
from treadle.stores.database import Connection, SqlDialect
from treadle.stores.encryption import Cipher
from treadle.stores.journal import decode_lines
from treadle.stores.sqlite import RESET_STATS, SQLITE_DIALECT

BATCH = 256  # runs of one transaction

_DONE = """
DELETE FROM stats_new WHERE run_id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = ? AND status = 'open')
    AND NOT EXISTS (SELECT 1 FROM entries WHERE run_id = ? AND position >= ?)
"""
_RUN = """
INSERT INTO stats_runs VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE
    SET who = excluded.who, opened_at = excluded.opened_at, position = excluded.position, carried = excluded.carried
"""
_WHO = 'INSERT INTO stats_who (agent, model, "user") VALUES (?, ?, ?) ON CONFLICT DO NOTHING'

ProgressCallback = Callable[[int, int], object]  # how many runs are done, of how many

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(FoldState)


class FoldedRun(Struct, frozen=True):
    """The result of folding a run from the position where it began."""

    run_id: str
    began: int
    carried: FoldState
    facts: list[Fact]


def update_stats(
    connection: Connection,
    told: ProgressCallback | None = None,
    batch: int = BATCH,
    words: SqlDialect = SQLITE_DIALECT,
    cipher: Cipher | None = None,
) -> int:
    """Fold new entries. Returns how many runs couldn't be read; they are tried again the next time."""
    reading = cipher or Cipher()
    new = [row[0] for row in connection.execute("SELECT run_id FROM stats_new ORDER BY run_id")]
    unread = 0
    for start in range(0, len(new), batch):
        if told is not None:
            told(start, len(new))
        some = new[start : start + batch]
        folded = [each for each in [_fold_run(connection, run_id, reading) for run_id in some] if each is not None]
        unread += len(some) - len(folded)
        with _transaction(connection, words):
            _store_facts(connection, folded)
    return unread


def reset_stats(connection: Connection, words: SqlDialect = SQLITE_DIALECT) -> None:
    """Delete all statistics; the next update folds the whole journal."""
    with _transaction(connection, words):
        for statement in RESET_STATS.split(";"):
            connection.execute(statement)


def shadow_stats(connection: Connection) -> None:
    """Hide the tables of a SQLite file behind copies in memory, for this connection, where its disk can't be written."""
    connection.execute("PRAGMA temp_store=MEMORY")
    tables = connection.execute("SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND name LIKE 'stats!_%' ESCAPE '!'")
    for name, sql in tables.fetchall():
        connection.execute(sql.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        connection.execute(f"INSERT INTO temp.{name} SELECT * FROM main.{name}")  # noqa: S608 - our own names


@contextmanager
def _transaction(connection: Connection, words: SqlDialect) -> Generator[None]:
    """Open a transaction with exclusive access to `stats_new`: other updates wait, and so does a run whose status changes."""
    connection.execute(words.begin)
    try:
        if words.lock_exclusive:
            connection.execute(f"SELECT run_id FROM stats_new ORDER BY run_id{words.lock_exclusive}")  # noqa: S608 - our own
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _fold_run(connection: Connection, run_id: str, cipher: Cipher) -> FoldedRun | None:
    """Fold a run from where it was folded last; None where it can't be read."""
    carried = _load_carried(connection, run_id)
    query = "SELECT lines FROM entries WHERE run_id = ? AND position >= ? ORDER BY position"
    try:
        entries = decode_lines(cipher, run_id, connection.execute(query, (run_id, carried.position)))
    except JournalError:
        return None
    after, facts = fold_facts(carried, entries, _find_nested_calls(connection, run_id))
    return FoldedRun(run_id, carried.position, after, facts)


def _load_carried(connection: Connection, run_id: str) -> FoldState:
    row = connection.execute("SELECT carried FROM stats_runs WHERE run_id = ?", (run_id,)).fetchone()
    return _decoder.decode(row[0]) if row else FoldState()


def _find_nested_calls(connection: Connection, run_id: str) -> set[str]:
    """Return the calls of a run that have nested runs: those are named after the run and the call."""
    children = connection.execute("SELECT run_id FROM runs WHERE parent = ? AND parent <> ''", (run_id,))
    return {child.removeprefix(f"{run_id}.") for (child,) in children}


def _store_facts(connection: Connection, folded: Sequence[FoldedRun]) -> None:
    """Store the facts of these runs, except those that another process has folded in the meantime."""
    ours = [each for each in folded if _load_position(connection, each.run_id) == each.began]
    who = {about: _load_identity_id(connection, *about) for about in {_identity(each) for each in ours}}
    runs = [(e.run_id, who[_identity(e)], e.carried.opened_at, e.carried.position, _encoder.encode(e.carried)) for e in ours]
    facts = [(who[_identity(each)], fact) for each in ours for fact in each.facts]
    connection.executemany(_RUN, runs)
    calls = [_to_call_row(by, fact) for by, fact in facts if isinstance(fact, CallFact)]
    connection.executemany("INSERT INTO stats_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", calls)
    requests = [_to_request_row(by, fact) for by, fact in facts if isinstance(fact, RequestFact)]
    connection.executemany("INSERT INTO stats_requests VALUES (?, ?, ?, ?, ?, ?, ?)", requests)
    connection.executemany(_DONE, [(each.run_id, each.run_id, each.run_id, each.carried.position) for each in ours])


def _load_position(connection: Connection, run_id: str) -> int:
    row = connection.execute("SELECT position FROM stats_runs WHERE run_id = ?", (run_id,)).fetchone()
    return row[0] if row else 0


def _identity(folded: FoldedRun) -> tuple[str, str, str]:
    return folded.carried.agent, folded.carried.model, folded.carried.user


def _load_identity_id(connection: Connection, agent: str, model: str, user: str) -> int:
    """Return the id of this combination of agent, model and user."""
    connection.execute(_WHO, (agent, model, user))
    query = 'SELECT who FROM stats_who WHERE agent = ? AND model = ? AND "user" = ?'
    return connection.execute(query, (agent, model, user)).fetchone()[0]


def _to_call_row(who: int, fact: CallFact) -> tuple[object, ...]:
    return fact.at, who, fact.tool, fact.problem, int(fact.cached), fact.seconds, fact.tokens, fact.inner_tokens


def _to_request_row(who: int, fact: RequestFact) -> tuple[object, ...]:
    used = fact.usage
    return fact.at, who, used.requests, used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cost
