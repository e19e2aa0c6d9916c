"""The outcome of a run that was killed: counted in the world, compared with its plan, its report and what each life found.

A run is right if its answer came, nothing happened twice that may happen once, nothing is missing without having been reported,
and exactly those `once` calls were reported that some process left begun and unfinished.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bench.faults.logs import Log, Note
from bench.faults.orders import Life, Order
from bench.faults.plans import DONE, HARMLESS, SILENT, calls_of, named, plan_of
from bench.faults.world import World


class Verdict(Struct, frozen=True):
    """How it went with one run.

    repeated    effects that happened more often than once, and may not
    again       effects that happened again, and may: those of idempotent tools
    lost        effects that never happened, and weren't reported either
    reported    `once` calls of which the run says that they were interrupted
    unresolved  `once` calls that a process left begun and unfinished: those that have to be reported
    failure     what else is wrong: no answer, stuck, forgotten although somebody had been told, a broken audit
    resumed     seconds from the beginning of each further life to its first call; `resumed_cold`, of a new interpreter's
    """

    kills: int = 0
    repeated: int = 0
    again: int = 0
    lost: int = 0
    reported: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    failure: str = ""
    resumed: tuple[float, ...] = ()
    resumed_cold: tuple[float, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether what was reported is what had to be."""
        return self.reported == self.unresolved

    @property
    def right(self) -> bool:
        """Whether all is well."""
        return not (self.repeated or self.lost or self.failure) and self.exact


def judged(order: Order, lives: Sequence[Life]) -> Verdict:
    """The verdict on a run after its last life, by what lives noted."""
    return judged_by(order, lives, Log(Path(order.folder) / "lives").notes(order.run_id))


def judged_by(order: Order, lives: Sequence[Life], notes: Sequence[Note]) -> Verdict:
    """The verdict on a run after its last life."""
    happened = World(Path(order.folder) / "world").counted(order.run_id)
    last = lives[-1]
    works = [note for note in notes if note.kind == "works"][1:]
    effects = [call for call in calls_of(plan_of(order.plan)) if call[0] not in SILENT]
    strict = [named(call) for call in effects if call[0] not in HARMLESS]
    harmless = [named(call) for call in effects if call[0] in HARMLESS]
    return Verdict(
        kills=sum(life.killed for life in lives),
        repeated=sum(happened[effect] - 1 for effect in strict if happened[effect] > 1),
        again=sum(happened[effect] - 1 for effect in harmless if happened[effect] > 1),
        lost=sum(not happened[effect] and effect not in last.interrupted for effect in [*strict, *harmless]),
        reported=last.interrupted,
        unresolved=unresolved(notes),
        failure=_failure(last, lives, notes),
        resumed=tuple([note.seconds for note in works if not note.cold]),
        resumed_cold=tuple([note.seconds for note in works if note.cold]),
    )


def unresolved(notes: Sequence[Note]) -> tuple[str, ...]:
    """The `once` calls that some life found begun and unfinished."""
    return tuple(sorted({call for note in notes for call in note.open if call.startswith("once ")}))


def _failure(last: Life, lives: Sequence[Life], notes: Sequence[Note]) -> str:
    if any(life.stuck for life in lives):
        return "stuck"
    if last.error:
        return last.error
    if (last.stopped, last.text) != ("answered", DONE):
        return f"{last.stopped or 'killed'}: {last.text}"
    return _forgotten(notes) or last.audit


def _forgotten(notes: Sequence[Note]) -> str:
    """Whether the run was gone although somebody had been told of it."""
    told = False
    for note in notes:
        if note.kind == "born" and told and not note.known:
            return "the run was forgotten"
        told = told or note.kind == "told"
    return ""
