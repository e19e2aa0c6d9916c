"""Feedback: how a user rates the answers of a run, with a comment. An answer is identified by the message that it answers."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from treadle.guard.redaction import Redactor
from treadle.stores.database import Connection, Database

Rating = Literal["good", "bad"]
LONGEST_COMMENT = 2_000  # characters


class Feedback(Struct, frozen=True):
    """A rating of an answer, given at a time. `message` is the number of the user's message that it answers, from 1 on."""

    message: int
    rating: Rating
    comment: str
    at: float


_SELECT = "SELECT run_id, message, rating, comment, at FROM feedback"
_PUT = (
    "INSERT INTO feedback VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id, message) "
    "DO UPDATE SET rating = excluded.rating, comment = excluded.comment, at = excluded.at"
)
_DELETE = "DELETE FROM feedback WHERE run_id = ? AND message = ?"


class DatabaseFeedback:
    """The feedback in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_runs(self, run_ids: Sequence[str]) -> dict[str, list[Feedback]]:
        """Return the feedback on runs by their ids, in the order of their messages; runs without any are left out."""
        query = f"{_SELECT} WHERE run_id IN ({', '.join('?' * len(run_ids))}) ORDER BY run_id, message"

        def read(connection: Connection) -> dict[str, list[Feedback]]:
            found: dict[str, list[Feedback]] = {}
            for run_id, *values in connection.execute(query, run_ids).fetchall():
                found.setdefault(run_id, []).append(Feedback(*values))
            return found

        return await self._database.submit(read)

    async def put(self, run_id: str, feedback: Feedback) -> None:
        """Store feedback on an answer, in place of the feedback before."""
        values = (run_id, feedback.message, feedback.rating, feedback.comment, feedback.at)
        await self._database.submit(lambda connection: connection.execute(_PUT, values) and None)

    async def delete(self, run_id: str, message: int) -> None:
        """Delete the feedback on an answer, if there is any."""
        await self._database.submit(lambda connection: connection.execute(_DELETE, (run_id, message)) and None)


def clean_comment(comment: str, redactor: Redactor) -> str:
    """Return a comment as it is stored: without control characters and secrets, and not longer than comments may be."""
    kept = "".join([char for char in comment.strip() if char.isprintable() or char == "\n"])
    return redactor.text(kept)[:LONGEST_COMMENT]
