"""Ceilings on a turn, and what happens at one. Pure: says whether a limit is reached; acting on it is `decide`."""

from typing import Literal

from msgspec import Struct

from treadle.core.requests import Usage

Ending = Literal["answer", "conclude", "last_text", "words", "fail"]


class Limits(Struct, frozen=True):
    """Ceilings on one turn; None is no ceiling. What nested agents spend counts too.

    rounds      replies that ask for tools
    calls       tool calls
    per_tool    calls of one tool, by name
    tokens      input and output together; the last answer is kept in reserve
    failures    calls whose tool failed: it raised, or took too long
    seconds     working time; waiting for a person doesn't count
    cost        US dollars; a run whose model has no known price is refused
    tries       how often one request to a model is tried before the run fails
    backoff     seconds before the second try; doubled for each further one
    at_limit    "answer" asks once more without tools; "conclude" does too, and an answer after the last round is a regular one;
                "last_text" takes the last words there are (else asks); "words" answers with `words`; "fail" ends the run as failed
    nudge_at    the repetition of a call at which the model is told so
    refuse_at   the repetition at which the call is refused and an answer asked for
    """

    rounds: int | None = 50
    calls: int | None = None
    per_tool: dict[str, int] = {}
    tokens: int | None = None
    failures: int | None = None
    seconds: float | None = None
    cost: float | None = None
    tries: int = 5
    backoff: float = 0.5
    at_limit: Ending = "answer"
    words: str = ""
    nudge_at: int = 3
    refuse_at: int = 5


class Spent(Struct, frozen=True):
    """What a turn has used so far, as far as limits care. `last_tokens` is the size of its last request and reply."""

    rounds: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    last_tokens: int = 0
    failures: int = 0


def reached(limits: Limits, spent: Spent) -> str:
    """Which limit leaves no room for another round, in words; empty where there is room.

    Tokens and money count the next request twice: the answer at the end must still fit.
    """
    usage = spent.usage
    if limits.rounds is not None and spent.rounds >= limits.rounds:
        return f"the limit of {_counted(limits.rounds, 'round')}"
    if limits.calls is not None and usage.calls >= limits.calls:
        return f"the limit of {_counted(limits.calls, 'call')}"
    if limits.tokens is not None and usage.total_tokens + 2 * spent.last_tokens > limits.tokens:
        return f"the limit of {_counted(limits.tokens, 'token')}"
    if limits.failures is not None and spent.failures >= limits.failures:
        return f"the limit of {_counted(limits.failures, 'failed call')}"
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return f"the limit of {limits.seconds:g} seconds"
    if limits.cost is not None and _next_cost(spent) > limits.cost:
        return f"the limit of ${limits.cost:g}"
    return ""


def _next_cost(spent: Spent) -> float:
    """What the turn will have cost after one more round and its answer, by what its tokens cost so far."""
    usage = spent.usage
    if usage.cost is None or not usage.total_tokens:
        return usage.cost or 0.0
    return usage.cost + 2 * spent.last_tokens * usage.cost / usage.total_tokens


def call_beyond(limits: Limits, calls: int, tool_name: str, tool_calls: int) -> str:
    """Why one more call is beyond a limit, in words; empty where it isn't."""
    if limits.calls is not None and calls >= limits.calls:
        return f"the limit of {_counted(limits.calls, 'call')}"
    most = limits.per_tool.get(tool_name)
    if most is not None and tool_calls >= most:
        return f"the limit of {_counted(most, 'call')} of {tool_name}"
    return ""


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
