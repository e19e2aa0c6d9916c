"""The entries of a forked run: what is copied, how it is opened now, and how an open turn is closed. Pure."""

from collections.abc import Sequence

from msgspec.structs import replace

from treadle.core.calls import Result
from treadle.core.entries import Entry, Finished, Forked, Opened, Replied, Returned
from treadle.loop.state import replay
from treadle.server.runs.origin import RunOrigin

CUT = "The run was forked here, before this call had come back."
CLOSED = "The run was forked here."


def fork_entries(run_id: str, entries: Sequence[Entry], begun: RunOrigin, now: float, *, closed: bool) -> list[Entry]:
    """Return the entries of a fork with this origin.

    With `closed`, a turn that is open at its end is ended, for another message.
    """
    kept = [replace(entry, origin=begun.origin) if isinstance(entry, Opened) else entry for entry in entries]
    mark = Forked(run_id=run_id, entries=len(entries), at=now)
    return [*kept, *(_closing_entries(kept, now) if closed else ()), mark]


def _closing_entries(entries: Sequence[Entry], now: float) -> list[Entry]:
    state = replay(entries)
    if state.finished is not None and state.finished.stopped != "waiting":
        return []
    closing = [Replied(parts=(), finish="broken", at=now)] if state.reply_open else []
    results = [Result(call.id, call.name, CUT, "cancelled") for call in state.calls if call.result is None]
    returned = [Returned(result=result, at=now) for result in results]
    return [*closing, *returned, Finished(stopped="cancelled", text=state.words, reason=CLOSED, at=now)]
