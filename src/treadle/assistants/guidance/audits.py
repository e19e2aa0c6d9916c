"""The looks that an answer goes by, as they are stored with it: from the audit and the journal, where they are redacted already."""

from typing import Any

from treadle import Home, Result

SUMMARY = 200


async def audits_of(home: Home, run_id: str) -> list[dict[str, Any]]:
    """Every call of a run: what, with what, what came of it, how long it took. Of one that failed, the kind of problem and why."""
    came: list[Result | None] = [getattr(entry, "result", None) for entry in await home.journal.read(run_id)]
    failed = {result.call_id: result for result in came if result is not None and result.problem is not None}
    return [
        {
            "tool_name": record.tool_name,
            "arguments": record.arguments,
            "result_summary": _short(record.result_summary) if record.success else None,
            "duration_ms": record.duration_ms,
            "success": record.success,
            "error": record.error,
            **_why(failed.get(record.call_id)),
            "verdict": record.verdict,
            "user": record.user,
        }
        for record in [link.record for link in await home.audit.records(run_id)]
        if record.stage == "ended"
    ]


def _why(result: Result | None) -> dict[str, Any]:
    return {} if result is None else {"problem": result.problem, "reason": _short(result.content)}


def _short(text: str) -> str:
    return text if len(text) < SUMMARY else f"{text[:SUMMARY]}..."
