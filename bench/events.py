"""Section 3: CPU time of one streamed event, from a long text in many small pieces.

The cost of a one-piece reply is taken off, so that only the events remain.
"""

import statistics
from dataclasses import dataclass

from bench.contenders import FLOOR
from bench.crew import Crew, Faults, Reading, faults, has_patience, order, ratio, say
from bench.plan import Plan
from bench.scenario import Scenario


@dataclass(frozen=True, slots=True)
class EventCost:
    """A contender's median in microseconds an event, and the multiple of the floor."""

    contender: str
    events: int
    cpu_us: float
    cpu_ratio: float | None
    faults: Faults


def measure(workers: Crew, plan: Plan) -> tuple[EventCost, ...]:
    """A short and a long reply in every turn, everybody in turn."""
    pairs: dict[str, list[tuple[Reading, Reading]]] = {}
    say(f"events: a text of {plan.events}")
    for _ in range(plan.turns):
        for contender in workers.contenders:
            mine = pairs.setdefault(contender.name, [])
            if has_patience(contender, [long for _, long in mine], plan):
                pair = _pair(workers, contender.name, plan)
                mine += [pair] if pair else []
    floor = [_per_event(pair, plan) for pair in pairs.get(FLOOR, [])]
    return tuple(_cost(name, mine, floor, plan) for name, mine in pairs.items() if mine)


def _pair(workers: Crew, name: str, plan: Plan) -> tuple[Reading, Reading] | None:
    readings = []
    for events in (1, plan.events):
        wanted = order("sample", Scenario(0, 0, events=events), True, seconds=plan.sample_seconds, marks=False)
        answer = workers.ask(name, wanted)
        if answer is None:
            return None
        readings.append(answer)
    return readings[0], readings[1]


def _per_event(pair: tuple[Reading, Reading], plan: Plan) -> float:
    short, long = pair
    return (long["cpu"] - short["cpu"]) / (plan.events - 1)


def _cost(name: str, mine: list[tuple[Reading, Reading]], floor: list[float], plan: Plan) -> EventCost:
    each = [_per_event(pair, plan) for pair in mine]
    runs = [reading for pair in mine for reading in pair]
    median = statistics.median(each) * 1e6
    return EventCost(name, plan.events, median, ratio(each, floor), faults(runs))
