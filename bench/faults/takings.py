"""Who had which run when, as the leases themselves say it: a trigger of the harness's notes each change of their holders.

Times are the database's, in seconds since 1970; it runs on the same machine as the harness.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bench.faults.orders import Life

_TRIGGER = """
CREATE TABLE treadle.faults_takings (run_id TEXT, holder TEXT, at DOUBLE PRECISION);
CREATE FUNCTION treadle.faults_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.holder <> OLD.holder THEN
        INSERT INTO treadle.faults_takings VALUES (NEW.run_id, NEW.holder, extract(epoch FROM clock_timestamp()));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER faults_note AFTER INSERT OR UPDATE ON treadle.leases FOR EACH ROW EXECUTE FUNCTION treadle.faults_note();
"""


class Taking(Struct, frozen=True):
    """A worker took a run at a time; nobody has it from then on where `holder` is empty."""

    run_id: str
    holder: str
    at: float

    @property
    def pid(self) -> int:
        """The process of the worker; its name ends with that and a few letters by chance."""
        return int(self.holder.rsplit("-", 2)[1]) if self.holder else 0


def watch(url: str) -> None:
    """Begin to note who takes what, in a database that has its tables."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_TRIGGER.encode())


def takings(url: str) -> list[Taking]:
    """All of them, in order."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        rows: list[tuple[Any, ...]] = connection.execute("SELECT * FROM treadle.faults_takings ORDER BY at").fetchall()
    return [Taking(*row) for row in rows]


def taken_over(found: Sequence[Taking], lives: Sequence[Life]) -> list[float]:
    """Seconds from each death of a worker until somebody else had each of the runs that it had. A run that was over is nobody's."""
    by_run: dict[str, list[Taking]] = {}
    for taking in found:
        by_run.setdefault(taking.run_id, []).append(taking)
    waits = [_wait(history, life) for life in lives if life.died for history in by_run.values()]
    return [wait for wait in waits if wait is not None]


def _wait(history: Sequence[Taking], life: Life) -> float | None:
    before = [taking for taking in history if taking.at <= life.died]
    if not before or before[-1].pid != life.pid:
        return None
    later = [taking.at for taking in history if taking.at > life.died and taking.holder]
    return later[0] - life.died if later else None
