"""Section 2: what a round costs over each wire, beside a loop that was written by hand for that wire.

The same agent and the same task; the providers' own ways of writing differ, also in how much they send.
"""

from dataclasses import replace

from bench import rounds
from bench.contenders import WIRE_FLOORS, WIRES
from bench.crew import Absent, crew
from bench.plan import Plan
from bench.rounds import RoundsResult


def measure(base_url: str, plan: Plan, absent: Absent) -> RoundsResult:
    """One call a round, streamed and whole, short runs and the longest."""
    floors = {wire: floor.name for wire, floor in WIRE_FLOORS.items()}
    with crew([*WIRE_FLOORS.values(), *WIRES], base_url, absent) as workers:
        return rounds.measure(workers, replace(plan, rounds=plan.wire_rounds, calls=(1,)), floors)
