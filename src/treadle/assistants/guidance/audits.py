"""The looks that an answer goes by, as they are stored with it: from the audit, where they are redacted already."""

from typing import Any

from treadle import Home

SUMMARY = 200


async def audits_of(home: Home, run_id: str) -> list[dict[str, Any]]:
    """Every call of a run: what, with what, what came of it, how long it took."""
    return [
        {
            "tool_name": record.tool_name,
            "arguments": record.arguments,
            "result_summary": _short(record.result_summary) if record.success else None,
            "duration_ms": record.duration_ms,
            "success": record.success,
            "error": record.error,
            "verdict": record.verdict,
            "user": record.user,
        }
        for record in [link.record for link in await home.audit.records(run_id)]
        if record.stage == "ended"
    ]


def _short(text: str) -> str:
    return text if len(text) < SUMMARY else f"{text[:SUMMARY]}..."
