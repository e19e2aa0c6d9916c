"""Everything one benchmark found, as one value; a section that was not run is None."""

from dataclasses import dataclass

from bench.crew import Faults
from bench.events import EventCost
from bench.imports import StartCost
from bench.load import LoadResult
from bench.machine import Machine
from bench.rounds import RoundsResult
from bench.together import TogetherResult


@dataclass(frozen=True, slots=True)
class Results:
    """The sections, where they were measured, and who was missing."""

    machine: Machine
    plan: str
    took_s: float
    absent: dict[str, str]
    rounds: RoundsResult | None = None
    wires: RoundsResult | None = None
    events: tuple[EventCost, ...] | None = None
    load: tuple[LoadResult, ...] | None = None
    imports: tuple[StartCost, ...] | None = None
    together: TogetherResult | None = None

    def faults_of(self, contender: str) -> list[Faults]:
        """What went wrong for a contender, in any section."""
        costs = [cost for found in (self.rounds, self.wires) if found for cost in found.costs]
        everything = (*costs, *(self.events or ()), *(self.load or ()))
        return [one.faults for one in everything if one.contender == contender]
