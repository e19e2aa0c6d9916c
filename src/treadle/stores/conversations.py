"""Conversations: the runs that belong together, and what their user has made of them, a title and a pin.

A conversation is one run, or all runs whose context names the same session (`Opened.origin["about"]["session_id"]`). Its id is that
run's or that session's. Which run has which session is written with the journal's first entries, in the same transaction.
"""

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.entries import Opened
from treadle.stores.database import Connection, Database

MOST_WORDS = 20  # of a search


class StoredConversation(Struct, frozen=True):
    """A conversation as it appears in lists. `run_id`, `status` and `updated_at` are those of its latest run.

    `first` is what was said first, `title` the title that the user gave it; either may be empty. `pinned_at` is 0 where it isn't
    pinned.
    """

    id: str
    run_id: str
    agent: str
    user: str
    first: str
    title: str
    status: str
    updated_at: float
    pinned_at: float


class ConversationQuery(Struct, frozen=True):
    """Filter for a list of conversations: by agents, by one id, and by words in the title.

    `runs` are listed whichever agent they are of, `without` aren't.
    """

    agents: tuple[str, ...]
    id: str = ""
    search: str = ""
    runs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    limit: int = 50


_FROM = """
FROM runs LEFT JOIN run_sessions ON run_sessions.run_id = runs.run_id
LEFT JOIN conversation_labels AS labels ON labels.id = coalesce(run_sessions.session, runs.run_id)
WHERE runs.parent = ''
"""
_ID = "coalesce(run_sessions.session, runs.run_id)"
_NAME = "coalesce(nullif(labels.title, ''), runs.title)"
_PINNED = "coalesce(max(labels.pinned_at), 0)"
_NEWEST = f"GROUP BY {_ID} ORDER BY {_PINNED} DESC, max(runs.updated_at) DESC, max(runs.run_id) DESC LIMIT ?"
_DETAILS = (
    f"SELECT {_ID}, runs.run_id, runs.agent, runs.\"user\", runs.title, coalesce(labels.title, ''), runs.status, runs.updated_at, "
    f"coalesce(labels.pinned_at, 0) {_FROM}"
)
_OLDEST_FIRST = "ORDER BY runs.opened_at, runs.run_id"
_RUNS = "SELECT run_id FROM run_sessions WHERE session = ? ORDER BY run_id"
_LABEL = (
    "INSERT INTO conversation_labels VALUES (?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET title = excluded.title, pinned_at = excluded.pinned_at"
)


class DatabaseConversations:
    """The conversations of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_conversations(self, wanted: ConversationQuery) -> list[StoredConversation]:
        """Return the conversations that match a query: pinned ones first, then the newest."""
        if not self._database.exists() or not (wanted.agents or wanted.runs):
            return []
        where, values = _to_sql(wanted, self._database.words.like)
        newest = f"SELECT {_ID}{_FROM}{where} {_NEWEST}"

        def found(connection: Connection) -> list[StoredConversation]:
            ids = [row[0] for row in connection.execute(newest, (*values, wanted.limit)).fetchall()]
            in_sessions = f"{_DETAILS} AND {_is_among('run_sessions.session', ids)} {_OLDEST_FIRST}"
            alone = f"{_DETAILS} AND {_is_among('runs.run_id', ids)} AND run_sessions.session IS NULL"
            rows = [row for query in (in_sessions, alone) for row in connection.execute(query, ids).fetchall()]
            known = _by_conversation([StoredConversation(*row) for row in rows])
            return [known[each] for each in ids]

        return await self._database.submit(found)

    async def runs_of(self, conversation: str) -> list[str]:
        """Return the ids of a conversation's runs: those of the session, or the one run."""
        rows = await self._database.submit(lambda connection: connection.execute(_RUNS, (conversation,)).fetchall())
        return [run_id for (run_id,) in rows] or [conversation]

    async def label(self, conversation: str, title: str, pinned_at: float) -> None:
        """Store the title and the pin of a conversation, in place of those before."""
        await self._database.submit(lambda connection: connection.execute(_LABEL, (conversation, title, pinned_at)) and None)


def _by_conversation(runs: Sequence[StoredConversation]) -> dict[str, StoredConversation]:
    """Return the conversations of runs, the oldest run first: each with its first title, and else as its latest run."""
    known: dict[str, StoredConversation] = {}
    for run in runs:
        earlier = known.get(run.id)
        known[run.id] = run if earlier is None else replace(run, first=earlier.first)
    return known


def _to_sql(wanted: ConversationQuery, like: str) -> tuple[str, list[object]]:
    among = [_is_among("runs.agent", wanted.agents), _is_among("runs.run_id", wanted.runs)]
    clauses = [f"({' OR '.join(among)})", f"NOT {_is_among('runs.run_id', wanted.without)}"]
    values: list[object] = [*wanted.agents, *wanted.runs, *wanted.without]
    if wanted.id:
        clauses.append(_is_of([wanted.id]))
        values += [wanted.id, wanted.id]
    for word in wanted.search.split()[:MOST_WORDS]:
        clauses.append(f"{_NAME} {like} ? ESCAPE '!'")
        values.append(f"%{_escape_pattern(word)}%")
    return "".join([f" AND {clause}" for clause in clauses]), values


def _is_of(ids: Sequence[str]) -> str:
    """Return the condition that a run is of one of so many conversations; their ids are passed twice."""
    return f"({_is_among('run_sessions.session', ids)} OR run_sessions.session IS NULL AND {_is_among('runs.run_id', ids)})"


def _is_among(column: str, values: Sequence[str]) -> str:
    return f"{column} IN ({', '.join('?' * len(values))})" if values else "(1 = 0)"


def _escape_pattern(word: str) -> str:
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def session_of(opened: Opened) -> str:
    """Return the session that a run belongs to; empty where it is a conversation by itself."""
    about = opened.origin.get("about")
    session: Any = cast("dict[str, Any]", about).get("session_id") if isinstance(about, dict) else None
    return session if isinstance(session, str) and not opened.parent else ""


def write_session(connection: Connection, run_id: str, session: str) -> None:
    """Record the session of a new run."""
    connection.execute("INSERT INTO run_sessions VALUES (?, ?) ON CONFLICT DO NOTHING", (run_id, session))


def delete_labels(connection: Connection, run_ids: Sequence[str]) -> None:
    """Delete what is stored about deleted runs, and the labels of the conversations that have no run any more."""
    for run_id in run_ids:
        row = connection.execute("SELECT session FROM run_sessions WHERE run_id = ?", (run_id,)).fetchone()
        connection.execute("DELETE FROM run_sessions WHERE run_id = ?", (run_id,))
        left = "SELECT 1 FROM run_sessions WHERE session = ?"
        if row is None or connection.execute(left, row).fetchone() is None:
            connection.execute("DELETE FROM conversation_labels WHERE id = ?", (run_id if row is None else row[0],))
