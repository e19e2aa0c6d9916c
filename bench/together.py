"""Section 6: four synchronous functions of 100 ms each, asked for in one reply. One after the other they would take 400 ms.

Wall time, from the start of the first to the end of the last; Treadle only. Runs as a process of its own, like all the others.
"""

import statistics
import time
from dataclasses import dataclass

from bench.processes import child

CALLS = 4
SLEEP = 0.1
TURNS = 15


@dataclass(frozen=True, slots=True)
class TogetherResult:
    """Milliseconds that all four took: the middle and the worst of so many replies."""

    turns: int
    median_ms: float
    worst_ms: float


def measure() -> TogetherResult:
    """Ask a process of its own."""
    with child("bench.together") as process:
        walls = [float(text) for text in process.line(timeout=60).split()]
    return TogetherResult(len(walls), statistics.median(walls), max(walls))


def _walls() -> list[float]:
    from treadle import Agent, tool
    from treadle.models.scripted import calls
    from treadle.testing import Scripted

    times: list[float] = []

    @tool(effect="read")
    def wait(number: int) -> int:
        """Take a while.

        :param number: which one this is
        """
        times.append(time.perf_counter())
        time.sleep(SLEEP)
        times.append(time.perf_counter())
        return number

    walls: list[float] = []
    for _ in range(TURNS):
        times.clear()
        model = Scripted(calls(*[("wait", {"number": number}) for number in range(CALLS)]), "done")
        Agent(model, tools=[wait]).run_sync("Wait.")
        walls.append((max(times) - min(times)) * 1000)
    return walls


if __name__ == "__main__":
    print(" ".join(f"{wall:.3f}" for wall in _walls()), flush=True)
