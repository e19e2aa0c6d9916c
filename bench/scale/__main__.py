"""The command line: `python -m bench.scale storm|growth|peers|all [--quick]`. It prints the results.

`--write` writes each section to `bench/results`. Ends with an error where an effect happened twice, a run was lost, an event is
missing or double, or a cancel didn't land.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bench.faults.postgres import started
from bench.scale.cluster import KEY, ClusterShape
from bench.scale.growth import measure_growth
from bench.scale.page import growth_section, page, peers_section, storm_section
from bench.scale.peers import run_peers
from bench.scale.storm import StormPlan, run_storm

RESULTS = Path(__file__).parents[1] / "results"
PEERS_PYTHON = Path(__file__).parents[2] / ".venv-faults" / "bin" / "python"
QUICK = {"kills": 20, "runs": 300, "watchers": 10, "cancels": 5, "kept": "1000", "by": "1,2", "measured": 40, "peer_kills": 10}
FULL = {
    "kills": 500,
    "runs": 10_000,
    "watchers": 200,
    "cancels": 200,
    "kept": "1000,10000,100000",
    "by": "1,2,4,6",
    "measured": 400,
    "peer_kills": 100,
}


def main() -> int:
    """Measure, and print it."""
    wanted = _parse()
    os.environ["TREADLE_KEY"] = KEY  # the same for all members and for this process
    problems: list[str] = []
    for what, measure in _SECTIONS.items():
        if wanted.what in (what, "all"):
            section, missed = measure(wanted)
            problems += missed
            text = page([section], f"python -m bench.scale {' '.join(sys.argv[1:])}".replace(" --write", ""))
            print(text, flush=True)
            if wanted.write:
                (RESULTS / f"scale-{what}.md").write_text(text, "utf-8")
    for problem in problems:
        print(f"missed: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _storm(wanted: Namespace) -> tuple[str, list[str]]:
    shape = ClusterShape(wanted.servers, wanted.workers, wanted.at_once, wanted.lease)
    plan = StormPlan(wanted.kills, wanted.runs, wanted.watchers, wanted.cancels, wanted.pause, wanted.minutes * 60, wanted.seed)
    folder = Path(tempfile.mkdtemp(prefix="treadle-scale-"))
    with started() as database:
        result = asyncio.run(run_storm(plan, shape, database, folder))
    if result.problems:
        print(f"The logs of all members are in {folder}.", *result.streams.examples, sep="\n", file=sys.stderr)
    else:
        shutil.rmtree(folder)
    return storm_section(result, shape), result.problems


def _growth(wanted: Namespace) -> tuple[str, list[str]]:
    workers, kept = ([int(each) for each in text.split(",")] for text in (wanted.by, wanted.kept))
    with started() as database, tempfile.TemporaryDirectory(prefix="treadle-scale-") as folder:
        points = asyncio.run(measure_growth(database, Path(folder), tuple(workers), tuple(kept), wanted.measured))
    return growth_section(points), []


def _peers(wanted: Namespace) -> tuple[str, list[str]]:
    shape = ClusterShape(0, wanted.workers, wanted.at_once, wanted.lease)
    with tempfile.TemporaryDirectory(prefix="treadle-scale-") as folder:
        results = asyncio.run(run_peers(wanted.python, wanted.peer_kills, wanted.pause, wanted.seed, shape, Path(folder)))
    ours = results[0]
    missed = {"effects twice": ours.effects_twice, "effects missing": ours.effects_missing, "runs lost": ours.lost}
    return peers_section(results, shape), [f"{count} {name}" for name, count in missed.items() if count]


_SECTIONS = {"storm": _storm, "growth": _growth, "peers": _peers}


def _parse() -> Namespace:
    parser = ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("what", choices=(*_SECTIONS, "all"))
    parser.add_argument("--quick", action="store_true", help="20 kills, 300 runs, 10 watchers")
    for name, words in (("kills", "kills"), ("runs", "runs of the storm"), ("watchers", "watchers"), ("cancels", "runs to cancel")):
        parser.add_argument(f"--{name}", type=int, help=words)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between two kills (default: 2)")
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--at-once", type=int, default=4, help="runs of a worker at once")
    parser.add_argument("--lease", type=float, default=2.0, help="seconds of a lease")
    parser.add_argument("--minutes", type=float, default=360.0, help="after which what isn't over counts as lost")
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--kept", help="kept runs of growth: 1000,10000,100000")
    parser.add_argument("--by", help="numbers of workers of growth: 1,2,4,6")
    parser.add_argument("--measured", type=int, help="runs of each measurement of growth")
    parser.add_argument("--peer-kills", type=int, help="kills that each of the other engines goes through")
    parser.add_argument("--python", default=str(PEERS_PYTHON), help="of the other engines' environment")
    parser.add_argument("--write", action="store_true", help="write the page to bench/results")
    wanted = parser.parse_args()
    for name, value in (QUICK if wanted.quick else FULL).items():
        if getattr(wanted, name) is None:
            setattr(wanted, name, value)
    return wanted


if __name__ == "__main__":
    raise SystemExit(main())
