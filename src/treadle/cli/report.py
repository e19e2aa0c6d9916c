"""What is said of a run when it has stopped: its exit code, what it used, how to go on; and all of it as one JSON value."""

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.app.talk import exit_code
from treadle.cli.codes import FAILED
from treadle.cli.face import Face
from treadle.cli.people import show_preview
from treadle.cli.render import clean, counted, to_json
from treadle.cli.screen import Screen
from treadle.cli.unclear import show_one, tell_unclear
from treadle.core.requests import Usage
from treadle.engine.result import CallRecord, RunResult
from treadle.engine.setup import Approval
from treadle.guard.redaction import Redactor
from treadle.guard.visible import visible


def code_of_call(result: RunResult[Any]) -> int:
    """The exit code of a command that made one call: a problem is a failure, though the run went well."""
    problem = result.calls[-1].problem if result.calls else None
    return FAILED if problem and result.stopped != "cancelled" else exit_code(result)


def summary(result: RunResult[Any]) -> dict[str, Any]:
    """A result as JSON. Secrets among the arguments of calls are masked; the digest of an approval is that of the real ones."""
    redactor = Redactor()
    return {
        "run_id": result.run_id,
        "stopped": result.stopped,
        "output": None if result.stopped == "failed" else result.output,
        "reason": result.reason,
        "usage": usage_value(result.usage),
        "calls": [_call(record, redactor) for record in result.calls],
        "approvals": [msgspec.to_builtins(masked(approval)) for approval in result.approvals],
    }


def masked(approval: Approval) -> Approval:
    """What a person is asked, without secrets."""
    redactor = Redactor()
    return replace(approval, arguments=redactor.value(approval.arguments), reason=redactor.text(approval.reason))


def usage_value(usage: Usage) -> dict[str, Any]:
    """Usage as JSON."""
    return {**msgspec.to_builtins(usage), "total_tokens": usage.total_tokens}


def _call(record: CallRecord, redactor: Redactor) -> dict[str, Any]:
    return {
        "id": record.call.id,
        "name": record.name,
        "arguments": redactor.value(record.arguments),
        "verdict": type(record.verdict).__name__.lower(),
        "by": record.verdict.by,
        "result": None if record.result is None else redactor.text(record.result.content),
        "data": None if record.result is None else redactor.value(record.result.data),
        "problem": record.problem,
        "seconds": record.seconds,
        "cached": record.cached,
        "mended": redactor.text(record.mended),
        "within": record.within,
    }


def usage_words(usage: Usage, took: float | None = None) -> str:
    """Usage on one line."""
    words = [counted(usage.requests, "request")]
    if usage.calls:
        words.append(counted(usage.calls, "call"))
    if usage.total_tokens:
        words.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    if usage.cost is not None:
        words.append(f"${usage.cost:.4f}")
    if took is not None:
        words.append(f"{took:.1f} s")
    return ", ".join(words)


def tell_waiting(screen: Screen, run_id: str, approvals: tuple[Approval, ...]) -> None:
    """What waits, and how to go on. Secrets are masked, as this may go to a file; `treadle approve RUN` shows them."""
    resume = f"treadle resume {shlex.quote(run_id)}"
    unclear = [masked(approval) for approval in approvals if approval.unclear]
    if unclear:
        tell_unclear(screen, unclear, resume)
    asked = [approval for approval in approvals if not approval.unclear]
    if asked:
        _tell_asked(screen, asked, resume)


def _tell_asked(screen: Screen, approvals: Sequence[Approval], resume: str) -> None:
    screen.tell(f"The run waits for a person's approval of {counted(len(approvals), 'call')}:", "yellow")
    for approval in approvals:
        show_approval(screen, masked(approval))
    calls = [shlex.join([clean(approval.run_id), clean(approval.call_id)]) for approval in approvals]
    screen.tell(f"To go on:   {' && '.join([f'treadle approve {call}' for call in calls])} && {resume}")
    screen.tell(f"To refuse:  treadle deny {calls[0]} --reason WHY && {resume}")


def show_approval(screen: Screen, approval: Approval) -> None:
    """One call that waits, with all its arguments."""
    if approval.unclear:
        show_one(screen, approval)
        return
    screen.tell(f"  {clean(approval.call_id)}: {visible(approval.name)} {visible(to_json(approval.arguments))}")
    if approval.preview:
        show_preview(screen, approval.preview, "    ")
    if approval.reason:
        screen.tell(f"    {visible(approval.reason)}", "dim")


def report(face: Face, result: RunResult[Any], words: str, took: float) -> None:
    """What is left to say when the turn is over."""
    screen = face.screen
    match face.form:
        case "json":
            screen.line(to_json(summary(result)))
        case "text":
            _end_words(screen, result, words)
        case "result":
            _show_result(screen, result)
        case "events":
            pass
    match result.stopped:
        case "failed":
            screen.tell(f"treadle: {result.reason}", "red")
        case "waiting":
            tell_waiting(screen, result.run_id, result.approvals)
        case "limit":
            screen.note(f"Stopped at {result.reason}; the answer is from what was there by then.", "yellow")
        case "cancelled":
            screen.tell("treadle: interrupted.", "yellow")
        case "answered":
            pass
    screen.note(f"[{usage_words(result.usage, took)}; run {result.run_id}]")


def _end_words(screen: Screen, result: RunResult[Any], words: str) -> None:
    """The end of the answer; all of it where it isn't what the model said just now, as with a run that was over already."""
    if result.stopped in ("answered", "limit") and result.text != words.strip():
        screen.end_line()
        screen.say(result.text)
    screen.end_line()


def _show_result(screen: Screen, result: RunResult[Any]) -> None:
    """What the one call returned, or what was wrong with it."""
    for record in result.calls[-1:]:
        if record.problem:
            screen.tell(f"treadle: {record.problem}: {record.result.content if record.result else ''}", "red")
        elif record.result is not None:
            screen.line(record.result.content)
