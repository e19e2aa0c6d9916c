"""The lookups that an answer is based on, as they are stored with it: from the audit and the journal, where they are redacted."""

from typing import Any

from treadle import Home, Result

MAX_SUMMARY = 200


async def load_call_audits(home: Home, run_id: str) -> list[dict[str, Any]]:
    """Return every call of a run: name, arguments, result, duration; of a failed one, the kind of problem and the reason."""
    came: list[Result | None] = [getattr(entry, "result", None) for entry in await home.journal.read(run_id)]
    failed = {result.call_id: result for result in came if result is not None and result.problem is not None}
    return [
        {
            "tool_name": record.tool_name,
            "arguments": record.arguments,
            "result_summary": _shorten(record.result_summary) if record.success else None,
            "duration_ms": record.duration_ms,
            "success": record.success,
            "error": record.error,
            **_failure_fields(failed.get(record.call_id)),
            "verdict": record.verdict,
            "user": record.user,
        }
        for record in [link.record for link in await home.audit.records(run_id)]
        if record.stage == "ended"
    ]


def _failure_fields(result: Result | None) -> dict[str, Any]:
    return {} if result is None else {"problem": result.problem, "reason": _shorten(result.content)}


def _shorten(text: str) -> str:
    return text if len(text) < MAX_SUMMARY else f"{text[:MAX_SUMMARY]}..."
