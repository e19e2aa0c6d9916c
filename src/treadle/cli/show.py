"""`treadle show`: what happened in a run, entry by entry; runs inside of it indented below the call that began them."""

import argparse
import time
from typing import Any, assert_never

import msgspec

from treadle.cli.carrying import carry_out
from treadle.cli.kept import home_of
from treadle.cli.render import call_label, clean, counted, seconds, seen, to_json, when
from treadle.cli.report import usage_words
from treadle.cli.screen import Screen
from treadle.cli.telling import result_words, verdict_words
from treadle.core.calls import Opaque, Written
from treadle.core.entries import (
    Approved,
    Called,
    Entry,
    Finished,
    Forked,
    Judged,
    Noted,
    Opened,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Settled,
    Shortened,
    Started,
    Unclear,
)
from treadle.core.messages import ReplyPart, Text, Thinking
from treadle.guard.held import masked_entry
from treadle.guard.redaction import Redactor

MOST = 2000  # characters of one result

Journals = dict[str, list[Entry]]


def run(args: argparse.Namespace) -> int:
    """Show it."""
    return carry_out(_show(args))


async def _show(args: argparse.Namespace) -> int:
    journal, screen = home_of(args.run).journal, Screen()
    journals: Journals = {args.run: await journal.read(args.run)}
    if args.entries:
        for entry in journals[args.run]:
            screen.line(seen(to_json({"v": entry.v, **_masked(entry)})))
        return 0
    for child in await journal.children(args.run):
        journals[child] = await journal.read(child)
    if args.json:
        screen.line(to_json(_value(args.run, journals)))
    else:
        _tell(screen, args.run, journals, "")
    return 0


def _value(run_id: str, journals: Journals) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "entries": [_masked(entry) for entry in journals[run_id]],
        "nested": [_value(child, journals) for child in journals if child.rpartition(".")[0] == run_id],
    }


def _masked(entry: Entry) -> dict[str, Any]:
    return masked_entry(msgspec.to_builtins(entry), Redactor())


def _tell(screen: Screen, run_id: str, journals: Journals, indent: str) -> None:
    """One run; those inside of it where their calls were judged."""
    screen.line(f"{indent}run {run_id}")
    for number, entry in enumerate(journals[run_id], 1):
        first, *more = _words(entry).splitlines() or [""]
        clock = time.strftime("%H:%M:%S", time.localtime(entry.at)) if entry.at else "-"
        screen.line(f"{indent}{number:>4}  {clock}  {_kind(entry):<9}  {first}".rstrip())
        for line in more:
            screen.line(f"{indent}{' ' * 27}{line}".rstrip())
        child = f"{run_id}.{entry.call.id}" if isinstance(entry, Judged) else ""
        if child in journals:
            _tell(screen, child, journals, indent + " " * 6)


def _kind(entry: Entry) -> str:
    return type(entry).__name__.lower()


def _words(entry: Entry) -> str:
    """What an entry says, for a person, without secrets."""
    return Redactor().text(_all_words(entry))


def _all_words(entry: Entry) -> str:  # noqa: C901 - one case for each kind of entry
    match entry:
        case Opened():
            who = f" for {entry.user}" if entry.user else ""
            return f"{when(entry.at)}: {entry.agent} with {entry.model}{who}"
        case Said():
            return entry.text
        case Replied():
            return _replied(entry)
        case Called():
            return f"{entry.within} asks for {_label(entry.call.name, entry.call.arguments)}"
        case Judged():
            mended = f" (mended: {entry.mended})" if entry.mended else ""
            return f"{entry.call.id}: {_label(entry.call.name, entry.call.arguments)} {verdict_words(entry.verdict)}{mended}"
        case Previewed():
            return f"{entry.call_id}: {entry.text}"
        case Approved():
            edited = f" with {to_json(Redactor().value(entry.arguments))}" if entry.arguments is not None else ""
            return f"{entry.call_id}: by {entry.by or 'a person'}{edited}"
        case Refused():
            return f"{entry.call_id}: by {entry.by or 'a person'}{': ' if entry.reason else ''}{entry.reason}"
        case Started():
            return f"{entry.call_id}, attempt {entry.attempt}"
        case Unclear():
            return f"{entry.call_id}: {entry.reason}"
        case Settled():
            words = f": {entry.words}" if entry.words else ""
            return f"{entry.call_id}: {entry.said.replace('_', ' ')} by {entry.by or 'a person'}{words}"
        case Returned():
            return _returned(entry)
        case Noted():
            return entry.text
        case Shortened():
            return counted(len(entry.call_ids), "result")
        case Resumed():
            return ""
        case Forked():
            return f"from {counted(entry.entries, 'entry', 'entries')} of {entry.run_id}"
        case Finished():
            return f"{entry.stopped}{': ' if entry.reason else ''}{entry.reason}"
        case _:
            assert_never(entry)


def _label(name: str, arguments: dict[str, Any]) -> str:
    return call_label(name, Redactor().value(arguments), 400)


def _replied(entry: Replied) -> str:
    lines = [_part(part) for part in entry.parts]
    if entry.usage.requests:
        lines.append(f"[{usage_words(entry.usage)}{'' if entry.finish in ('done', 'calls') else ', ' + entry.finish}]")
    return "\n".join(lines)


def _part(part: ReplyPart) -> str:
    match part:
        case Text():
            return clean(part.text)
        case Thinking():
            return f"(thinks) {clean(part.text)}"
        case Opaque():
            return f"(data of {part.wire}, {len(part.json):,} characters)"
        case Written():
            return f"calls {part.name} as {part.id}"


def _returned(entry: Returned) -> str:
    words = result_words(entry.result)
    if len(words) > MOST:
        words = f"{words[:MOST]}\n… {len(words) - MOST} more characters; --entries has them"
    return f"{entry.result.call_id}: {'cached' if entry.cached else seconds(entry.seconds)}: {clean(words)}"
