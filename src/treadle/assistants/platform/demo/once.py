"""`Idempotency-Key`: a request that comes again gets the answer it got, and changes nothing more. For a day, and for its user."""

import hashlib
from collections.abc import Callable
from datetime import timedelta

import msgspec

from treadle.assistants.platform.demo.clock import stamp
from treadle.assistants.platform.demo.store import Row, insert, row
from treadle.assistants.platform.demo.values import Answer, Asked, Refused, Visit

KEPT = timedelta(days=1)
LONGEST = 255
HEADER = "idempotency-key"


def once(visit: Visit, asked: Asked, do: Callable[[], Answer]) -> Answer:
    """Do what is asked, unless it was done under the same key. What was refused changed nothing, and is asked anew."""
    key = asked.headers.get(HEADER, "")
    if not key or asked.method in ("GET", "HEAD"):
        return do()
    if len(key) > LONGEST:
        raise Refused(400, f"Idempotency-Key is too long; {LONGEST} characters are the most")
    visit.db.execute("DELETE FROM answers WHERE at <= ?", (stamp(visit.at - KEPT),))
    kept = row(visit.db, "SELECT * FROM answers WHERE username = ? AND key = ?", visit.who.username, key)
    if kept is None:
        return _keep(visit, asked, key, do())
    if kept["request"] != _digest(asked):
        raise Refused(422, "Idempotency-Key was used for another request")
    return _again(kept)


def _keep(visit: Visit, asked: Asked, key: str, answer: Answer) -> Answer:
    values = {"status": answer.status, "media": answer.media, "body": answer.body, "headers": msgspec.json.encode(answer.headers)}
    insert(
        visit.db,
        "answers",
        {"username": visit.who.username, "key": key, "request": _digest(asked), "at": stamp(visit.at), **values},
    )
    return answer


def _again(kept: Row) -> Answer:
    headers = msgspec.json.decode(kept["headers"], type=dict[str, str])
    return Answer(kept["status"], kept["media"], kept["body"], {**headers, "Idempotency-Replayed": "true"})


def _digest(asked: Asked) -> str:
    whole = msgspec.json.encode([asked.method, asked.path, sorted(asked.query.items()), hashlib.sha256(asked.body).hexdigest()])
    return hashlib.sha256(whole).hexdigest()
