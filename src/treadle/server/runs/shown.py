"""A run as programs see it: its entries with their places, without secrets and in bounds. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.entries import Entry, Returned
from treadle.core.requests import Usage
from treadle.engine.setup import Approval
from treadle.guard.held import masked_entry
from treadle.guard.redaction import Redactor
from treadle.loop.state import replay
from treadle.server.runs.events import bounded, masked
from treadle.server.runs.replay import Journals, waiting_in
from treadle.stores.journal import RunInfo

_REDACTOR = Redactor()


class Shown(Struct, frozen=True):
    """A run, whole. Each entry has a `position`, from 1 on, besides its own fields; `usage` is that of all its turns.

    `replies` is what came with the answers besides their words, turn by turn, where its assistant gives something.
    """

    run: RunInfo
    origin: dict[str, Any]
    entries: list[dict[str, Any]]
    approvals: tuple[Approval, ...]
    usage: Usage
    replies: list[Any] = []


def shown(info: RunInfo, journals: Journals, replies: list[Any]) -> Shown:
    """All there is to see of a run."""
    entries = journals[info.run_id]
    state = replay(entries)
    origin: dict[str, Any] = _REDACTOR.value(state.opened.origin if state.opened else {})
    waiting = tuple([masked(approval, _REDACTOR) for approval in waiting_in(journals)]) if info.status == "waiting" else ()
    return Shown(info, origin, _entries(entries), waiting, state.usage, replies)


def _entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The entries as JSON, without secrets, be they in the user's own words, and without what is too large of a result."""
    return [{"position": number, **_entry(entry)} for number, entry in enumerate(entries, 1)]


def _entry(entry: Entry) -> dict[str, Any]:
    shown = replace(entry, result=bounded(entry.result)) if isinstance(entry, Returned) else entry
    return masked_entry(msgspec.to_builtins(shown), _REDACTOR)
