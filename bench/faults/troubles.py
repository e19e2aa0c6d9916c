"""Troubles of a SQLite file: a full disk, a lock that somebody keeps, a write-ahead log that was cut short.

What is wanted of each: the run stops before the next effect, a sentence says what to do, and once that is done it goes on from
where it was, with nothing done twice.
"""

import random
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.faults.looks import started
from bench.faults.nurseries import Nursery
from bench.faults.orders import Life, Order
from bench.faults.verdicts import Verdict, judged
from bench.faults.world import World

FULL = "1m"
ROOMY = "64m"
BALLAST = 400_000  # bytes of the small disk that are taken already
BULK = 19_000  # characters of each result, so that the journal grows
KILLED = "tool acted"  # where a process is killed that leaves a write-ahead log
SOON = 0.15  # seconds after which a run is in the middle of its calls


class Trouble(Struct, frozen=True):
    """The result of one.

    said     the sentence; empty where the run went on as if nothing had been
    unasked  effects that happened although that they begin wasn't on the disk
    verdict  on the run, once the trouble was over; None where it couldn't be tried, for the reason in `said`
    """

    what: str
    said: str
    unasked: int = 0
    verdict: Verdict | None = None

    @property
    def right(self) -> bool:
        """Whether all is well, as far as it could be tried."""
        return self.verdict is None or (self.verdict.right and not self.unasked)


class NoMount(Exception):
    """A disk can't be mounted here."""


@contextmanager
def small_disk(path: Path) -> Generator[None]:
    """A disk of its own for a folder; takes the right to mount."""
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={FULL}", "tmpfs", path], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        raise NoMount(mounted.stderr.strip() or "mount failed")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def disk_full(folder: Path, nursery: Nursery) -> Trouble:
    """The disk of the home fills up during the run; then it is made larger."""
    what = f"disk full (tmpfs of {FULL})"
    home = folder / "home"
    order = Order(str(folder), str(home), "full", "twenty", bulk=BULK)
    try:
        with small_disk(home):
            (home / "ballast").write_bytes(b"." * BALLAST)
            first = nursery.live(order)
            subprocess.run(["mount", "-o", f"remount,size={ROOMY}", home], check=True)
            return _resumed(what, order, first, nursery)
    except (NoMount, FileNotFoundError) as error:
        return Trouble(what, f"not tried: a small disk can't be mounted here ({error})")


def locked(folder: Path, nursery: Nursery, *, held: float, wait: float = 0.0) -> Trouble:
    """Another process keeps the file locked, for longer than a write waits or not so long."""
    order = Order(str(folder), str(folder / "home"), "locked", "twenty", tail=0.05, wait=wait)
    keeper = threading.Thread(target=_keep, args=(folder / "home" / "treadle.db", held))
    keeper.start()
    first = nursery.live(order)
    keeper.join()
    return _resumed(f"database locked for {held:g} s", order, first, nursery)


def _keep(path: Path, held: float) -> None:
    """Lock a file in the middle of a run. Treadle knows nothing of this process."""
    while not path.exists():
        time.sleep(0.005)
    time.sleep(SOON)
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(held)
        connection.execute("ROLLBACK")


def wal_cut(folder: Path, nursery: Nursery, *, share: float) -> Trouble:
    """The write-ahead log of a process that was killed loses its last part, or all of itself; then it is put back."""
    order = Order(str(folder), str(folder / "home"), "cut", "twenty", tail=0.01)
    nursery.live(replace(order, point=KILLED, passing=12))
    log = folder / "home" / "treadle.db-wal"
    shutil.copy(log, folder / "whole-wal")
    with log.open("r+b") as file:
        file.truncate(int(log.stat().st_size * share))
    second = nursery.live(order)
    shutil.copy(folder / "whole-wal", log)
    (folder / "home" / "treadle.db-shm").unlink(missing_ok=True)
    what = f"write-ahead log cut to {share:.0%}" if share else "write-ahead log emptied"
    return _resumed(what, order, second, nursery)


def wal_scribbled(folder: Path, nursery: Nursery, chance: random.Random) -> Trouble:
    """Bytes in the middle of the write-ahead log change; then they are put right."""
    order = Order(str(folder), str(folder / "home"), "scribbled", "twenty", tail=0.01)
    nursery.live(replace(order, point=KILLED, passing=12))
    log = folder / "home" / "treadle.db-wal"
    whole = log.read_bytes()
    at = chance.randrange(len(whole) // 3, len(whole) // 2)
    log.write_bytes(whole[:at] + bytes([byte ^ 0xFF for byte in whole[at : at + 64]]) + whole[at + 64 :])
    second = nursery.live(order)
    log.write_bytes(whole)
    (folder / "home" / "treadle.db-shm").unlink(missing_ok=True)
    return _resumed("write-ahead log scribbled on", order, second, nursery)


def _resumed(what: str, order: Order, troubled: Life, nursery: Nursery) -> Trouble:
    """What happened before the trouble was over, and a last life after it."""
    happened = World(Path(order.folder) / "world").counted(order.run_id)
    if not troubled.error:
        return Trouble(what, "", verdict=judged(order, [troubled]))
    unasked = len([effect for effect in happened if effect not in started(order)])
    verdict = judged(order, [troubled, nursery.live(order)])
    return Trouble(what, troubled.error, unasked, verdict)


def whole(home: Path) -> bool:
    """Whether SQLite finds nothing wrong with the file."""
    with closing(sqlite3.connect(home / "treadle.db")) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
