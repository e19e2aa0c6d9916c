"""`python -m bench.faults SECTION|all`: faults, counted. Each section leaves a page behind: `bench/results/faults*.md`."""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.faults import pages, troubles, worker_pages
from bench.faults.cluster import Crowd, crowded
from bench.faults.frozen import IN_FLIGHT, POINTS, Frozen, frozen, nursery_pair
from bench.faults.kills import Kills, killed
from bench.faults.looks import audited
from bench.faults.named import Place, Tried, every
from bench.faults.nurseries import ROOT, Nursery
from bench.faults.peers import read_version
from bench.faults.plans import CLASSES
from bench.faults.postgres import server, started
from bench.faults.restarts import Storm, weathered
from bench.faults.verdicts import Verdict

SECTIONS = ("points", "random", "cluster", "restarts", "frozen", "troubles", "peers")
ALL = {"sqlite": ("points", "random", "frozen", "troubles", "peers"), "postgres": ("points", "cluster", "restarts")}
PEERS = (  # what it is, which of its packages says the version, the module, and how
    ("DBOS {}, steps (SQLite)", "dbos", "dbos_steps", ""),
    ("LangGraph {}, SqliteSaver, async (default)", "langgraph", "langgraph_saver", "async"),
    ("LangGraph {}, SqliteSaver, sync", "langgraph", "langgraph_saver", "sync"),
    ("LangGraph {}, SqliteSaver, exit", "langgraph", "langgraph_saver", "exit"),
    ("pydantic-ai {} on DBOS, plain tool", "pydantic-ai-slim", "pydantic_ai_dbos", "plain"),
    ("pydantic-ai {} on DBOS, tool as a step", "pydantic-ai-slim", "pydantic_ai_dbos", "step"),
)
TROUBLES: tuple[Callable[[Path, Nursery], troubles.Trouble], ...] = (
    troubles.disk_full,
    partial(troubles.locked, held=5.0),
    partial(troubles.locked, held=35.0),
    partial(troubles.wal_cut, share=0.7),
    partial(troubles.wal_cut, share=0.0),
    partial(troubles.wal_scribbled, chance=random.Random(4711)),
)
OURS = ("once", "keyed", "checkable")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked for; 1 where anything of Treadle's went wrong."""
    wanted = _parse(arguments)
    sections = ALL[wanted.store] if wanted.section == "all" else (wanted.section,)
    right = True
    with _store(wanted.store) as url:
        for section in sections:
            right = _SECTIONS[section](wanted, url) and right
    return 0 if right else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("section", choices=(*SECTIONS, "all"))
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite", help="postgres: one is started for it")
    parser.add_argument("--kills", type=int, default=None, help="random: 1000; cluster: 500; peers: 30 each")
    parser.add_argument("--runs", type=int, default=2000, help="restarts: how many runs")
    parser.add_argument("--parallel", type=int, default=4, help="processes at once")
    parser.add_argument("--lease", type=float, default=2.0, help="cluster, restarts: seconds of a lease")
    parser.add_argument("--python", default=str(ROOT / ".venv-faults" / "bin" / "python"), help="of the peers' environment")
    return parser.parse_args(arguments)


@contextmanager
def _store(name: str) -> Generator[str]:
    """The address of the store; none for SQLite's files."""
    if name == "sqlite":
        yield ""
        return
    with server() as url:
        yield url


@contextmanager
def _folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="treadle-faults-") as root:
        yield Path(root)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _points(wanted: argparse.Namespace, url: str) -> bool:
    """Every point of every class, a process for each class."""
    with _folder() as root, ThreadPoolExecutor(wanted.parallel) as pool:

        def one(retry: str) -> list[Tried]:
            with Nursery() as nursery:
                home = root / "home" if url else None
                found = every(nursery, Place(root / retry, url, home=home), _wrong, (retry,))
            _say(f"{retry}: {len(found)} deaths, {sum(each.verdict.right for each in found)} right")
            return found

        found = [each for some in pool.map(one, CLASSES) for each in some]
        audit = audited(str(root / "home"), url) if url else ""
    print(pages.points_page(wanted.store, found, audit))
    return all(each.verdict.right for each in found) and not audit


def _wrong(each: Tried) -> None:
    if not each.verdict.right:
        _say(f"wrong: {each}")


def _random(wanted: argparse.Namespace, url: str) -> bool:
    what = Kills(wanted.kills or 1000, store=url, how="unverified", cold=True, parallel=wanted.parallel)
    began, seen = time.monotonic(), 0

    def told(verdict: Verdict) -> None:
        nonlocal seen
        seen += verdict.kills
        if not verdict.right:
            _say(f"wrong: {verdict}")
        _say(f"{seen} kills")

    with _folder() as folder:
        found = killed(what, folder, told)
        audit = audited(str(folder / "home"), url)
    print(pages.kills_page(wanted.store, what, found, time.monotonic() - began, audit))
    return all(each.right for each in found) and not audit


def _cluster(wanted: argparse.Namespace, url: str) -> bool:
    what = Crowd(wanted.kills or 500, url, lease=wanted.lease)
    began = time.monotonic()
    with _folder() as folder:
        found = crowded(what, folder, lambda kills: _say(f"{kills} kills"))
    print(worker_pages.cluster_page(wanted.store, what, found, time.monotonic() - began))
    return found.right


def _restarts(wanted: argparse.Namespace, url: str) -> bool:
    """On a server of its own, whose restarts are nobody else's trouble."""
    what = Storm(wanted.runs, lease=wanted.lease)
    with _folder() as folder, started() as own:
        found = weathered(what, own, folder, _say)
    print(worker_pages.restarts_page(what, found))
    return found.right


def _frozen(wanted: argparse.Namespace, url: str) -> bool:
    """Every class at every point, on SQLite and on PostgreSQL."""
    found: list[tuple[str, Frozen]] = []
    with _folder() as root, server() as postgres:
        for store, address in (("sqlite", ""), ("postgres", url or postgres)):
            found += [(store, each) for each in _frozen_on(root / store, address, wanted.parallel)]
    print(pages.frozen_page(found))
    return all(each.right or (each.point in IN_FLIGHT and each.retry == "checkable") for _, each in found)


def _frozen_on(root: Path, address: str, parallel: int) -> list[Frozen]:
    """All of them on one store, several pairs of workers at once."""
    todo = [(retry, point) for point in (*POINTS, *IN_FLIGHT) for retry in CLASSES if point not in _NEVER.get(retry, ())]

    def some(number: int) -> list[Frozen]:
        pair = nursery_pair()
        done: list[Frozen] = []
        for retry, point in todo[number::parallel]:
            folder = root / f"{retry}-{point.replace(' ', '-')}"
            folder.mkdir(parents=True)
            done.append(frozen(folder, pair, retry, point, address))
        for nursery in pair:
            nursery.__exit__(None, None, None)
        return done

    with ThreadPoolExecutor(parallel) as pool:
        return [each for part in pool.map(some, range(parallel)) for each in part]


_NEVER = {"read": ("before Started", "awaiting Started", "safe Started")}  # what has no effect says nothing before it begins


def _troubles(wanted: argparse.Namespace, url: str) -> bool:
    found: list[troubles.Trouble] = []
    with Nursery() as nursery:
        for trouble in TROUBLES:
            with _folder() as folder:
                found.append(trouble(folder, nursery))
                _say(f"{found[-1].what}: {'right' if found[-1].right else 'WRONG'}")
    print(pages.troubles_page(found))
    return all(each.right for each in found)


def _peers(wanted: argparse.Namespace, url: str) -> bool:
    """Ours by class, then the others, in the environment they need."""
    kills = wanted.kills or 30
    found: list[tuple[str, Kills, list[Verdict]]] = []
    for retry in OURS:
        what = Kills(kills, f"steps:{retry}", most=1, within=None, parallel=2, how="unverified", watched=False)
        found.append((f"**Treadle**, `{retry}` tools (SQLite)", what, _killed_once(what)))
    for name, package, module, how in PEERS:
        what = Kills(
            kills,
            "steps:once",
            most=1,
            within=None,
            parallel=2,
            how=how,
            watched=False,
            module=f"bench.faults.peers.{module}",
            python=wanted.python,
        )
        found.append((name.format(read_version(package)), what, _killed_once(what)))
    print(pages.peers_page(found))
    return all(each.right for name, _, verdicts in found if "Treadle" in name for each in verdicts)


def _killed_once(what: Kills) -> list[Verdict]:
    with _folder() as folder:
        found = killed(what, folder, lambda _: None)
    _say(f"{what.module} {what.plan} {what.how}: {sum(each.kills for each in found)} kills")
    return found


_SECTIONS = {
    "points": _points,
    "random": _random,
    "cluster": _cluster,
    "restarts": _restarts,
    "frozen": _frozen,
    "troubles": _troubles,
    "peers": _peers,
}


if __name__ == "__main__":
    sys.exit(main())
