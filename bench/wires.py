"""Section 2: what a round costs over each wire, beside the floor, which speaks chat completions.

The same agent and the same task; the providers' own ways of writing differ, also in how much they send.
"""

from dataclasses import replace

from bench import rounds
from bench.contenders import FLOOR, WIRES, named
from bench.crew import Absent, crew
from bench.plan import Plan
from bench.rounds import RoundsResult


def measure(base_url: str, plan: Plan, absent: Absent) -> RoundsResult:
    """One call a round, streamed and whole, short runs and the longest."""
    with crew([named(FLOOR), *WIRES], base_url, absent) as workers:
        return rounds.measure(workers, replace(plan, rounds=plan.wire_rounds, calls=(1,)))
