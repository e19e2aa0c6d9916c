"""How many threads a model gets."""

import os
import subprocess
import sys

from treadle.models.llamacpp import serve
from treadle.models.llamacpp.serve import choose_thread_count

CORES = len(os.sched_getaffinity(0))


def test_there_is_always_a_thread_and_never_more_than_cores():
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(CORES)]
    try:
        assert choose_thread_count(0.2) == 1
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert 1 <= choose_thread_count(0.05) <= CORES


def test_a_machine_that_is_busy_for_a_moment_is_looked_at_again(monkeypatch):
    samples = [2.0, 1.2, 0.1]
    monkeypatch.setattr(serve, "_count_busy_cores", lambda cores, seconds: min(cores, samples.pop(0)))
    assert choose_thread_count() == CORES
    assert not samples
