"""The next step of a run, from its state. Pure: no clock, no I/O, the same state always gives the same step."""

from msgspec import Struct

from treadle.core.entries import Stopped
from treadle.core.messages import text_of
from treadle.loop.limits import Limits, describe_limit, find_exhausted
from treadle.loop.state import CallState, RunState
from treadle.loop.window import Prefix, scale_window, select_prefix, select_to_shorten


class TurnTerms(Struct, frozen=True):
    """What a run depends on besides its journal.

    notes         a line for the request of each round; the last one is used for all further rounds
    final_note    the note to the model when it has to answer without tools
    wants_output  the answer has to fit a schema, or to be validated
    window        how many characters of history the model can read; None where that isn't known
    continues     an answer that is cut at the output limit is continued
    """

    limits: Limits = Limits()
    notes: tuple[str, ...] = ()
    final_note: str = "Tools are no longer available. Answer now, from what you have; say what is missing."
    wants_output: bool = False
    window: int | None = None
    continues: bool = True


class AskModel(Struct, frozen=True, gc=False):
    """Request a reply. `last` requests an answer without tools; `reason` says which limit led to that."""

    note: str = ""
    last: bool = False
    reason: str = ""


class CloseReply(Struct, frozen=True, gc=False):
    """The process died while the reply was streaming: keep what is complete."""


class Judge(Struct, frozen=True, gc=False):
    """Read and judge these calls."""

    calls: tuple[CallState, ...]


class CallTools(Struct, frozen=True, gc=False):
    """Run these calls."""

    calls: tuple[CallState, ...]


class Recover(Struct, frozen=True, gc=False):
    """These calls were interrupted by a crash: their tools' retry class decides.

    `ready` are those to run where none of them can be settled yet, because a nested run of each waits for a person.
    """

    calls: tuple[CallState, ...]
    ready: tuple[CallState, ...] = ()


class WaitForPerson(Struct, frozen=True, gc=False):
    """A user must be asked about these calls: whether they may run, or what happened to them."""

    calls: tuple[CallState, ...]


class Sleep(Struct, frozen=True, gc=False):
    """These calls wait for a time or an event, and there is nothing else to do: end the turn until then."""

    calls: tuple[CallState, ...]


class AwaitBackground(Struct, frozen=True, gc=False):
    """The model is done, and these calls in the background aren't, or it doesn't know that they are: wait, and tell it."""

    calls: tuple[CallState, ...]


class Deliver(Struct, frozen=True, gc=False):
    """The user has sent these messages since the last request: have them join the history."""

    message_ids: tuple[str, ...]


class Shorten(Struct, frozen=True, gc=False):
    """The history outgrew the model: shorten the results of these calls."""

    call_ids: tuple[str, ...]


class Compact(Struct, frozen=True, gc=False):
    """The history outgrew the model although its old results are short: have a summary stand for its oldest messages."""

    prefix: Prefix


class ReadOutput(Struct, frozen=True, gc=False):
    """The answer has to fit a schema, or to be validated: check whether it does.

    `stopped`, `reason` and `limit` are how the turn ends if so.
    """

    text: str
    stopped: Stopped = "answered"
    reason: str = ""
    limit: str = ""


class Finish(Struct, frozen=True, gc=False):
    """End the turn. `limit` is the field of `Limits` that it stopped at."""

    stopped: Stopped
    text: str = ""
    reason: str = ""
    limit: str = ""


class Idle(Struct, frozen=True, gc=False):
    """Nothing to do: the turn is over."""


Step = (
    AskModel
    | CloseReply
    | Judge
    | CallTools
    | Recover
    | WaitForPerson
    | Sleep
    | AwaitBackground
    | Deliver
    | Shorten
    | Compact
    | ReadOutput
    | Finish
    | Idle
)

OVERFLOW = "It can't be compacted any further: fork the run at an earlier entry, or continue it with a model that reads more."
FILTERED = "The provider's content filter held the reply back. Ask in other words, or ask another model."
REJECTED = "The model's answer was rejected once too often:"
EMPTY_NOTE = "Your last reply was empty. Answer, or call a tool."


def decide(state: RunState, terms: TurnTerms, squeezed: str = "") -> Step:
    """Return the next step. `squeezed` says, in words, which limit the rest of a tree of runs has reached."""
    if state.finished is not None:
        return Idle()
    if state.calls:
        return _decide_calls(state)
    step = _decide_after_calls(state, terms, squeezed)
    return (_decide_fit(state, terms) or step) if type(step) is AskModel else step


def _decide_after_calls(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    if state.reply_open:
        return CloseReply()
    if state.cut:
        return _decide_continuation(state, terms, squeezed)
    if state.steering:
        return Deliver(tuple([message.id for message in state.steering]))
    if state.output is not None or state.answer is not None:
        return _decide_end(state, terms, squeezed)
    if state.empties:
        return _decide_silence(state, terms, squeezed)
    return _decide_next_request(state, terms, squeezed)


def _decide_continuation(state: RunState, terms: TurnTerms, squeezed: str) -> AskModel:
    from treadle.loop.continuation import continuation_note  # few replies are cut

    reason = _find_limit(state, terms, squeezed).words if state.last else ""
    return AskModel(continuation_note(text_of(state.parts)), state.last, reason)


def decide_open_reply(state: RunState) -> Judge | CallTools | None:
    """Return what can already be done with the calls of a reply that is still streaming."""
    calls = state.calls
    if len(calls) == 1:  # by far the commonest round
        return Judge(calls) if calls[0].verdict is None else CallTools(calls) if calls[0].ready else None
    unjudged = tuple([call for call in calls if call.verdict is None])
    if unjudged:
        return Judge(unjudged)
    ready = tuple([call for call in calls if call.ready])
    return CallTools(ready) if ready else None


def _decide_calls(state: RunState) -> Step:
    """Settle what had begun in another process before anything else begins: what comes after it may need it."""
    begin = decide_open_reply(state)
    if type(begin) is Judge or (begin is not None and len(begin.calls) == len(state.calls)):
        return begin
    interrupted = tuple([call for call in state.calls if call.interrupted])
    if begin is not None and any(call.unclear for call in state.calls):
        begin = None
    if interrupted:
        return Recover(interrupted, begin.calls if begin is not None else ())
    if begin is not None:
        return begin
    if state.reply_open:
        return CloseReply()
    asked = tuple([call for call in (*state.calls, *state.inner) if call.waits])
    return WaitForPerson(asked) if asked else Sleep(state.sleeping)


def _decide_end(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    """End the turn with the output or the answer, after what goes on in the background."""
    if state.background and not state.last:
        return _decide_background(state)
    return Finish("answered", text=state.words) if state.output is not None else _decide_answer(state, terms, squeezed)


def _decide_background(state: RunState) -> Step:
    """Wait for the calls in the background, unless a user must be asked about one of them first."""
    waiting = tuple([call for call in state.background if call.waits])
    return WaitForPerson(waiting) if waiting else AwaitBackground(state.background)


def _decide_answer(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    ending = Finish("answered", text=state.answer or "")
    if state.last and not _is_conclusion(state, terms.limits):
        ending = _stop_at_limit(_find_limit(state, terms, squeezed), state.answer or "")
    return ReadOutput(ending.text, ending.stopped, ending.reason, ending.limit) if terms.wants_output else ending


def _is_conclusion(state: RunState, limits: Limits) -> bool:
    """Return whether an answer without tools is a regular end: all rounds were used, and the model requests no more."""
    are_rounds_used = limits.rounds is not None and state.spent.rounds >= limits.rounds
    return limits.at_limit == "conclude" and are_rounds_used and not (state.wants_more or state.refused_repeat)


def _decide_silence(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    if state.filtered:
        return Finish("failed", reason=FILTERED)
    if state.empties == 1:
        reason = _find_limit(state, terms, squeezed).words if state.last else ""
        return AskModel(note=EMPTY_NOTE, last=state.last, reason=reason)
    if state.last:
        return _stop_at_limit(_find_limit(state, terms, squeezed), state.words)
    return Finish("failed", reason="The model answered with nothing, twice.")


class _Limit(Struct, frozen=True, gc=False):
    """A limit that was reached: its field of `Limits`, where it is one of this run, and in words."""

    name: str
    words: str


_UNKNOWN = _Limit("", "a limit")


def _find_limit(state: RunState, terms: TurnTerms, squeezed: str) -> _Limit:
    if state.refused_repeat:
        return _Limit("refuse_at", "the same call again and again")
    name = find_exhausted(terms.limits, state.spent)
    if name:
        return _Limit(name, describe_limit(terms.limits, name))
    return _Limit("", squeezed) if squeezed else _UNKNOWN


def _stop_at_limit(limit: _Limit, text: str) -> Finish:
    return Finish("limit", text=text, reason=limit.words, limit=limit.name)


def _decide_next_request(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    if state.rejections and state.rejections + state.notes > terms.limits.output_retries:
        return Finish("failed", text=state.words, reason=f"{REJECTED} {state.rejection}")
    limit = _find_limit(state, terms, squeezed)
    if limit is not _UNKNOWN:
        return _decide_at_limit(state, terms, limit)
    return AskModel(note=state.note or _find_note(state.spent.rounds, terms))


def _decide_fit(state: RunState, terms: TurnTerms) -> Shorten | Compact | Finish | None:
    """Return how to make the history fit the model again; None where it fits, or nothing can be done before it is refused."""
    window = scale_window(terms.window, state.density, state.capacity)
    if window is None or state.history.size <= window:
        return None
    call_ids = select_to_shorten(state.history, window)
    if call_ids:
        return Shorten(call_ids)
    prefix = select_prefix(state.history, window)
    if prefix is not None:
        return Compact(prefix)
    return Finish("failed", text=state.words, reason=f"{state.overflowed} {OVERFLOW}") if state.overflowed else None


def _decide_at_limit(state: RunState, terms: TurnTerms, limit: _Limit) -> Step:
    limits = terms.limits
    if limits.at_limit == "fail":
        reason = f"The run stopped at {limit.words}; what was done is kept."
        return Finish("failed", text=state.words, reason=reason, limit=limit.name)
    if limits.at_limit == "words":
        return _stop_at_limit(limit, limits.words)
    if limits.at_limit == "last_text" and state.words:
        return _stop_at_limit(limit, state.words)
    note = f"{state.note}\n{terms.final_note}" if state.note else terms.final_note
    return AskModel(note=note, last=True, reason=limit.words)


def _find_note(rounds: int, terms: TurnTerms) -> str:
    return terms.notes[min(rounds, len(terms.notes) - 1)] if terms.notes else ""
