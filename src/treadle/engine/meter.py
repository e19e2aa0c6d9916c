"""Usage of a tree of runs: an agent that is another's tool spends its parent's budget."""

from typing import Protocol

from msgspec.structs import replace

from treadle.core.requests import Usage
from treadle.loop.limits import Limits, Spent, describe_exhausted
from treadle.loop.state import RunState


class MeteredRun(Protocol):
    """A run of the tree."""

    id: str
    state: RunState


class Meter:
    """Shared by a run and its nested runs. A nested run that is over counts in its parent's usage."""

    def __init__(self, limits: Limits) -> None:
        self._limits = replace(limits, rounds=None)  # rounds are each run's own
        self._runs: dict[str, MeteredRun] = {}

    def join(self, run: MeteredRun) -> None:
        """Add a run of the tree."""
        self._runs[run.id] = run

    def leave(self, run_id: str) -> None:
        """Remove a nested run that is over and about to be counted by its parent."""
        self._runs.pop(run_id, None)

    def calls_for(self, run_id: str) -> int | None:
        """Return how many calls a run of the tree may make in all, given what the others have made; None if unlimited."""
        most = self._limits.calls
        if most is None:
            return None
        return most - sum(run.state.spent.usage.calls for other, run in self._runs.items() if other != run_id)

    def exhausted_limit(self) -> str:
        """Return which limit of the tree's root is exhausted, as text; empty if none is."""
        spent = [run.state.spent for run in self._runs.values()]
        usage = sum((each.usage for each in spent), Usage())
        seconds = max(each.seconds for each in spent)
        last = max(each.last_tokens for each in spent)
        return describe_exhausted(self._limits, Spent(0, seconds, usage, last))
