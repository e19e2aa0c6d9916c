"""A run as API clients see it: its entries with their positions, redacted and truncated. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.entries import Entry, Opened, Returned
from treadle.core.requests import Usage
from treadle.engine.setup import Approval
from treadle.guard.journal_secrets import mask_entry
from treadle.guard.redaction import Redactor
from treadle.loop.state import replay
from treadle.server.runs.events import mask_pending_approval, truncate_result
from treadle.server.runs.replay import Journals, find_pending_approvals
from treadle.stores.journal import RunInfo
from treadle.stores.queue import RunsAhead

_REDACTOR = Redactor()


class NestedRun(Struct, frozen=True):
    """A run that the call `within` of another run has begun."""

    run_id: str
    within: str
    agent: str


class RunView(Struct, frozen=True):
    """A complete run. Each entry has a `position`, from 1 on, besides its own fields; `usage` is that of all its turns.

    `replies` is the data that accompanied the answers, turn by turn, where its assistant returns some. `nested` are the runs that
    its calls have begun, without those inside of them. `queued` is where it waits for a worker.
    """

    run: RunInfo
    origin: dict[str, Any]
    entries: list[dict[str, Any]]
    approvals: tuple[Approval, ...]
    usage: Usage
    replies: list[Any] = []
    nested: list[NestedRun] = []
    queued: RunsAhead | None = None


def view_run(info: RunInfo, journals: Journals, replies: list[Any], queued: RunsAhead | None = None) -> RunView:
    """Return the view of a run."""
    entries = journals[info.run_id]
    state = replay(entries)
    origin: dict[str, Any] = _REDACTOR.value(state.opened.origin if state.opened else {})
    waiting = (
        tuple([mask_pending_approval(approval, _REDACTOR) for approval in find_pending_approvals(journals)])
        if info.status == "waiting"
        else ()
    )
    nested = _find_nested(info.run_id, journals)
    return RunView(info, origin, _entries_to_json(entries), waiting, state.usage, replies, nested, queued)


def _find_nested(run_id: str, journals: Journals) -> list[NestedRun]:
    opened = [(each, entries[0]) for each, entries in journals.items() if entries]
    return [
        NestedRun(each, entry.within, entry.agent)
        for each, entry in opened
        if isinstance(entry, Opened) and entry.parent == run_id and entry.within
    ]


def _entries_to_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the entries as JSON, with secrets masked, also in the user's own messages, and large results truncated."""
    return [{"position": number, **_entry_to_json(entry)} for number, entry in enumerate(entries, 1)]


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    shown = replace(entry, result=truncate_result(entry.result)) if isinstance(entry, Returned) else entry
    return mask_entry(msgspec.to_builtins(shown), _REDACTOR)
