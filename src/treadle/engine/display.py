"""How a run is shown in a notebook and at a Python prompt: a result as Markdown, and progress as it comes."""

import sys
from typing import Any

import msgspec

from treadle.core.events import (
    AnswerUngrounded,
    ApprovalNeeded,
    CallReturned,
    CallStarted,
    ContextLoaded,
    Event,
    MessageDelivered,
    ModelAsked,
    ModelNoticed,
    NoToolFit,
    RunEnded,
    TextArrived,
)
from treadle.engine.result import CallRecord, RunResult
from treadle.guard.redaction import Redactor

LONGEST = 200  # characters of a call's arguments or result in a table

_redactor = Redactor()


def result_to_markdown(result: RunResult[Any]) -> str:
    """Return a result as Markdown: the answer or why there is none, the calls as a table, and the usage."""
    parts = [_answer_to_markdown(result)]
    if result.calls:
        rows = [
            f"| {index} | {_cell(_call_text(record))} | {_cell(_outcome(record))} |" for index, record in enumerate(result.calls, 1)
        ]
        parts.append("\n".join(["| | Call | Result |", "|--:|---|---|", *rows]))
    usage, cost = result.usage, "" if result.cost is None else f" · ${result.cost:.4f}"
    counts = f"{_count(usage.requests, 'request')} · {_count(usage.calls, 'call')} · {_count(usage.total_tokens, 'token')}"
    parts.append(f"<small>{result.stopped} · {counts}{cost} · run `{result.run_id}`</small>")
    return "\n\n".join(parts)


def _answer_to_markdown(result: RunResult[Any]) -> str:
    output = result.output_or_none
    if output is None or isinstance(output, str):
        return result.message
    return f"```json\n{msgspec.json.format(msgspec.json.encode(output, enc_hook=repr), indent=2).decode()}\n```"


def _call_text(record: CallRecord) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in _redactor.value(record.arguments).items())
    return f"`{record.name}({given[:LONGEST]})`"


def _outcome(record: CallRecord) -> str:
    if record.result is None:
        return "waits"
    return f"{record.problem}: {record.result.content}" if record.problem else record.result.content


def _cell(text: str) -> str:
    shown = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} …"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def print_progress(event: Event[Any]) -> None:  # noqa: C901 - one case for each kind of event
    """Print what a run does, as it does it: `await agent.run("…", watchers=[print_progress])`."""
    indent = "  " * len(event.path)
    match event:
        case TextArrived():
            sys.stdout.write(event.text)
        case ModelAsked():
            sys.stdout.write(f"{indent}[{event.model}, round {event.round}]\n")
        case ModelNoticed():
            sys.stdout.write(f"\n{indent}[{event.text}]\n")
        case ContextLoaded():
            sys.stdout.write(f"{indent}[read {', '.join([each.source for each in event.sources])}]\n")
        case MessageDelivered():
            sys.stdout.write(f"\n{indent}[message: {event.text}]\n")
        case NoToolFit():
            sys.stdout.write(f"{indent}[no tool seemed to fit: {event.probability * 100:.0f} %]\n")
        case AnswerUngrounded():
            sys.stdout.write(f"\n{indent}[asked again: no tool result says {', '.join([each.text for each in event.values])}]\n")
        case CallStarted():
            sys.stdout.write(f"\n{indent}[{event.call.name} …]\n")
        case CallReturned():
            sys.stdout.write(f"{indent}[{event.result.name}: {event.result.problem or 'done'} in {event.seconds:.1f} s]\n")
        case ApprovalNeeded():
            sys.stdout.write(f"\n{indent}[{event.call.name} waits for approval: {event.reason}]\n")
        case RunEnded():
            sys.stdout.write("\n")
        case _:
            pass
    sys.stdout.flush()
