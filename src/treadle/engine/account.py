"""What the audit says about a call, redacted: that it begins, where it has an effect; how it ended; the verdict, and whose."""

from treadle.core.calls import Call, Result
from treadle.core.seams import AuditRecord
from treadle.engine.journaled import JournaledRun
from treadle.loop.state import CallState

SUMMARY = 200  # characters of a result that the audit keeps


def begins(run: JournaledRun, state: CallState, call: Call) -> None:
    """Add that a call begins. Whoever carries it out waits for the disk first: no record, no effect."""
    if run.services.audit is None:
        return
    verdict, by = _decision(state)
    arguments = run.redactor.value(call.arguments)
    record = AuditRecord(run.id, call.id, run.user, call.name, arguments, verdict, by, "", 0.0, True, None, run.now(), "begins")
    run.audit(record)


def account(run: JournaledRun, state: CallState, call: Call, result: Result, seconds: float) -> None:
    """Add how a call ended."""
    if run.services.audit is None:
        return
    verdict, by = _decision(state)
    summary = run.redactor.text(result.content[: 2 * SUMMARY])[:SUMMARY]
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


def _decision(state: CallState) -> tuple[str, str]:
    """The verdict that counted, and whose it was: a person's answer comes after the rule that asked for it."""
    if state.question is not None and state.question.said is not None:
        return state.question.said, state.question.by
    if state.answered:
        return ("approved" if state.approved else "refused"), state.answered
    return ("", "") if state.verdict is None else (type(state.verdict).__name__.lower(), state.verdict.by)
