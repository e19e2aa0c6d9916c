"""Report at the end of a run: exit code, usage, how to continue; and all of it as one JSON value."""

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.agent.talk import exit_code
from treadle.cli.exit_codes import FAILED
from treadle.cli.ui.approval_prompt import print_settle_commands, print_unclear_calls
from treadle.cli.ui.call_details import print_call, print_preview
from treadle.cli.ui.display import Display
from treadle.cli.ui.render import clean_for_terminal, format_call, format_count, to_terminal_json
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Call
from treadle.core.requests import Usage
from treadle.engine.result import CallRecord, RunResult
from treadle.engine.setup import Approval
from treadle.guard.answer_grounding import MARK, mark_ungrounded
from treadle.guard.redaction import Redactor
from treadle.guard.visible_text import make_visible


def call_exit_code(result: RunResult[Any]) -> int:
    """Return the exit code of a command that made one call: a problem is a failure, even if the run succeeded."""
    problem = result.calls[-1].problem if result.calls else None
    return FAILED if problem and result.stopped != "cancelled" else exit_code(result)


def result_to_json(result: RunResult[Any]) -> dict[str, Any]:
    """Return a result as JSON. Secrets in call arguments are masked; an approval's digest is that of the real arguments."""
    redactor = Redactor()
    return {
        "run_id": result.run_id,
        "stopped": result.stopped,
        "output": result.answer_at_limit if result.stopped == "limit" else result.output_or_none,
        "reason": result.reason,
        "ungrounded": msgspec.to_builtins(result.ungrounded),
        "usage": usage_to_json(result.usage),
        "calls": [_call_to_json(record, redactor) for record in result.calls],
        "approvals": [msgspec.to_builtins(mask_approval_secrets(approval)) for approval in result.approvals],
    }


def mask_approval_secrets(approval: Approval) -> Approval:
    """Return an approval request without secrets."""
    redactor = Redactor()
    return replace(approval, arguments=redactor.value(approval.arguments), reason=redactor.text(approval.reason))


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Return usage as JSON."""
    return {**msgspec.to_builtins(usage), "total_tokens": usage.total_tokens}


def _call_to_json(record: CallRecord, redactor: Redactor) -> dict[str, Any]:
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


def format_usage(usage: Usage, took: float | None = None) -> str:
    """Format usage on one line."""
    words = [format_count(usage.requests, "request")]
    if usage.calls:
        words.append(format_count(usage.calls, "call"))
    if usage.total_tokens:
        cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
        words.append(f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out")
    if usage.cost is not None:
        words.append(f"${usage.cost:.4f}")
    if took is not None:
        words.append(f"{took:.1f} s")
    return ", ".join(words)


def print_waiting(screen: Screen, run_id: str, approvals: tuple[Approval, ...], reason: str = "") -> None:
    """Print the waiting calls, and how to continue; where no person is asked, what the run waits for.

    Secrets are masked, as this may go to a file; `treadle approve RUN` shows them.
    """
    resume = f"treadle resume {shlex.quote(run_id)}"
    if not approvals and reason:
        screen.tell(f"{make_visible(reason)} To go on then: {resume}", "yellow")
    unclear = [mask_approval_secrets(approval) for approval in approvals if approval.unclear]
    if unclear:
        print_unclear_calls(screen, unclear, resume)
    asked = [approval for approval in approvals if not approval.unclear]
    if asked:
        _print_approvals(screen, asked, resume)


def _print_approvals(screen: Screen, approvals: Sequence[Approval], resume: str) -> None:
    screen.tell(f"The run waits for a person's approval of {format_count(len(approvals), 'call')}:", "yellow")
    for approval in approvals:
        print_approval(screen, mask_approval_secrets(approval))
    calls = [shlex.join([clean_for_terminal(approval.run_id), clean_for_terminal(approval.call_id)]) for approval in approvals]
    screen.tell(f"To go on:   {' && '.join([f'treadle approve {call}' for call in calls])} && {resume}")
    screen.tell(f"To refuse:  treadle deny {calls[0]} --reason WHY && {resume}")


def print_approval(screen: Screen, approval: Approval) -> None:
    """Print one waiting call with all its arguments."""
    if approval.unclear:
        print_settle_commands(screen, approval)
        return
    call_id = clean_for_terminal(approval.call_id)
    if screen.notes_on_terminal:
        print_call(screen, approval, f"  {call_id}: ", "    ")
    else:
        screen.tell(f"  {call_id}: {make_visible(approval.name)} {make_visible(to_terminal_json(approval.arguments))}")
        if approval.preview:
            print_preview(screen, approval.preview, "    ")
    if approval.reason:
        screen.tell(f"    {make_visible(approval.reason)}", "dim")


def print_cut_off(screen: Screen, calls: Sequence[Call]) -> None:
    """Print the calls with an effect that were running when a person interrupted them."""
    for call in calls:
        screen.prose(f"{format_call(call.name, call.arguments)} was running, and may have taken effect.", "yellow")


def _print_stopped(screen: Screen, result: RunResult[Any], cut_off: Sequence[Call], *, kept: bool, goes_on: bool) -> None:
    """Print that a turn was interrupted or cancelled, and how to go on."""
    print_cut_off(screen, cut_off)
    run_id = shlex.quote(result.run_id)
    if goes_on:
        stopped = "interrupted" if result.interrupted else "this run was cancelled"
        screen.prose(f"treadle: {stopped}; your next message goes on from here.", "yellow")
        return
    if not result.interrupted:
        words = f'this run was cancelled. To say something else in it: treadle ask --run-id {run_id} "…"'
    elif kept:
        words = f"interrupted; the run is kept. To go on: treadle resume {run_id}"
    else:
        words = "interrupted; the run isn't kept."
    screen.tell(f"treadle: {words}", "yellow")


def print_report(
    face: Display,
    result: RunResult[Any],
    words: str,
    took: float,
    cut_off: Sequence[Call] = (),
    *,
    kept: bool = True,
    goes_on: bool = False,
) -> None:
    """Print what is left to report at the end of a turn. `goes_on` says that a next message may follow."""
    screen = face.screen
    match face.form:
        case "json":
            screen.line(to_terminal_json(result_to_json(result)))
        case "text":
            _finish_answer(screen, result, words)
        case "result" | "data":
            _print_result(screen, result, as_json=face.form == "data")
        case "events":
            pass
    match result.stopped:
        case "failed":
            screen.prose(f"treadle: {result.reason}", "red")
        case "waiting":
            print_waiting(screen, result.run_id, result.approvals, result.reason)
        case "limit":
            said = f"Stopped at {result.reason}; the answer is from what was there by then." if result.text else result.message
            screen.note(said, "yellow")
        case "cancelled":
            _print_stopped(screen, result, cut_off, kept=kept, goes_on=goes_on)
        case "answered":
            pass
    screen.note(screen.wrap(f"[{format_usage(result.usage, took)}; run {result.run_id}]"))


def _finish_answer(screen: Screen, result: RunResult[Any], words: str) -> None:
    """Print the end of the answer; all of it if the model didn't just stream it, as with a run that was over already."""
    if result.stopped in ("answered", "limit") and result.text != words.strip():
        screen.end_line()
        screen.say(mark_ungrounded(result.text, result.ungrounded))
    screen.end_line()
    if result.ungrounded:
        screen.tell(f"No tool result has what is marked with {MARK}.", "yellow")


def _print_result(screen: Screen, result: RunResult[Any], *, as_json: bool) -> None:
    """Print what the one call returned, or its problem. As JSON it is the data of the result; a text is a JSON string."""
    for record in result.calls[-1:]:
        if record.problem:
            screen.tell(f"treadle: {record.problem}: {record.result.content if record.result else ''}", "red")
        elif record.result is not None:
            value = record.result.content if record.result.data is None else record.result.data
            screen.line(to_terminal_json(value) if as_json else record.result.content)
