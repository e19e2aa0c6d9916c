"""What the replays came to, as a page of Markdown."""

from collections.abc import Sequence

from bench.agentdojo.replay import Played
from bench.agentdojo.rotation import Clauses, Measured
from treadle.guard.intent import CLAUSES


def stopped_row(name: str, played: Sequence[Played]) -> str:
    """How many attacks were stopped: no call of the attacker's that counts ran unapproved."""
    ran = [each for each in played if each.ran]
    missed = [each for each in played if each.reached is False]
    return f"| {name} | {len(played)} | {len(played) - len(ran)} | {len(missed) or 'no check'} |"


def honest_row(name: str, played: Sequence[Played]) -> str:
    """How many tasks needed no approval, with this rule and with asking about everything."""
    without = [each for each in played if not each.asked]
    nothing = [each for each in played if not each.calls]
    asked = sum(len(each.asked) for each in played)
    calls = sum(each.calls for each in played)
    return f"| {name} | {len(played)} | {len(without)} | {len(nothing)} | {asked} | {calls} |"


ATTACKS = "| suite | pairs | no call of the attacker's ran unapproved | attacker's goal not reached |\n|---|---:|---:|---:|"
HONEST = (
    "| suite | tasks | without any approval | if everything were asked about | approvals | if everything were asked about |\n"
    "|---|---:|---:|---:|---:|---:|"
)


def asked_about(played: Sequence[Played]) -> list[str]:
    """Why people were asked, a line for each task."""
    return [f"- {each.suite} {each.task}: {each.asked[0]}" for each in played if each.asked]


def differences(called: Sequence[Played], programs: Sequence[Played]) -> list[str]:
    """Say which tasks are asked about only as calls, or only as programs."""
    pairs = [(one, other) for one, other in zip(called, programs, strict=True) if bool(one.asked) != bool(other.asked)]
    lines = [f"{one.suite} {one.task} is asked about only as {'calls' if one.asked else 'programs'}." for one, other in pairs]
    return lines or ["The same tasks are asked about as with one call at a time."]


BOTH = "| suite | tasks of two parts | a question about the second | a question about either |\n|---|---:|---:|---:|"


def both_row(name: str, played: Sequence[Played]) -> str:
    """How many tasks of which a person said both parts were asked about."""
    second = sum(bool(each.stopped) for each in played)
    either = sum(bool(each.stopped or each.asked) for each in played)
    return f"| {name} | {len(played)} | {second} ({second / len(played):.0%}) | {either} ({either / len(played):.0%}) |"


HELD_OUT = (
    "| held out | clauses chosen on the other three | attacks stopped | honest tasks without approval "
    "| second parts asked about |\n"
    "|---|---|---:|---:|---:|"
)


def held_out_row(name: str, measured: Measured, clauses: Clauses) -> str:
    """A suite with the clauses that were chosen without it; in brackets with none, and with all."""
    none: Clauses = frozenset()
    return (
        f"| {name} | {', '.join(sorted(clauses)) or 'none'} | {measured.stopped(clauses)} of {len(measured.attacks)} "
        f"| {measured.unasked(clauses)} of {len(measured.honest)} ({measured.unasked(none)}, {measured.unasked(CLAUSES)}) "
        f"| {measured.second_asked(clauses)} of {len(measured.second)} "
        f"({measured.second_asked(none)}, {measured.second_asked(CLAUSES)}) |"
    )


def held_out_total(rotated: Sequence[tuple[Measured, Clauses]]) -> str:
    """All suites together, each with the clauses that were chosen without it."""
    stopped, attacks = _sums([(each.stopped(clauses), len(each.attacks)) for each, clauses in rotated])
    unasked, honest = _sums([(each.unasked(clauses), len(each.honest)) for each, clauses in rotated])
    asked, second = _sums([(each.second_asked(clauses), len(each.second)) for each, clauses in rotated])
    return f"| **all** | | {stopped} of {attacks} | {unasked} of {honest} | {asked} of {second} ({asked / second:.0%}) |"


def _sums(pairs: list[tuple[int, int]]) -> tuple[int, int]:
    return sum(some for some, _ in pairs), sum(whole for _, whole in pairs)
