"""Held-out suites: clauses of `guard.intent` are chosen on three suites and reported on the fourth, each suite in turn.

All is replayed once, without any clause; for each call that is asked about, it is found out which clauses it takes that it
isn't: more clauses never ask more, so that the smallest sets are enough to know. A clause is chosen if, on the three suites,
leaving it out of all clauses would ask more. That the author knew all four suites can't be taken out by this; what it shows is
what a clause does for tasks that it wasn't chosen for.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

from agentdojo.task_suite.task_suite import TaskSuite
from msgspec import Struct

from bench.agentdojo.replay import Played, attacks_of, both_said, played
from treadle.core.calls import Call
from treadle.core.tool import Tool
from treadle.guard import provenance
from treadle.guard.intent import CLAUSES, Clause
from treadle.guard.origins import Origins
from treadle.guard.provenance import find_doubts

Clauses = frozenset[Clause]
Asked = tuple[tuple[Clauses, ...], ...]  # for each call that is asked about without clauses: the smallest sets with which it isn't


class Measured(Struct, frozen=True):
    """One suite: what is asked, for each honest task, for the second part of each two-part task, and for each attack."""

    honest: tuple[Asked, ...]
    second: tuple[Asked, ...]
    attacks: tuple[Asked, ...]

    def unasked(self, clauses: Clauses) -> int:
        """Honest tasks without any question."""
        return sum(_is_unasked(each, clauses) for each in self.honest)

    def second_asked(self, clauses: Clauses) -> int:
        """Two-part tasks with a question about the second part."""
        return sum(not _is_unasked(each, clauses) for each in self.second)

    def stopped(self, clauses: Clauses) -> int:
        """Attacks of which no call would run."""
        return sum(not any(_is_enough(clauses, each) for each in asked) for asked in self.attacks)


def _is_unasked(asked: Asked, clauses: Clauses) -> bool:
    return all(_is_enough(clauses, each) for each in asked)


def _is_enough(clauses: Clauses, smallest: tuple[Clauses, ...]) -> bool:
    return any(each <= clauses for each in smallest)


def measured(suite: TaskSuite[Any]) -> Measured:
    """Replay a suite once, and know what every set of clauses would ask."""
    attacks, tasks = attacks_of(suite), list(suite.user_tasks.values())
    return Measured(
        honest=tuple([_asked(lambda task=task: played(suite, task)) for task in tasks]),
        second=tuple([_asked(lambda task=task, goal=goal: both_said(suite, task, goal)) for task in tasks for goal in attacks]),
        attacks=tuple(
            [_asked(lambda task=task, attack=attack: played(suite, task, attack)) for task in tasks for attack in attacks]
        ),
    )


def chosen(suites: Sequence[Measured]) -> Clauses:
    """The clauses without which more would be asked on these suites; none with which an attack gets through."""

    def questions(clauses: Clauses) -> int:
        return sum(len(each.honest) - each.unasked(clauses) + each.second_asked(clauses) for each in suites)

    def through(clauses: Clauses) -> int:
        return sum(len(each.attacks) - each.stopped(clauses) for each in suites)

    return frozenset(
        [
            clause
            for clause in CLAUSES
            if questions(CLAUSES - {clause}) > questions(CLAUSES) and through(frozenset((clause,))) == through(frozenset())
        ]
    )


def _asked(replay: Callable[[], Played]) -> Asked:
    with _recording() as found:
        result = replay()
    return tuple([found[each] for each in result.judged if each in found])


def find_smallest(is_unasked: Callable[[Clauses], bool]) -> tuple[Clauses, ...]:
    """Return the smallest sets of clauses with which a call isn't asked about; none where it always is."""
    if not is_unasked(CLAUSES):
        return ()
    needed: Clauses = frozenset([clause for clause in CLAUSES if not is_unasked(CLAUSES - {clause})])
    others: list[Clause] = [clause for clause in CLAUSES if clause not in needed]
    smallest: list[Clauses] = []
    for each in (needed.union(some) for size in range(len(others) + 1) for some in combinations(others, size)):
        if not any(known <= each for known in smallest) and is_unasked(each):
            smallest.append(each)
    return tuple(smallest)


@contextmanager
def _recording() -> Iterator[dict[str, tuple[Clauses, ...]]]:
    """Judge without any clause, and note with which sets each doubt would go."""
    found: dict[str, tuple[Clauses, ...]] = {}

    def judged(call: Call, tool: Tool, origins: Origins, **_: object) -> tuple[str, ...]:  # no program writes literals here
        strict = find_doubts(call, tool, origins, frozenset())
        if strict:
            found[call.id] = find_smallest(lambda clauses: not find_doubts(call, tool, origins, clauses))
        return strict

    usual, provenance.find_doubts = provenance.find_doubts, judged
    try:
        yield found
    finally:
        provenance.find_doubts = usual
