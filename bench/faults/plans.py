"""Which calls a run makes, round by round, and what a model that sticks to that asks for next. Pure.

A call is a retry class and a number. A reply that was cut off is asked for once more, and nothing twice.
"""

from collections.abc import Collection, Sequence

Call = tuple[str, int]
Plan = tuple[tuple[Call, ...], ...]

CLASSES = ("read", "idempotent", "keyed", "checkable", "once")
SILENT = ("read",)  # has no effect
HARMLESS = ("idempotent",)  # may happen again
DONE = "all done"

_SIZES = (1, 2, 1, 3, 1, 1, 2, 1, 1, 3, 1, 1, 2)  # calls of each round; twenty in all


def plan_of(name: str) -> Plan:
    """`twenty` and `five` have all classes in turn, `few:CLASS` four calls of one, `steps:CLASS` twenty one after the other."""
    what, _, retry = name.partition(":")
    match what:
        case "twenty":
            return _rounds(_SIZES, CLASSES)
        case "five":
            return _rounds((1, 2, 1, 1), CLASSES)
        case "few":
            return _rounds((1, 2, 1), (retry,))
        case "steps":
            return _rounds((1,) * 20, (retry,))
        case _:
            raise ValueError(f"There is no plan {name!r}; write twenty, five, few:CLASS or steps:CLASS.")


def _rounds(sizes: Sequence[int], classes: Sequence[str]) -> Plan:
    rounds: list[tuple[Call, ...]] = []
    number = 0
    for size in sizes:
        rounds.append(tuple([(classes[each % len(classes)], each) for each in range(number, number + size)]))
        number += size
    return tuple(rounds)


def next_round(plan: Plan, asked: Collection[Call]) -> tuple[Call, ...]:
    """What is still to be asked for; nothing where all of it was."""
    for calls in plan:
        missing = tuple([call for call in calls if call not in asked])
        if missing:
            return missing
    return ()


def named(call: Call) -> str:
    """A call as the world and the reports write it: `once 3`."""
    return f"{call[0]} {call[1]}"


def calls_of(plan: Plan) -> list[Call]:
    """All of them."""
    return [call for calls in plan for call in calls]
