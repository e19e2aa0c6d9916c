"""A run as programs see it: its entries with their places, without secrets and in bounds. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Written
from treadle.core.entries import Approved, Called, Entry, Judged, Opened, Replied, Returned
from treadle.core.messages import Message, Part, ReplyPart
from treadle.core.requests import Usage
from treadle.engine.setup import Approval
from treadle.guard.held import masked_call
from treadle.guard.redaction import Redactor
from treadle.loop.state import replay
from treadle.server.runs.events import bounded, masked
from treadle.server.runs.replay import Journals, waiting_in
from treadle.stores.journal import RunInfo

_REDACTOR = Redactor()


class Shown(Struct, frozen=True):
    """A run, whole. Each entry has a `position`, from 1 on, besides its own fields; `usage` is that of all its turns."""

    run: RunInfo
    origin: dict[str, Any]
    entries: list[dict[str, Any]]
    approvals: tuple[Approval, ...]
    usage: Usage


def shown(info: RunInfo, journals: Journals) -> Shown:
    """All there is to see of a run."""
    entries = journals[info.run_id]
    state = replay(entries)
    origin: dict[str, Any] = _REDACTOR.value(state.opened.origin if state.opened else {})
    waiting = tuple([masked(approval, _REDACTOR) for approval in waiting_in(journals)]) if info.status == "waiting" else ()
    return Shown(info, origin, _entries(entries), waiting, state.usage)


def _entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [{"position": number, **msgspec.to_builtins(_safe(entry))} for number, entry in enumerate(entries, 1)]


def _safe(entry: Entry) -> Entry:
    """An entry without the secrets among its arguments, and without what is too large of a result."""
    match entry:
        case Opened():
            return replace(entry, origin=_REDACTOR.value(entry.origin), history=tuple([_message(said) for said in entry.history]))
        case Replied():
            return replace(entry, parts=tuple([_written(part) for part in entry.parts]))
        case Called():
            return replace(entry, call=_call(entry.call))
        case Judged():
            verdict = replace(entry.verdict, reason=_REDACTOR.text(entry.verdict.reason))
            return replace(entry, call=_call(entry.call), verdict=verdict, mended=_REDACTOR.text(entry.mended))
        case Approved() if entry.arguments is not None:
            return replace(entry, arguments=_REDACTOR.value(entry.arguments))
        case Returned():
            return replace(entry, result=bounded(entry.result))
        case _:
            return entry


def _message(message: Message) -> Message:
    parts: list[Part] = [_call(part) if isinstance(part, Call) else part for part in message.parts]
    return replace(message, parts=tuple(parts))


def _written(part: ReplyPart) -> ReplyPart:
    return replace(part, text=masked_call(part.text, _REDACTOR)) if isinstance(part, Written) else part


def _call(call: Call) -> Call:
    return Call(call.id, call.name, _REDACTOR.value(call.arguments))
