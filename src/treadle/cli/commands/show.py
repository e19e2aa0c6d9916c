"""`treadle show`: print a run entry by entry, with nested runs indented below the call that started them."""

import argparse
import time
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from treadle.cli.run_store import home_of_run
from treadle.cli.runner import run_async
from treadle.cli.ui.event_printer import format_result, format_verdict
from treadle.cli.ui.pager import open_pager
from treadle.cli.ui.render import (
    clean_for_terminal,
    escape_invisible,
    format_call,
    format_count,
    format_seconds,
    format_time,
    to_terminal_json,
)
from treadle.cli.ui.report import format_usage
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Opaque, Written
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
from treadle.core.grants import SCOPES
from treadle.core.messages import Quote, ReplyPart, Text, Thinking
from treadle.guard.grants import format_grant
from treadle.guard.journal_secrets import mask_entry
from treadle.guard.redaction import Redactor
from treadle.loop.waits import describe_wait
from treadle.runs import Runs
from treadle.stores.feedback import Feedback

MAX_CHARACTERS = 2000  # characters of one result

Journals = dict[str, list[Entry]]


def run(args: argparse.Namespace) -> int:
    """Show the run."""
    return run_async(_show_run(args))


async def _show_run(args: argparse.Namespace) -> int:
    home, screen = home_of_run(args.run), Screen()
    journal = home.journal
    args.run = await journal.resolve(args.run)
    journals: Journals = {args.run: await journal.read(args.run)}
    for child in () if args.entries else await journal.children(args.run):
        journals[child] = await journal.read(child)
    feedback = (await Runs(home).feedback(args.run)).get(args.run, [])
    with open_pager(screen, wanted=not args.no_pager):
        _print_journals(screen, args, journals, feedback)
    return 0


def _print_journals(screen: Screen, args: argparse.Namespace, journals: Journals, feedback: Sequence[Feedback]) -> None:
    if args.entries:
        for entry in journals[args.run]:
            screen.line(escape_invisible(to_terminal_json({"v": entry.v, **_mask_entry(entry)})))
    elif args.json:
        screen.line(to_terminal_json({**_to_json(args.run, journals), "feedback": feedback}))
    else:
        _print_run(screen, args.run, journals, "")
        for each in feedback:
            comment = f" ({each.comment})" if each.comment else ""
            screen.line(clean_for_terminal(f"feedback on answer {each.message}: {each.rating}{comment}"))


def _to_json(run_id: str, journals: Journals) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "entries": [_mask_entry(entry) for entry in journals[run_id]],
        "nested": [_to_json(child, journals) for child in journals if child.rpartition(".")[0] == run_id],
    }


def _mask_entry(entry: Entry) -> dict[str, Any]:
    return mask_entry(msgspec.to_builtins(entry), Redactor())


def _print_run(screen: Screen, run_id: str, journals: Journals, indent: str) -> None:
    """Print one run, and nested runs where their calls were judged."""
    screen.line(f"{indent}run {run_id}")
    for number, entry in enumerate(journals[run_id], 1):
        first, *more = _format_entry(entry).splitlines() or [""]
        clock = time.strftime("%H:%M:%S", time.localtime(entry.at)) if entry.at else "-"
        screen.line(f"{indent}{number:>4}  {clock}  {_entry_kind(entry):<9}  {first}".rstrip())
        for line in more:
            screen.line(f"{indent}{' ' * 27}{line}".rstrip())
        child = f"{run_id}.{entry.call.id}" if isinstance(entry, Judged) else ""
        if child in journals:
            _print_run(screen, child, journals, indent + " " * 6)


def _entry_kind(entry: Entry) -> str:
    return type(entry).__name__.lower()


def _format_entry(entry: Entry) -> str:
    """Format an entry for a person, without secrets."""
    return Redactor().text(_describe_entry(entry))


def _describe_entry(entry: Entry) -> str:  # noqa: C901 - one case for each kind of entry
    match entry:
        case Opened():
            who = f" for {entry.user}" if entry.user else ""
            return f"{format_time(entry.at)}: {entry.agent} with {entry.model}{who}"
        case Said() | Steered():
            return "\n".join([entry.text, *[f"{part.label}\n{part.text}" for part in entry.parts if isinstance(part, Quote)]])
        case Delivered():
            return format_count(len(entry.message_ids), "message")
        case Replied():
            return _describe_reply(entry)
        case Called():
            return f"{entry.within} asks for {_format_label(entry.call.name, entry.call.arguments)}"
        case Judged():
            mended = f" (mended: {entry.mended})" if entry.mended else ""
            return (
                f"{entry.call.id}: {_format_label(entry.call.name, entry.call.arguments)} {format_verdict(entry.verdict)}{mended}"
            )
        case Previewed():
            return f"{entry.call_id}: {entry.text}"
        case Approved():
            edited = f" with {to_terminal_json(Redactor().value(entry.arguments))}" if entry.arguments is not None else ""
            grant = entry.grant
            more = "" if grant is None else f", and {format_grant(grant)} {SCOPES[grant.scope]} (grant {grant.id})"
            covered = f" (grant {entry.covered})" if entry.covered else ""
            return f"{entry.call_id}: by {entry.by or 'a person'}{edited}{more}{covered}"
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
            return _describe_result(entry)
        case Informed():
            return "\n".join([f"{item.source}:\n{item.text}" for item in entry.items])
        case Awaited():
            return f"{entry.call_id}: {describe_wait(entry.wait)}"
        case Woken():
            return f"{entry.result.call_id}: {entry.result.content or 'the time has come'}"
        case Noted():
            return entry.text
        case Shortened():
            return format_count(len(entry.call_ids), "result")
        case Compacted():
            return f"the first {format_count(entry.messages, 'message')}\n{entry.summary.text}"
        case Overflowed():
            return entry.reason
        case Resumed():
            return ""
        case Forked():
            return f"from {format_count(entry.entries, 'entry', 'entries')} of {entry.run_id}"
        case Finished():
            doubtful = f" (in no tool result: {', '.join([value.text for value in entry.ungrounded])})" if entry.ungrounded else ""
            return f"{entry.stopped}{': ' if entry.reason else ''}{entry.reason}{doubtful}"
        case _:
            assert_never(entry)


def _format_label(name: str, arguments: dict[str, Any]) -> str:
    return format_call(name, Redactor().value(arguments), 400)


def _describe_reply(entry: Replied) -> str:
    lines = [_describe_part(part) for part in entry.parts]
    if entry.usage.requests:
        ending = "" if entry.finish in ("done", "calls") else f", {entry.finish}"
        lines.append(f"[{format_usage(entry.usage)}{_describe_decision(entry)}{ending}]")
    return "\n".join(lines)


def _describe_decision(entry: Replied) -> str:
    """Format how certain the model was that a tool fits, where it was asked."""
    return "" if entry.decision is None else f", a tool fits: {entry.decision.probability * 100:.0f} %"


def _describe_part(part: ReplyPart) -> str:
    match part:
        case Text():
            return clean_for_terminal(part.text)
        case Thinking():
            return f"(thinks) {clean_for_terminal(part.text)}"
        case Opaque():
            return f"(data of {part.wire}, {len(part.json):,} characters)"
        case Written():
            return f"calls {part.name} as {part.id}"


def _describe_result(entry: Returned) -> str:
    words = format_result(entry.result)
    if len(words) > MAX_CHARACTERS:
        words = f"{words[:MAX_CHARACTERS]}\n… {len(words) - MAX_CHARACTERS} more characters; --entries has them"
    return f"{entry.result.call_id}: {'cached' if entry.cached else format_seconds(entry.seconds)}: {clean_for_terminal(words)}"
