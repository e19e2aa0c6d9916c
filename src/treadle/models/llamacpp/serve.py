"""The child process: loads a GGUF with xllamacpp and serves it on loopback for as long as the parent lives.

Its settings come as a line of JSON on stdin, its address is printed as one. When stdin closes, even because the parent was
killed, it exits. Only `child` starts it. The number of threads depends on how busy the cores are.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

LARGEST_BATCH, SMALLEST_BATCH = 64, 16  # tokens of a prompt that are read at once
_BATCH_WORK = 9e9  # bytes of weights times tokens that a thread computes in nearly half a second, of a core of 2.5 GHz
_STAT = Path("/proc/stat")
_SAMPLE_SECONDS = 0.3
_MOST_SAMPLES = 8  # of a machine that is busy: a page that opens, or a program that starts, is over by then
_IDLE, _WAITING = 3, 4  # columns of a core's line: nothing to do, and waiting for a disk


def main() -> None:
    """Serve until the parent exits."""
    settings = json.loads(sys.stdin.readline())
    server = _start_server(settings)
    print(json.dumps({"address": server.listening_address}), flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads may be in the middle of a reply without a reader


def _start_server(settings: dict[str, Any]) -> Any:
    from importlib import import_module

    xllamacpp: Any = import_module("xllamacpp")  # compiled, and without types
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["context"]
    params.n_parallel = settings["slots"]
    threads = settings["threads"] or choose_thread_count()
    params.n_batch = choose_batch(threads, Path(settings["path"]).stat().st_size)
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.api_keys = [settings["key"]]
    params.slot_save_path = os.path.join(settings["kept"], "")  # noqa: PTH118 - the slash at its end is what matters
    params.cache_ram_mib = 0  # what is worth keeping is kept on disk
    params.endpoint_slots = True
    params.warmup = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def choose_batch(threads: int, size: int) -> int:
    """Return how many tokens of a prompt a model of so many bytes reads at once: about as many as take half a second.

    A stop takes effect when the batch after the current one ends, at the latest. Small ones are slower: each reads all weights.
    """
    return max(SMALLEST_BATCH, min(LARGEST_BATCH, round(threads * _BATCH_WORK / size)))


def choose_thread_count(seconds: float = _SAMPLE_SECONDS) -> int:
    """Return how many threads to use. Samples the machine for this many seconds, and again for as long as it is busy.

    What counts is the least busy sample: the model is often loaded while the page that asks for it opens, and keeps its threads.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = 1
    for _ in range(_MOST_SAMPLES):
        threads = max(threads, min(cores, round(cores - _count_busy_cores(cores, seconds))))
        if threads == cores:
            break
    return threads


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


if __name__ == "__main__":
    main()
