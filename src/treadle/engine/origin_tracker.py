"""Tracks a run's conversation for `guard.origins`: each message is added once, and the open round on top of it.

The result depends on the run's state alone, so another process that resumes the run computes the same.
"""

from treadle.core.messages import ContextItem, History
from treadle.guard.origins import Origins, Party, Reads
from treadle.loop.state import InnerCall, RunState


class OriginTracker:
    """The origins of one run's values, kept up to date with its state."""

    def __init__(self, reads: Reads, party: Party) -> None:
        self._reads = reads
        self._party = party
        self._instructions = ""
        self._context: tuple[ContextItem, ...] = ()
        self._history = History()
        self._closed: Origins | None = None

    def origins(self, state: RunState, instructions: str) -> Origins:
        """Return the origins of the whole conversation, the results and calls of the open round included."""
        context = tuple([item for items in state.context.values() for item in items])
        origins = self._update(state, instructions, context).copy()
        for call in (*state.inner, *state.calls):
            if call.result is not None:
                origins.add_result(call.call, call.result)
            elif call.call is not None:
                origins.add_open_call(call.call)
        return origins

    def _update(self, state: RunState, instructions: str, context: tuple[ContextItem, ...]) -> Origins:
        same = instructions == self._instructions and context == self._context
        if self._closed is None or not same or not state.transcript.continues(self._history):
            self._closed = Origins(self._reads, self._party, person=state.opened is None or not state.opened.parent)
            self._closed.told(instructions)
            for item in context:
                if item.untrusted:
                    self._closed.add_context(item.source, item.text)
                else:
                    self._closed.told(item.text)
            self._instructions, self._context, self._history = instructions, context, History()
        made: dict[int, list[InnerCall]] = {}
        for inner in state.inner_calls:
            made.setdefault(inner.at, []).append(inner)
        for number, message in enumerate(state.transcript[len(self._history) :], len(self._history)):
            for inner in made.get(number, ()):  # before the result that is made of theirs
                self._closed.add_result(inner.call, inner.result)
            self._closed.heard(message)
        self._history = state.transcript
        return self._closed
