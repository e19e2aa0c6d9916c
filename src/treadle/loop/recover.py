"""What to do about a call that had begun when its process died, by its tool's retry class. Pure.

Anything unknown is `once`: it never runs again, because it may already have taken effect.
"""

from typing import Literal, assert_never

from treadle.core.calls import Result, Retry

Recovery = Literal["again", "check", "never"]


def recovery(retry: Retry) -> Recovery:
    """Run it again (`keyed` ones with the same key), ask the tool whether it happened, or never touch it again."""
    match retry:
        case "read" | "idempotent" | "keyed":
            return "again"
        case "checkable":
            return "check"
        case "once":
            return "never"
        case _:
            assert_never(retry)


def interrupted_result(call_id: str, name: str) -> Result:
    """What the model and the person are told about a call that never runs again, where its outcome isn't reported."""
    words = (
        "This call was interrupted: the process ended while it was running, so it may or may not have taken effect. "
        "It was not run again. Find out what happened before you repeat it, and tell the person."
    )
    return Result(call_id, name, words, "interrupted")
