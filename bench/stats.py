"""`python -m bench.stats`: what `treadle stats` costs: counting 10,000 runs with 5 calls each, and asking again when little is new.

Beside each figure stands the least that the same work can cost, measured in the same run: reading and decoding every line of the
journal once. CPU time, which a busy machine distorts least. What is over its goal is marked, and the command then exits with 1.
The table goes to standard output and to `bench/results/stats.md`.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from sqlite3 import Connection

from bench.report import figure, table, times
from treadle.core.calls import Allow, Call, ProblemKind, Result, Written
from treadle.core.entries import Entry, Finished, Judged, Opened, Replied, Returned, Said, decode, encode
from treadle.core.messages import Text
from treadle.core.requests import Usage
from treadle.stores.sqlite import open_sqlite
from treadle.stores.stats.aggregation import update_stats
from treadle.stores.stats.store import build_report
from treadle.stores.stats.values import StatsQuery

RESULTS = Path(__file__).parent / "results" / "stats.md"
CALLS = 5
NEW = 100  # runs that are new when somebody asks again
TOOLS = ("read_file", "search_code", "run_tests", "apply_edit", "ask_database")
DAY = 86_400.0
BEGAN = 1_790_000_000.0
GOALS = {"the first time": 5.0, "again, nothing new": 0.02, f"again, {NEW} runs are new": 0.1}  # multiples of the floor


def entries_of(number: int) -> Iterator[Entry]:
    """A run in which each reply asks for one tool, with results of about two kilobytes."""
    at = BEGAN + number % 90 * DAY + number
    yield Opened(agent=f"agent{number % 5}", model=f"model{number % 3}", user="", at=at)
    yield Said(text="Find out why the build fails.", at=at)
    for place in range(CALLS):
        call_id, name = f"call_{place}", TOOLS[(number + place) % len(TOOLS)]
        problem: ProblemKind | None = "raised" if (number + place) % 17 == 0 else None
        yield Replied(parts=(Written(call_id, name, '{"path": "a.py"}'),), finish="calls", usage=Usage(1, 0, 2000, 40), at=at)
        yield Judged(call=Call(call_id, name, {"path": "a.py"}), verdict=Allow(), at=at)
        result = Result(call_id, name, "def build(): pass\n" * 110, problem)
        yield Returned(result=result, seconds=0.001 * (1 + number % 97), at=at)
    yield Replied(parts=(Text("It is fixed."),), usage=Usage(1, 0, 3000, 60), at=at)
    yield Finished(stopped="answered", text="It is fixed.", at=at)


def fill(connection: Connection, numbers: range) -> None:
    """Put runs into the journal, as it keeps them: a row for each round."""
    connection.execute("BEGIN")
    for number in numbers:
        run_id = f"{number * 2654435761 % 2**32:08x}{number:08x}"
        lines = [encode(entry) for entry in entries_of(number)]
        bounds = [0, *range(2, len(lines), 3), len(lines)]
        for start, end in pairwise(bounds):
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (run_id, start, end, b"\n".join(lines[start:end])))
        about = (run_id, "", "agent", "model", "", "title", "answered", BEGAN, BEGAN)
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", about)
    connection.execute("COMMIT")


def scan(connection: Connection) -> None:
    """The floor: every line, decoded once."""
    for (lines,) in connection.execute("SELECT lines FROM entries"):
        for line in lines.split(b"\n"):
            decode(line)


def seconds(work: Callable[[], object]) -> float:
    """CPU time of a piece of work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(path: Path, runs: int) -> tuple[dict[str, float], dict[str, float], float]:
    """Seconds of counting, seconds of asking, and the floor's."""
    with closing(open_sqlite(path)) as connection:
        fill(connection, range(runs))
        floor = min(seconds(lambda: scan(connection)) for _ in range(2))
        counting = {"the first time": seconds(lambda: update_stats(connection))}
        counting["again, nothing new"] = seconds(lambda: update_stats(connection))
        fill(connection, range(runs, runs + NEW))
        counting[f"again, {NEW} runs are new"] = seconds(lambda: update_stats(connection))
        asking = {
            f"by {by}": seconds(lambda by=by: build_report(connection, StatsQuery(by))) for by in ("tool", "assistant", "day")
        }
        week = StatsQuery("tool", since=BEGAN + 83 * DAY)
        asking["by tool, the last seven of ninety days"] = seconds(lambda: build_report(connection, week))
    return counting, asking, floor


def render(runs: int, counting: dict[str, float], asking: dict[str, float], floor: float) -> tuple[str, bool]:
    """The tables, and whether all goals are kept."""
    kept = {name: took <= GOALS[name] * floor for name, took in counting.items()}
    rows = [
        (name, figure(1000 * took), times(took / floor) if took > floor else f"{took / floor:.3f}x", f"{GOALS[name]}x")
        for name, took in counting.items()
    ]
    asked = [(name, figure(1000 * took), f"{took / floor:.2f}x") for name, took in asking.items()]
    parts = [
        f"# Statistics: {runs:,} runs with {CALLS} calls each",
        f"Floor: every line of the journal read and decoded once, {figure(1000 * floor)} ms of CPU.",
        table(("counting", "CPU, ms", "of the floor", "goal"), rows),
        table(("asking", "CPU, ms", "of the floor"), asked),
    ]
    return "\n\n".join(parts) + "\n", all(kept.values())


def main() -> int:
    """Measure, print, and keep the report."""
    options = argparse.ArgumentParser(prog="python -m bench.stats")
    options.add_argument("--runs", type=int, default=10_000)
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        text, kept = render(runs, *measure(Path(folder) / "treadle.db", runs))
    print(text)
    if runs == options.get_default("runs"):
        RESULTS.write_text(text)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
