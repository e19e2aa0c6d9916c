"""Whether a run came to what it has to come to, whatever its server did. Pure: looks at what was seen, and says what is wrong."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bench.model_faults.runs import Carried
from bench.model_faults.server import Asked
from bench.model_faults.wires import NOTHING, Tokens
from treadle.core.entries import Replied, Returned, Started
from treadle.core.messages import Text

EARLY = 0.002  # seconds that two clocks may differ by
NO_ANSWER = ("does not answer", "gave no answer")
MORE = 1.1  # what a wait that was asked for may become, for chance's sake


def flaws(carried: Carried) -> list[str]:
    """What is wrong with a run that had to finish."""
    return [*_unfinished(carried), *_effects(carried), *_shown(carried), *_counted(carried), *_waits(carried)]


def flaws_of_doomed(carried: Carried) -> list[str]:
    """What is wrong with a run that was refused for good: it has to end there, after nothing but what came before."""
    found = [*_effects(carried, doomed=True), *_counted(carried)]
    if carried.result.stopped != "failed" or "refused" not in carried.asked[-1].fate.kind:
        found.append(f"a refusal for good wasn't the end: {carried.result!r}")
    if sum(asked.fate.kind == "refused for good" for asked in carried.asked) != 1:
        found.append("what was refused for good was asked again")
    return [f"{carried.order.name}: {flaw}" for flaw in found]


def _unfinished(carried: Carried) -> Iterator[str]:
    if carried.result.stopped != "answered" or carried.order.name not in carried.result.text:
        yield f"{carried.order.name}: not finished: {carried.result.stopped}, {carried.result.reason}"


def _effects(carried: Carried, *, doomed: bool = False) -> Iterator[str]:
    """Each effect once, with its own arguments; in the journal, too, each call begun once and come back once."""
    wanted = carried.order.effects
    odd = {effect: count for effect, count in carried.effects.items() if wanted.get(effect) != count}
    if odd or (not doomed and carried.effects != wanted):
        yield f"{carried.order.name}: effects {carried.effects}, wanted {wanted}"
    begun = Counter([entry.call_id for entry in carried.journal if isinstance(entry, Started)])
    back = Counter([entry.result.call_id for entry in carried.journal if isinstance(entry, Returned)])
    if begun != back or set(begun.values()) - {1} or begun.total() != carried.effects.total():
        yield f"{carried.order.name}: begun {begun}, come back {back}"


def _shown(carried: Carried) -> Iterator[str]:
    """What a watcher keeps is what the journal has, each reply's words once."""
    said = [part.text for entry in carried.journal if isinstance(entry, Replied) for part in entry.parts if isinstance(part, Text)]
    if "".join(carried.screen.kept) != "".join(said) or len(set(said)) != len(said):
        yield f"{carried.order.name}: shown {carried.screen.kept}, said {said}"


def _counted(carried: Carried) -> Iterator[str]:
    """Requests exactly; tokens exactly as they were billed for what came whole, and of what broke no more than was told of it.

    Requests without any answer are known to the client alone: nobody listened, or they got no further than the system's queue.
    """
    usage = carried.result.usage
    unanswered = sum(any(words in retried.reason for words in NO_ANSWER) for retried in carried.screen.retried)
    answered = sum(not asked.headless for asked in carried.asked)
    if usage.requests != answered + unanswered:
        yield f"{carried.order.name}: {usage.requests} counted, {answered} answered, {unanswered} not"
    if (usage.input_tokens, usage.output_tokens) not in _sums([asked.told for asked in carried.asked]):
        yield f"{carried.order.name}: {usage} for {[asked.told for asked in carried.asked]}"


def _sums(told: Sequence[frozenset[Tokens]]) -> set[Tokens]:
    reached = {NOTHING}
    for each in told:
        reached = {(read + more, wrote + further) for read, wrote in reached for more, further in each}
    return reached


def _waits(carried: Carried) -> Iterator[str]:
    """What a server asked for is waited for, and hardly more is planned."""
    for asked, waited, _ in waits(carried):
        if waited < asked.fate.wait - EARLY:
            yield f"{carried.order.name}: asked for {asked.fate.wait} s, came back after {waited:.3f} s"
    planned = [retried.wait for retried in carried.screen.retried if "(429)" in retried.reason]
    for asked, wait in zip([asked for asked in carried.asked if asked.fate.status == 429], planned, strict=True):
        if asked.fate.wait and not asked.fate.wait <= wait <= asked.fate.wait * MORE:
            yield f"{carried.order.name}: asked for {asked.fate.wait} s, planned {wait:.3f} s"


def waits(carried: Carried) -> Iterator[tuple[Asked, float, float]]:
    """The requests that were told to wait, the seconds until the next one came in, and that as a share of what was asked for."""
    for asked, following in zip(carried.asked, carried.asked[1:], strict=False):
        if asked.fate.wait:
            yield asked, following.at - asked.at, (following.at - asked.at) / asked.fate.wait
