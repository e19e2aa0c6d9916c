"""Journals to count: runs with calls that come to every kind of end, written as the engine writes them."""

from treadle.core.calls import Allow, Call, Deny, Result, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Returned, Said
from treadle.core.messages import Text
from treadle.core.requests import Usage
from treadle.stores.database import Database
from treadle.stores.journal import DatabaseJournal
from treadle.stores.sqlite import SqliteDatabase

NOON = 1_793_880_000.0  # of 2026-11-05, in UTC
DAY = 86_400.0


def one_round(number, name, at=NOON, problem=None, usage=None, **more):
    """A reply that asks for one call, and the end of that call. What is `denied` never runs."""
    call_id = f"c{number}"
    reply = Replied(parts=(Written(call_id, name, "{}"),), usage=usage or Usage(1, 0, 90, 10), at=at)
    if problem == "denied":
        return [reply, Judged(call=Call(call_id, name, {}), verdict=Deny(), at=at)]
    back = Returned(result=Result(call_id, name, "5", problem), at=at, **{"seconds": 0.5, **more})
    return [reply, Judged(call=Call(call_id, name, {}), verdict=Allow(), at=at), back]


def a_run(*rounds, agent="clerk", model="m", user="ann", at=NOON, parent=""):
    opened = [Opened(agent=agent, model=model, user=user, parent=parent, at=at), Said(text="?", at=at)]
    answer = Replied(parts=(Text("!"),), usage=Usage(1, 0, 40, 2), at=at)
    return [*opened, *[entry for each in rounds for entry in each], answer, Finished(stopped="answered", at=at)]


async def write(where, runs, pieces=1):
    """Write runs to a database or a file, each in so many pieces."""
    database = where if isinstance(where, Database) else SqliteDatabase(where)
    journal = DatabaseJournal(database)
    for run_id, entries in runs.items():
        size = -(-len(entries) // pieces)
        for start in range(0, len(entries), size):
            await journal.append(run_id, start, entries[start : start + size])
    database.close()
