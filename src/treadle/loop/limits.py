"""Ceilings on a turn, and what happens at one. Pure: says whether a limit is reached; acting on it is `decide`."""

from collections.abc import Iterator
from typing import Literal, get_args

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
    futile_at   calls of one tool in a row that all bring the same error, or nothing, whatever their arguments, after which the
                model is told so; after twice as many they are refused and an answer asked for
    output_retries  how often an answer that doesn't fit the output type, or that a validator rejects, may be given again
    continuations   how often an answer that was cut at the model's output limit is continued; one that was cut at
                `Options.max_tokens` isn't
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
    futile_at: int = 6
    output_retries: int = 3
    continuations: int = 5


_ABOVE_ZERO = ("rounds", "calls", "tokens", "failures", "seconds", "cost")


def find_limit_mistakes(limits: Limits) -> Iterator[str]:
    """Yield a sentence for each value that can't be meant."""
    for name in _ABOVE_ZERO:
        most = getattr(limits, name)
        if most is not None and not most > 0:  # nor NaN, which is above nothing
            yield f"Limits.{name} is {most}, which leaves nothing; None is no limit."
    for name, most in limits.per_tool.items():
        if most < 0:
            yield f"Limits.per_tool is {most} for {name}; 0 forbids its calls, and a tool that isn't named has no limit."
    if limits.tries < 1:
        yield f"Limits.tries is {limits.tries}; a request has to be tried at least once."
    if limits.continuations < 0:
        yield f"Limits.continuations is {limits.continuations}; 0 takes an answer that was cut off as it is."
    if not limits.backoff >= 0:
        yield f"Limits.backoff is {limits.backoff}; it is the seconds before the second try, from 0 up."
    if limits.at_limit not in get_args(Ending):
        yield f"Limits.at_limit can't be {limits.at_limit!r}; there are {', '.join(get_args(Ending))}."
    if limits.at_limit == "words" and not limits.words.strip():
        yield 'Limits.at_limit is "words", and Limits.words is empty.'
    yield from _find_repeat_mistakes(limits)


def _find_repeat_mistakes(limits: Limits) -> Iterator[str]:
    if not 1 < limits.nudge_at <= limits.refuse_at:
        yield "Limits.nudge_at has to be 2 or more, and Limits.refuse_at no less than that."
    if limits.futile_at < 2:
        yield f"Limits.futile_at is {limits.futile_at}; it has to be 2 or more."


class Spent(Struct, frozen=True, gc=False):
    """What a turn has used so far, as far as limits care. `last_tokens` is the size of its last request and reply."""

    rounds: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    last_tokens: int = 0
    failures: int = 0


def describe_exhausted(limits: Limits, spent: Spent) -> str:
    """Which limit leaves no room for another round, in words; empty where there is room."""
    name = find_exhausted(limits, spent)
    return describe_limit(limits, name) if name else ""


def find_exhausted(limits: Limits, spent: Spent) -> str:
    """Return the name of the limit that leaves no room for another round; empty where there is room.

    Tokens and money count the next request twice: the answer at the end must still fit.
    """
    usage = spent.usage
    if limits.rounds is not None and spent.rounds >= limits.rounds:
        return "rounds"
    if limits.calls is not None and usage.calls >= limits.calls:
        return "calls"
    if limits.tokens is not None and usage.total_tokens + 2 * spent.last_tokens > limits.tokens:
        return "tokens"
    if limits.failures is not None and spent.failures >= limits.failures:
        return "failures"
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return "seconds"
    if limits.cost is not None and _next_cost(spent) > limits.cost:
        return "cost"
    return ""


def describe_limit(limits: Limits, name: str) -> str:
    """Return a limit in words."""
    most = getattr(limits, name)
    match name:
        case "failures":
            return f"the limit of {_counted(most, 'failed call')}"
        case "seconds":
            return f"the limit of {most:g} seconds"
        case "cost":
            return f"the limit of ${most:g}"
        case _:
            return f"the limit of {_counted(most, name.removesuffix('s'))}"


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
