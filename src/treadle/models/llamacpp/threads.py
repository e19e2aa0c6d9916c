"""Number of threads for a model: one per core, without the busy ones. A thread that waits for a core stalls all others.

The cores are sampled when the model is loaded. The system's load average reports what was a minute ago.
"""

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")
_SAMPLE_SECONDS = 0.3  # seconds
_IDLE, _WAITING = 3, 4  # columns of a core's line: nothing to do, and waiting for a disk


def choose_thread_count(seconds: float = _SAMPLE_SECONDS) -> int:
    """Return how many threads to use. Samples the machine for this many seconds."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, round(cores - _count_busy_cores(cores, seconds))))


def _count_busy_cores(cores: int, seconds: float) -> float:
    """Return how many cores' worth of work the machine does now, as far as that is known."""
    if not _STAT.exists():
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    idle, total = _read_ticks()
    time.sleep(seconds)
    idle_since, total_since = _read_ticks()
    passed = max(total_since - total, 1)
    return cores * (1 - (idle_since - idle) / passed)


def _read_ticks() -> tuple[int, int]:
    """Return the idle time of all cores, and their total time."""
    numbers = [int(number) for number in _STAT.read_text("ascii").partition("\n")[0].split()[1:9]]
    return numbers[_IDLE] + numbers[_WAITING], sum(numbers)
