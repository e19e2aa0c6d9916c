"""A worker as people run it: the command `treadle worker`, in a process that is born with everything imported.

`python -m bench.faults.hired` gives birth to such workers; see `births`. One works until it is killed, or until there is a file
`over` in its home: it is then told to stop as any worker is, by SIGTERM.
"""

import os
import signal
import threading
import time
from pathlib import Path

from bench.faults.assistant import TAIL, install
from bench.faults.births import Tell, serve
from bench.faults.orders import Life, Order
from treadle.cli.exit_codes import OK
from treadle.cli.main import main

MODULE = "bench.faults.hired"
WARM = (
    "concurrent.futures.thread",
    "psycopg",
    "dbos",
    "croniter",
    "sqlalchemy.dialects.postgresql.psycopg",
    "bench.faults.assistant",
    "treadle.cli.commands.worker",
    "treadle.workers.dbos_dispatcher",
    "treadle.dialects.fallback",
)
GLANCE = 0.1  # seconds between two looks for the end


def over(home: Path) -> Path:
    """The file that ends the workers of a home."""
    return home / "over"


def living(order: Order, tell: Tell) -> Life:
    """A worker's life. What it says goes into a file."""
    install()
    os.environ |= {"TREADLE_HOME": order.home, "TREADLE_DATABASE": order.store, TAIL: str(order.tail)}
    os.environ["TREADLE_CONFIG"] = os.devnull  # nothing of whoever's machine this is
    _speak_into(Path(order.folder) / f"said-{os.getpid()}")
    threading.Thread(target=_stop_at, args=(over(Path(order.home)),), daemon=True).start()
    tell()
    code = main(["worker", "--lease", str(order.lease), "--at-once", str(order.at_once)])
    return Life(stopped="stopped") if code == OK else Life(error=f"treadle worker ended with {code}")


def _speak_into(path: Path) -> None:
    """Standard output is the nursery's own."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def _stop_at(end: Path) -> None:
    while not end.exists():
        time.sleep(GLANCE)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    serve(living, MODULE, WARM)
