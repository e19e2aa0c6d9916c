"""What the model reads of a person's answer about a call: that it was refused, or what happened to an unclear one. Pure."""

from typing import assert_never

from treadle.core.calls import Result
from treadle.core.entries import Refused, Settled

UNNAMED_USER = "A person"


def refusal_result(call_id: str, name: str, entry: Refused) -> Result:
    """Return the result of a call that a person refused."""
    words = f"{entry.by or UNNAMED_USER} refused this call{': ' + entry.reason if entry.reason else '.'}"
    return Result(call_id, name, words, "denied")


def settlement_result(call_id: str, name: str, entry: Settled) -> Result | None:
    """Return the result of a call that was interrupted by a crash; None where it is to be tried again."""
    who = entry.by or UNNAMED_USER
    told = f" Their words: {entry.words}" if entry.words else ""
    begun = "The process ended while this call was running."
    match entry.said:
        case "happened":
            return Result(call_id, name, f"{begun} {who} says that it took effect, so it was not run again.{told}")
        case "not_happened":
            words = (
                f"{begun} {who} says that it did not take effect. It was not run again; call it again if it is still wanted.{told}"
            )
            return Result(call_id, name, words, "interrupted")
        case "again":
            return None
        case _:
            assert_never(entry.said)
