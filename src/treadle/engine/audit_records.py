"""Audit records of a call, redacted: that it begins, if it has an effect; how it ended; the verdict, and by whom."""

from treadle.core.calls import Call, Result
from treadle.core.grants import SCOPES
from treadle.core.seams import AuditRecord
from treadle.engine.journaled import JournaledRun
from treadle.loop.state import CallState

SUMMARY_LENGTH = 200  # characters of a result that the audit keeps


def audit_begin(run: JournaledRun, state: CallState, call: Call) -> None:
    """Record that a call begins. The caller waits for the disk before executing it: no record, no effect."""
    if run.services.audit is None:
        return
    verdict, by = _find_decision(state)
    arguments = run.redactor.value(call.arguments)
    record = AuditRecord(run.id, call.id, run.user, call.name, arguments, verdict, by, "", 0.0, True, None, run.now(), "begins")
    run.audit(record)


def audit_end(run: JournaledRun, state: CallState, call: Call, result: Result, seconds: float) -> None:
    """Record how a call ended."""
    if run.services.audit is None:
        return
    verdict, by = _find_decision(state)
    summary = run.redactor.text(result.content[: 2 * SUMMARY_LENGTH])[:SUMMARY_LENGTH]
    record = AuditRecord(
        run.id,
        call.id,
        run.user,
        call.name,
        run.redactor.value(call.arguments),
        verdict,
        by,
        "" if result.problem else summary,
        round(seconds * 1000, 3),
        result.problem is None,
        f"{result.problem}: {summary}" if result.problem else None,
        run.now(),
    )
    run.audit(record)


def _find_decision(state: CallState) -> tuple[str, str]:
    """Return the verdict that counted, and who gave it: a person's answer comes after the rule that asked for it."""
    if state.question is not None and state.question.said is not None:
        return state.question.said, state.question.by
    if state.answered:
        how = f", grant {state.covered}" if state.covered else "" if state.scope == "once" else f", {SCOPES[state.scope]}"
        return ("approved" if state.approved else "refused"), f"{state.answered}{how}"
    return ("", "") if state.verdict is None else (type(state.verdict).__name__.lower(), state.verdict.by)
