"""The entries of a forked run: what is copied of another one, and how an open turn is closed for another message. Pure.

Forking before one of the user's messages is how it is edited, or answered anew.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from treadle.core.calls import Media, Result
from treadle.core.entries import Entry, Finished, Forked, Opened, Replied, Returned, Said, Steered
from treadle.core.messages import Quote, Text
from treadle.loop.state import replay

CUT = "The run was forked here, before this call had come back."
CLOSED = "The run was forked here."


def fork_entries(
    run_id: str, entries: Sequence[Entry], now: float, *, closed: bool = False, origin: dict[str, Any] | None = None
) -> list[Entry]:
    """Return the entries of a fork, with another origin where one is given.

    With `closed`, a turn that is open at its end is ended, for another message.
    """
    kept = [replace(entry, origin=origin) if isinstance(entry, Opened) and origin is not None else entry for entry in entries]
    mark = Forked(run_id=run_id, entries=len(entries), at=now)
    return [*kept, *(_closing_entries(kept, now) if closed else ()), mark]


def find_message(entries: Sequence[Entry], number: int) -> int | None:
    """Return how many entries are before a message of the user; None if there is no such message.

    Messages are counted from 1 on, or from the end with -1.
    """
    found = [index for index, entry in enumerate(entries) if isinstance(entry, Said | Steered)]
    at = number - 1 if number > 0 else len(found) + number
    return found[at] if number and 0 <= at < len(found) else None


def message_parts(entry: Entry) -> list[str | Quote | Media]:
    """Return what a message of the user consists of, as a prompt."""
    assert isinstance(entry, Said | Steered)  # as `find_message` finds them
    return [part.text if isinstance(part, Text) else part for part in entry.parts] or [entry.text]


def _closing_entries(entries: Sequence[Entry], now: float) -> list[Entry]:
    state = replay(entries)
    if state.finished is not None and state.finished.stopped != "waiting":
        return []
    closing = [Replied(parts=(), finish="broken", at=now)] if state.reply_open else []
    results = [Result(call.id, call.name, CUT, "cancelled") for call in state.calls if call.result is None]
    sleeping = {call.id for call in state.sleeping}
    returned = [Returned(result=result, waited=result.call_id in sleeping, at=now) for result in results]
    return [*closing, *returned, Finished(stopped="cancelled", text=state.words, reason=CLOSED, at=now)]
