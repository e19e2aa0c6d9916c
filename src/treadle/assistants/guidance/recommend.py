"""The settings of a run that the assistant recommends: checked, with what stands in the way. Pure; a person runs."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from treadle.assistants.guidance.preflight import preflight
from treadle.assistants.guidance.stages import State

if TYPE_CHECKING:
    from treadle import RunResult
    from treadle.assistants.guidance.session import GuidanceContext

VERSION = 1


def recommended(context: "GuidanceContext", state: State, result: "RunResult[Any]") -> dict[str, Any]:
    """What to run, by what the model checked last, or else as usual."""
    looks = [record.arguments for record in result.calls if record.name == "check_run" and not record.problem]
    checked: dict[str, Any] = looks[-1] if looks else {}
    parameters = {key: value for key, value in checked.items() if key != "mode"}
    found = preflight(state, str(checked.get("mode", "full_search")), parameters)
    config = dict(found.normalized_config)
    return {
        "version": VERSION,
        "recommendation_id": uuid4().hex,
        "project_id": context.project_id,
        "chat_session_id": context.session_id or None,
        "generated_at": datetime.now(UTC).isoformat(),
        "status": "ready" if found.ready else "blocked",
        "mode": config.pop("mode"),
        "parameters": config,
        "prerequisites": found.prerequisites,
        "blockers": [msgspec.to_builtins(each) for each in found.blockers],
        "warnings": [msgspec.to_builtins(each) for each in found.warnings],
        "rationale": result.text[:500],
        "notes": list(found.notes),
    }
