"""The one task every contender runs, and the label that tells the mock server its size.

The label travels in the prompt, so one client and one agent serve every size. No measuring here.
"""

import re
from dataclasses import dataclass
from typing import Self

INSTRUCTIONS = (
    "You are a careful clerk. Work through the list with the tools you were given, one step "
    "at a time, never guess a number, and finish with a single short sentence."
)
MODEL = "gpt-bench"

_LABEL = re.compile(r"bench-r(\d+)-p(\d+)-d(\d+)-e(\d+)")


@dataclass(frozen=True, slots=True)
class Scenario:
    """So many rounds of so many calls, then a final text of so many pieces."""

    rounds: int
    calls: int
    delay_ms: int = 0
    events: int = 1

    @property
    def label(self) -> str:
        """The size, as the server reads it: `bench-r10-p4-d50-e1`."""
        return f"bench-r{self.rounds}-p{self.calls}-d{self.delay_ms}-e{self.events}"

    @property
    def prompt(self) -> str:
        """What the user asks."""
        return f"Please do the sums of list {self.label} and tell me when you are done."

    @property
    def pieces(self) -> tuple[str, ...]:
        """The final text as a streaming server would cut it."""
        return (*(f"word{number:05d} " for number in range(self.events - 1)), "done.")

    @property
    def total_calls(self) -> int:
        """How many tool calls an honest run makes."""
        return self.rounds * self.calls

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a label back."""
        found = _LABEL.search(text)
        if found is None:
            raise ValueError(f"no scenario in {text[:80]!r}; expected bench-r<n>-p<n>-d<n>-e<n>")
        return cls(*map(int, found.groups()))
