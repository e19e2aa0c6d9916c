"""The facts of a run in figures: one for each call that returned, and one for each request. Pure.

Facts are made once and never change, and what is still open is carried on, so that a run can be folded in pieces as it grows.
Facts are stored and added up in `stores.stats`; they can always be rebuilt from the journal.
"""

from collections.abc import Container, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Deny, ProblemKind, Written
from treadle.core.entries import (
    Approved,
    Awaited,
    Called,
    Compacted,
    Delivered,
    Entry,
    Finished,
    Forked,
    Informed,
    Judged,
    Noted,
    Opened,
    Overflowed,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Settled,
    Shortened,
    Started,
    Steered,
    Unclear,
    Woken,
)
from treadle.core.requests import Usage

LONGEST_NAME = 100  # characters: a model may make names up


class CallFact(Struct, frozen=True):
    """One call that is over.

    seconds       how long it took; None where it wasn't executed: refused, cancelled, taken from the cache
    tokens        its share of the request whose reply made it, which all calls of that reply have in equal parts
    inner_tokens  what it spent itself: in a nested agent, in a summary of its result
    """

    at: float
    tool: str
    problem: ProblemKind | None = None
    cached: bool = False
    seconds: float | None = None
    tokens: int = 0
    inner_tokens: int = 0


class RequestFact(Struct, frozen=True):
    """One request to a model, with its failed attempts."""

    at: float
    usage: Usage


Fact = CallFact | RequestFact


class UnfinishedCall(Struct, frozen=True):
    """A call that isn't a fact yet: it isn't over (`fact`), or the reply that makes it isn't (`tokens`)."""

    tool: str
    tokens: int | None = None
    fact: CallFact | None = None


class FoldState(Struct, frozen=True, omit_defaults=True):
    """What has to be known of a run's first `position` entries to fold those after them."""

    position: int = 0
    agent: str = ""
    model: str = ""
    user: str = ""
    opened_at: float = 0.0
    reply_open: bool = False
    pending: dict[str, UnfinishedCall] = {}


def fold_facts(carried: FoldState, entries: Sequence[Entry], nested: Container[str] = ()) -> tuple[FoldState, list[Fact]]:
    """Return the facts of further entries, and the state to carry on. `nested` are calls with nested runs, which count there.

    A fork begins with entries of another run, which count there. They have to come in one piece with their `Forked`, as they
    are written.
    """
    folding = _Folding(carried, nested)
    for entry in entries:
        folding.take(entry)
    return folding.to_state(carried.position + len(entries)), folding.facts


class _Folding:
    """A fold in progress."""

    def __init__(self, carried: FoldState, nested: Container[str]) -> None:
        self.facts: list[Fact] = []
        self._nested = nested
        self._about = carried
        self._reply_open = carried.reply_open
        self._pending = dict(carried.pending)

    def to_state(self, position: int) -> FoldState:
        """Return the state to carry on."""
        return replace(self._about, position=position, reply_open=self._reply_open, pending=self._pending)

    def take(self, entry: Entry) -> None:  # noqa: C901 - one case for each kind of entry
        """Add one more entry."""
        match entry:
            case Replied():
                self._replied(entry)
            case Judged():
                self._judged(entry)
            case Returned():
                self._returned(entry)
            case Called():
                self._pending[entry.call.id] = UnfinishedCall(entry.call.name, tokens=0)
            case Refused():
                self._over(entry.call_id, CallFact(entry.at, "", "denied"))
            case Settled():
                self._settled(entry)
            case Noted() | Finished() | Compacted() | Overflowed():
                self._asked(entry.at, entry.usage)
            case Opened():
                self._about = replace(self._about, agent=entry.agent, model=entry.model, user=entry.user, opened_at=entry.at)
            case Forked():
                self._forked(entry)
            case Said() | Steered() | Delivered() | Informed() | Previewed() | Approved() | Started() | Unclear():
                pass
            case Shortened() | Resumed():
                pass
            case Awaited() | Woken():  # a wait is no call; the call that waits returns
                pass
            case _:
                assert_never(entry)

    def _asked(self, at: float, usage: Usage) -> None:
        if usage.requests:
            self.facts.append(RequestFact(at, usage))

    def _replied(self, entry: Replied) -> None:
        """Add a reply, or a piece of one. Calls in a reply that was requested without tools don't count."""
        if not self._reply_open:
            self._pending.clear()  # what a tool asked for in an earlier round and never got
        if not entry.last:
            self._pending.update({part.id: UnfinishedCall(part.name) for part in entry.parts if isinstance(part, Written)})
        self._reply_open = entry.more
        self._asked(entry.at, entry.usage)
        if not entry.more:
            self._share(entry.usage.total_tokens)

    def _share(self, tokens: int) -> None:
        """Share the tokens of a finished reply among its calls, to the last token."""
        sharing = [(call_id, call) for call_id, call in self._pending.items() if call.tokens is None]
        for place, (call_id, call) in enumerate(sharing):
            share = tokens * (place + 1) // len(sharing) - tokens * place // len(sharing)
            self._put(call_id, replace(call, tokens=share))

    def _judged(self, entry: Judged) -> None:
        call = self._pending.get(entry.call.id)
        if call is None:
            return
        self._pending[entry.call.id] = replace(call, tool=entry.call.name)
        if isinstance(entry.verdict, Deny):
            self._over(entry.call.id, CallFact(entry.at, "", entry.verdict.problem))

    def _returned(self, entry: Returned) -> None:
        result, usage = entry.result, entry.usage
        if result.call_id not in self._pending:
            return
        if result.call_id not in self._nested:
            self._asked(entry.at, usage)
        seconds = None if entry.cached or not entry.seconds else entry.seconds
        fact = CallFact(entry.at, "", result.problem, entry.cached, seconds, inner_tokens=usage.total_tokens)
        self._over(result.call_id, fact)

    def _settled(self, entry: Settled) -> None:
        """Add what a person said happened to a call; one that is tried again isn't over."""
        if entry.said != "again":
            self._over(entry.call_id, CallFact(entry.at, "", None if entry.said == "happened" else "interrupted"))

    def _over(self, call_id: str, fact: CallFact) -> None:
        call = self._pending.get(call_id)
        if call is not None and call.fact is None:
            self._put(call_id, replace(call, fact=fact))

    def _put(self, call_id: str, call: UnfinishedCall) -> None:
        """Store a call, unless everything is known of it: then it is a fact."""
        if call.fact is None or call.tokens is None:
            self._pending[call_id] = call
            return
        self._pending.pop(call_id)
        self.facts.append(replace(call.fact, tool=call.tool[:LONGEST_NAME], tokens=call.tokens))

    def _forked(self, entry: Forked) -> None:
        """Drop what came before: it happened in another run, and was paid for there. What was open there comes back here."""
        self.facts.clear()
        unpaid = {call_id: replace(call, tokens=None if call.tokens is None else 0) for call_id, call in self._pending.items()}
        self._pending = {call_id: call for call_id, call in unpaid.items() if call.fact is None}
        self._about = replace(self._about, opened_at=entry.at)
