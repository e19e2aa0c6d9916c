"""How many threads a model gets: a core each, without those that are busy already. One that waits for its turn stalls all others.

How busy cores are is looked at when the model is loaded. The system's load average tells what was a minute ago.
"""

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")
_LOOK = 0.3  # seconds
_IDLE, _WAITING = 3, 4  # columns of a core's line: nothing to do, and waiting for a disk


def usual_threads(seconds: float = _LOOK) -> int:
    """How many threads to use. Looks at the machine for as long."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, round(cores - _busy(cores, seconds))))


def _busy(cores: int, seconds: float) -> float:
    """How many cores' worth of work the machine does now, as far as that is known."""
    if not _STAT.exists():
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    idle, total = _ticks()
    time.sleep(seconds)
    idle_since, total_since = _ticks()
    passed = max(total_since - total, 1)
    return cores * (1 - (idle_since - idle) / passed)


def _ticks() -> tuple[int, int]:
    """Time that all cores were idle, and all time."""
    numbers = [int(number) for number in _STAT.read_text("ascii").partition("\n")[0].split()[1:9]]
    return numbers[_IDLE] + numbers[_WAITING], sum(numbers)
