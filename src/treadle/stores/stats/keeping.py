"""Keeps the figures up: folds what the journal has and the figures don't, a few runs at a time.

Triggers note each run whose status changes in `stats_new`, where it stays until its turn is over. Runs are read and folded
without a lock, then their facts are written in one short transaction with the position up to which they count; so that nothing
counts twice, whoever else does the same at the same time and whenever a process dies.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from treadle.core.errors import JournalError
from treadle.loop.facts import CallFact, Carried, Fact, RequestFact, fold
from treadle.stores.database import Connection, Words
from treadle.stores.encryption import Cipher
from treadle.stores.journal import read_lines
from treadle.stores.sqlite import WORDS
from treadle.stores.stats.anew import COUNT_ANEW

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

Told = Callable[[int, int], object]  # how many runs are done, of how many

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Carried)


class Folded(Struct, frozen=True):
    """What came of reading on in a run, from the position where it began."""

    run_id: str
    began: int
    carried: Carried
    facts: list[Fact]


def keep_up(
    connection: Connection, told: Told | None = None, batch: int = BATCH, words: Words = WORDS, cipher: Cipher | None = None
) -> int:
    """Fold what is new. How many runs couldn't be read; they are tried again the next time."""
    reading = cipher or Cipher()
    new = [row[0] for row in connection.execute("SELECT run_id FROM stats_new ORDER BY run_id")]
    unread = 0
    for start in range(0, len(new), batch):
        if told is not None:
            told(start, len(new))
        some = new[start : start + batch]
        folded = [each for each in [_folded(connection, run_id, reading) for run_id in some] if each is not None]
        unread += len(some) - len(folded)
        with _transaction(connection, words):
            _keep(connection, folded)
    return unread


def count_anew(connection: Connection, words: Words = WORDS) -> None:
    """Forget all figures; the next time, everything in the journal is new."""
    with _transaction(connection, words):
        for statement in COUNT_ANEW.split(";"):
            connection.execute(statement)


@contextmanager
def _transaction(connection: Connection, words: Words) -> Generator[None]:
    """Alone with what is noted: whoever else folds waits, and so does a run whose status changes."""
    connection.execute(words.begin)
    try:
        if words.lock:
            connection.execute(f"SELECT run_id FROM stats_new ORDER BY run_id{words.lock}")  # noqa: S608 - our own
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _folded(connection: Connection, run_id: str, cipher: Cipher) -> Folded | None:
    """A run from where it was folded last; None where it can't be read."""
    carried = _carried(connection, run_id)
    query = "SELECT lines FROM entries WHERE run_id = ? AND position >= ? ORDER BY position"
    try:
        entries = read_lines(cipher, run_id, connection.execute(query, (run_id, carried.position)))
    except JournalError:
        return None
    after, facts = fold(carried, entries, _nested(connection, run_id))
    return Folded(run_id, carried.position, after, facts)


def _carried(connection: Connection, run_id: str) -> Carried:
    row = connection.execute("SELECT carried FROM stats_runs WHERE run_id = ?", (run_id,)).fetchone()
    return _decoder.decode(row[0]) if row else Carried()


def _nested(connection: Connection, run_id: str) -> set[str]:
    """The calls of a run that have runs of their own: those are named after the run and the call."""
    children = connection.execute("SELECT run_id FROM runs WHERE parent = ? AND parent <> ''", (run_id,))
    return {child.removeprefix(f"{run_id}.") for (child,) in children}


def _keep(connection: Connection, folded: Sequence[Folded]) -> None:
    """Write down what came of these runs, without those that somebody else has folded in the meantime."""
    ours = [each for each in folded if _position(connection, each.run_id) == each.began]
    who = {about: _who(connection, *about) for about in {_about(each) for each in ours}}
    runs = [(e.run_id, who[_about(e)], e.carried.opened_at, e.carried.position, _encoder.encode(e.carried)) for e in ours]
    facts = [(who[_about(each)], fact) for each in ours for fact in each.facts]
    connection.executemany(_RUN, runs)
    calls = [_call_row(by, fact) for by, fact in facts if isinstance(fact, CallFact)]
    connection.executemany("INSERT INTO stats_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", calls)
    requests = [_request_row(by, fact) for by, fact in facts if isinstance(fact, RequestFact)]
    connection.executemany("INSERT INTO stats_requests VALUES (?, ?, ?, ?, ?, ?, ?)", requests)
    connection.executemany(_DONE, [(each.run_id, each.run_id, each.run_id, each.carried.position) for each in ours])


def _position(connection: Connection, run_id: str) -> int:
    row = connection.execute("SELECT position FROM stats_runs WHERE run_id = ?", (run_id,)).fetchone()
    return row[0] if row else 0


def _about(folded: Folded) -> tuple[str, str, str]:
    return folded.carried.agent, folded.carried.model, folded.carried.user


def _who(connection: Connection, agent: str, model: str, user: str) -> int:
    """The number of this agent with this model for this user."""
    connection.execute(_WHO, (agent, model, user))
    query = 'SELECT who FROM stats_who WHERE agent = ? AND model = ? AND "user" = ?'
    return connection.execute(query, (agent, model, user)).fetchone()[0]


def _call_row(who: int, fact: CallFact) -> tuple[object, ...]:
    return fact.at, who, fact.tool, fact.problem, int(fact.cached), fact.seconds, fact.tokens, fact.inner_tokens


def _request_row(who: int, fact: RequestFact) -> tuple[object, ...]:
    used = fact.usage
    return fact.at, who, used.requests, used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cost
