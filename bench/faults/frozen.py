"""A worker that is frozen for longer than its lease, and wakes: by then another one has its run, and it may write nothing more.

What it was in the middle of it still does when it wakes; nobody can stop that. `once` and `keyed` calls bear it: they aren't
carried out by the other one, or their receiver knows the key.
"""

import threading
import time
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.faults.logs import Log
from bench.faults.looks import reported
from bench.faults.nurseries import Nursery
from bench.faults.orders import Life, Order
from bench.faults.plans import DONE
from bench.faults.verdicts import Verdict, judged

MODULE = "bench.faults.member"
POINTS = ("model asked", "within reply", "before Started", "awaiting Started", "tool acted", "tool ends", "before Returned")
IN_FLIGHT = ("safe Started", "tool begins")  # frozen with the effect still to come
LEASE = 0.5


class Frozen(Struct, frozen=True):
    """The result of one: the verdict on the run, whether another worker took it meanwhile, and whether the first was then refused.

    Nobody can take a run while whoever froze has the whole file locked, or where it didn't come by that point.
    """

    retry: str
    point: str
    verdict: Verdict
    taken: bool
    fenced: bool

    @property
    def right(self) -> bool:
        """Whether all is well: whoever lost its run was refused, and nothing happened twice."""
        return self.verdict.right and self.taken == self.fenced


def frozen(
    folder: Path, nurseries: tuple[Nursery, Nursery], retry: str, point: str, store: str = "", *, lease: float = LEASE
) -> Frozen:
    """One worker freezes at a point for five leases, another takes its run over and completes it, the first one wakes."""
    run = f"{folder.name}-{retry}-{point.replace(' ', '-')}"
    order = Order(str(folder), str(folder / "home"), run, f"few:{retry}", store, lease=lease, patience=60.0 + 10 * lease)
    freezing = replace(order, point=point, passing=2, action="stop", freeze_for=5 * lease)
    lives: list[Life] = []
    thread = threading.Thread(target=lambda: lives.append(nurseries[0].live(freezing)))
    thread.start()
    log = Log(folder / "lives")
    while not [note for note in log.notes(run) if note.kind == "took"] and thread.is_alive():
        time.sleep(0.01)
    lives.append(nurseries[1].live(order))
    thread.join()
    first, *later = [note for note in log.notes(run) if note.kind in ("took", "let go", "fenced")]
    ended = next((note for note in later if note.holder == first.holder), None)
    taken = any(note.kind == "took" and note.holder != first.holder and (ended is None or note.at < ended.at) for note in later)
    wrong = next((life.error or "stuck" for life in lives if life.error or life.stuck or life.killed), "")
    verdict = judged_alone(order, run)
    verdict = replace(verdict, failure=verdict.failure or wrong)
    return Frozen(retry, point, verdict, taken, ended is not None and ended.kind == "fenced")


def judged_alone(order: Order, run: str) -> Verdict:
    """The verdict on one run. What it reported stands in its own journal, which a last look reads."""
    last = Life(stopped="answered", text=DONE, interrupted=reported(order, run))
    return judged(replace(order, run_id=run), [last])


def nursery_pair() -> tuple[Nursery, Nursery]:
    """Two of them, one for each worker."""
    return Nursery(MODULE), Nursery(MODULE)
