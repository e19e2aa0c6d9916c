"""The benchmark's command line: `python -m bench [--quick] [--only section] [--contenders a,b]`.

Progress goes to standard error, the report to standard output and to `bench/results/`.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from bench import events, imports, load, rounds, together, wires
from bench.contenders import CONTENDERS, FLOOR, Contender, named
from bench.crew import Absent, crew
from bench.machine import describe
from bench.plan import FULL, QUICK, Plan
from bench.processes import mock_server
from bench.report import render, write
from bench.results import Results

SECTIONS = ("rounds", "wires", "events", "load", "import", "together")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write down."""
    wanted = _parse(arguments)
    plan = QUICK if wanted.quick else FULL
    sections = [wanted.only] if wanted.only else list(SECTIONS)
    results = measure(wanted.contenders, sections, plan)
    write(results, _name(results, wanted.contenders))
    print(render(results))


def measure(contenders: Sequence[Contender], sections: Sequence[str], plan: Plan) -> Results:
    """The sections asked for, all against one server."""
    started, machine, absent = time.perf_counter(), describe(), Absent()
    found: dict[str, Any] = {}
    with mock_server() as base_url:
        if {"rounds", "events"} & set(sections):
            with crew(contenders, base_url, absent) as workers:
                if "rounds" in sections:
                    found["rounds"] = rounds.measure(workers, plan)
                if "events" in sections:
                    found["events"] = events.measure(workers, plan)
        if "wires" in sections:
            found["wires"] = wires.measure(base_url, plan, absent)
        if "load" in sections:
            found["load"] = load.measure(contenders, base_url, plan, absent)
        if "import" in sections:
            found["imports"] = imports.measure(contenders, base_url, plan)
        if "together" in sections:
            found["together"] = together.measure()
    took = time.perf_counter() - started
    return Results(machine, plan.name, took, absent.reasons, **found)


def _name(results: Results, contenders: Sequence[Contender]) -> str:
    """Only a complete run may replace the record of the last complete one."""
    sections = (results.rounds, results.wires, results.events, results.load, results.imports, results.together)
    complete = None not in sections and len(contenders) == len(CONTENDERS)
    if not complete:
        return "partial"
    return "latest" if results.plan == FULL.name else "quick"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and samples")
    parser.add_argument("--only", choices=SECTIONS, help="one section")
    parser.add_argument(
        "--contenders",
        type=_contenders,
        default=list(CONTENDERS),
        help="names, separated by commas; the floor always takes part",
    )
    return parser.parse_args(arguments)


def _contenders(text: str) -> list[Contender]:
    try:
        chosen = [named(name) for name in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    floor = [] if any(one.name == FLOOR for one in chosen) else [named(FLOOR)]
    return [*floor, *chosen]


if __name__ == "__main__":
    sys.exit(main())
