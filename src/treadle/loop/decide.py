"""The next step of a run, from its state. Pure: no clock, no I/O, the same state always gives the same step."""

from msgspec import Struct

from treadle.core.entries import Stopped
from treadle.loop.limits import Limits, reached
from treadle.loop.state import CallState, RunState
from treadle.loop.window import select_to_shorten


class TurnTerms(Struct, frozen=True):
    """What a run depends on besides its journal.

    notes         a line for the request of each round; the last one is used for all further rounds
    final_note    the note to the model when it has to answer without tools
    wants_output  the answer has to fit a schema
    window        how many characters of history the model can read; None where that isn't known
    """

    limits: Limits = Limits()
    notes: tuple[str, ...] = ()
    final_note: str = "Tools are no longer available. Answer now, from what you have; say what is missing."
    wants_output: bool = False
    window: int | None = None


class AskModel(Struct, frozen=True):
    """Request a reply. `last` requests an answer without tools; `reason` says which limit led to that."""

    note: str = ""
    last: bool = False
    reason: str = ""


class CloseReply(Struct, frozen=True):
    """The process died while the reply was streaming: keep what is complete."""


class Judge(Struct, frozen=True):
    """Read and judge these calls."""

    calls: tuple[CallState, ...]


class CallTools(Struct, frozen=True):
    """Run these calls."""

    calls: tuple[CallState, ...]


class Recover(Struct, frozen=True):
    """These calls were interrupted by a crash: their tools' retry class decides.

    `ready` are those to run where none of them can be settled yet, because a nested run of each waits for a person.
    """

    calls: tuple[CallState, ...]
    ready: tuple[CallState, ...] = ()


class WaitForPerson(Struct, frozen=True):
    """A person has to be asked about these calls: whether they may run, or what happened to them."""

    calls: tuple[CallState, ...]


class Shorten(Struct, frozen=True):
    """The history outgrew the model: shorten the results of these calls."""

    call_ids: tuple[str, ...]


class ReadOutput(Struct, frozen=True):
    """The answer has to fit a schema: check whether it does."""

    text: str


class Finish(Struct, frozen=True):
    """End the turn."""

    stopped: Stopped
    text: str = ""
    reason: str = ""


class Idle(Struct, frozen=True):
    """Nothing to do: the turn is over."""


Step = AskModel | CloseReply | Judge | CallTools | Recover | WaitForPerson | Shorten | ReadOutput | Finish | Idle

FILTERED = "The provider's content filter held the reply back. Ask in other words, or ask another model."
EMPTY_NOTE = "Your last reply was empty. Answer, or call a tool."
MOST_NOTES = 3  # how often a model is told that its answer doesn't fit the schema


def decide(state: RunState, terms: TurnTerms, squeezed: str = "") -> Step:
    """Return the next step. `squeezed` says, in words, which limit the rest of a tree of runs has reached."""
    if state.finished is not None:
        return Idle()
    if state.calls:
        return _decide_calls(state)
    if state.reply_open:
        return CloseReply()
    if state.output is not None:
        return Finish("answered", text=state.words)
    if state.answer is not None:
        return _decide_answer(state, terms, squeezed)
    if state.empties:
        return _decide_silence(state, terms, squeezed)
    return _decide_next_request(state, terms, squeezed)


def decide_open_reply(state: RunState) -> Judge | CallTools | None:
    """Return what can already be done with the calls of a reply that is still streaming."""
    unjudged = tuple([call for call in state.calls if call.verdict is None])
    if unjudged:
        return Judge(unjudged)
    ready = tuple([call for call in state.calls if call.ready])
    return CallTools(ready) if ready else None


def _decide_calls(state: RunState) -> Step:
    """Settle what had begun in another process before anything else begins: what comes after it may need it."""
    interrupted = tuple([call for call in state.calls if call.interrupted])
    begin = decide_open_reply(state)
    if isinstance(begin, Judge):
        return begin
    if begin is not None and any(call.unclear for call in state.calls):
        begin = None
    if interrupted:
        return Recover(interrupted, begin.calls if begin is not None else ())
    if begin is not None:
        return begin
    if state.reply_open:
        return CloseReply()
    return WaitForPerson(tuple([call for call in (*state.calls, *state.inner) if call.waits]))


def _decide_answer(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    answer = state.answer or ""
    if terms.wants_output:
        return ReadOutput(answer)
    if state.last and not _is_conclusion(state, terms.limits):
        return Finish("limit", text=answer, reason=_find_limit_reason(state, terms, squeezed))
    return Finish("answered", text=answer)


def _is_conclusion(state: RunState, limits: Limits) -> bool:
    """Return whether an answer without tools is a regular end: all rounds were used, and the model requests no more."""
    are_rounds_used = limits.rounds is not None and state.spent.rounds >= limits.rounds
    return limits.at_limit == "conclude" and are_rounds_used and not (state.wants_more or state.refused_repeat)


def _decide_silence(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    if state.filtered:
        return Finish("failed", reason=FILTERED)
    if state.empties == 1:
        return AskModel(note=EMPTY_NOTE, last=state.last, reason=_find_limit_reason(state, terms, squeezed) if state.last else "")
    if state.last:
        why = _find_limit_reason(state, terms, squeezed)
        return Finish("limit", text=state.words or f"I stopped at {why} before I had an answer.", reason=why)
    return Finish("failed", reason="The model answered with nothing, twice.")


def _find_limit_reason(state: RunState, terms: TurnTerms, squeezed: str) -> str:
    if state.refused_repeat:
        return "the same call again and again"
    return reached(terms.limits, state.spent) or squeezed or "a limit"


def _decide_next_request(state: RunState, terms: TurnTerms, squeezed: str) -> Step:
    why = _find_limit_reason(state, terms, squeezed)
    if why != "a limit":
        return _decide_at_limit(state, terms, why)
    if terms.window is not None and state.history.size > terms.window:
        call_ids = select_to_shorten(state.history, terms.window)
        if call_ids:
            return Shorten(call_ids)
    return AskModel(note=state.note or _find_note(state.spent.rounds, terms))


def _decide_at_limit(state: RunState, terms: TurnTerms, why: str) -> Step:
    limits = terms.limits
    if limits.at_limit == "fail":
        return Finish("failed", text=state.words, reason=f"The run stopped at {why}; what was done is kept.")
    if limits.at_limit == "words":
        return Finish("limit", text=limits.words, reason=why)
    if limits.at_limit == "last_text" and state.words:
        return Finish("limit", text=state.words, reason=why)
    note = f"{state.note}\n{terms.final_note}" if state.note else terms.final_note
    return AskModel(note=note, last=True, reason=why)


def _find_note(rounds: int, terms: TurnTerms) -> str:
    return terms.notes[min(rounds, len(terms.notes) - 1)] if terms.notes else ""
