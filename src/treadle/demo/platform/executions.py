"""Workflow executions: start, advance step by step, retry, show. `runner` decides when the next step is due."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.demo.platform.clock import elapsed_milliseconds, format_timestamp
from treadle.demo.platform.deployment_plan import PlannedStep
from treadle.demo.platform.http_types import PlatformRequest, PlatformResponse, RequestContext, RequestRefused, json_reply
from treadle.demo.platform.resources import BUSY, change_resource_state
from treadle.demo.platform.store import Row, fetch_number, fetch_row, fetch_rows, insert_row, update_row

MOST, USUAL = 100, 50  # executions in one answer
BY = "workflow"
REMOVALS = ("delete-app", "deprovision-app")

_SUMMARY = ("id", "application_name", "workflow_name", "status", "started_at", "completed_at")
_STEP = ("id", "step_number", "step_name", "step_type", "status", "started_at", "completed_at", "error_message", "output_logs")


class RetryOrigin(Struct, frozen=True):
    """The execution that another one retries, and where it resumes."""

    parent: int
    retries: int
    resume: int


def begin_execution(
    visit: RequestContext,
    application: str,
    team: str,
    workflow: str,
    steps: Sequence[PlannedStep],
    origin: RetryOrigin | None = None,
) -> int:
    """Store an execution that runs from now on; return its id."""
    now = format_timestamp(visit.at)
    more = {"parent_execution_id": origin.parent, "resume_from_step": origin.resume} if origin else {}
    values = {
        "application_name": application,
        "workflow_name": workflow,
        "team": team,
        "status": "running",
        "started_at": now,
        "retry_count": origin.retries if origin else 0,
        "created_at": now,
        "updated_at": now,
        **more,
    }
    execution = insert_row(visit.db, "executions", values)
    for number_, step in enumerate(steps, 1):
        _add_step(visit.db, execution, number_, step)
    visit.begun.append(execution)
    return execution


def _add_step(db: Connection, execution: int, position: int, step: PlannedStep) -> None:
    values = {
        "execution_id": execution,
        "step_number": position,
        "step_name": step.name,
        "step_type": step.type,
        "status": "pending",
        "step_config": json.dumps(step.config, default=str),
        "output_logs": step.logs,
        "resource_id": step.resource_id,
        "failure": step.failure or None,
        "takes": step.takes,
    }
    insert_row(db, "steps", values)
    if step.resource_id is not None:
        update_row(db, "resources", step.resource_id, workflow_execution_id=execution)


def advance_execution(db: Connection, at: datetime, execution: int) -> float | None:
    """Do the next thing of an execution; return the delay until the next, or None if it has ended or waits forever."""
    found = fetch_row(db, "SELECT * FROM executions WHERE id = ? AND status = 'running'", execution)
    if found is None:
        return None
    update_row(db, "executions", execution, updated_at=format_timestamp(at))
    step = fetch_row(
        db, "SELECT * FROM steps WHERE execution_id = ? AND status IN ('running', 'pending') ORDER BY step_number", execution
    )
    if step is None:
        return _end_execution(db, at, found, None)
    if step["status"] == "pending":
        return _start_step(db, at, step)
    if step["takes"] is None:
        return None
    return _fail_step(db, at, found, step) if step["failure"] else _finish_step(db, at, found, step)


def run_execution(visit: RequestContext, execution: int) -> str | None:
    """Run an execution to its end; return why it failed, if it did."""
    while advance_execution(visit.db, visit.at, execution) is not None:
        pass
    visit.begun.remove(execution)
    return fetch_rows(visit.db, "SELECT error_message FROM executions WHERE id = ?", execution)[0]["error_message"]


def supersede_executions(visit: RequestContext, application: str, why: str) -> None:
    """End the running executions of an application, except removals, which are completed."""
    now = format_timestamp(visit.at)
    for each in fetch_rows(visit.db, "SELECT * FROM executions WHERE application_name = ? AND status = 'running'", application):
        if each["workflow_name"] in REMOVALS:
            continue
        for step in fetch_rows(
            visit.db, "SELECT * FROM steps WHERE execution_id = ? AND status IN ('pending', 'running')", each["id"]
        ):
            if step["status"] == "running":
                update_row(visit.db, "steps", step["id"], status="failed", completed_at=now, error_message=why)
            if step["resource_id"] is not None and _step_operation(step) == "delete":
                change_resource_state(visit.db, visit.at, step["resource_id"], "terminated", why, BY)
        _end_execution(visit.db, visit.at, each, why)


def running_executions(db: Connection) -> list[int]:
    """Return the executions that haven't ended."""
    return [each["id"] for each in fetch_rows(db, "SELECT id FROM executions WHERE status = 'running' ORDER BY id")]


def waiting_executions(db: Connection) -> list[int]:
    """Return the running executions that wait forever."""
    held = "SELECT execution_id AS id FROM steps WHERE status = 'running' AND takes IS NULL"
    return [each["id"] for each in fetch_rows(db, held)]


def list_workflows(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Return a page of executions, the newest first; a bare list in the old API. An empty result is `null`, not an empty list."""
    limit = _parse_number(asked.query.get("limit", ""), USUAL, 1, MOST)
    page = _parse_number(asked.query.get("page", ""), 1, 1, 10**9)
    offset = _parse_number(asked.query.get("offset", ""), 0, 0, 10**9) if visit.shape == "old" else (page - 1) * limit
    fitting, values = _build_filter(visit, asked.query)
    total = fetch_number(visit.db, f"SELECT count(*) FROM executions WHERE {fitting}", *values)  # noqa: S608 - our own words
    query = f"SELECT * FROM executions WHERE {fitting} ORDER BY started_at DESC, id DESC LIMIT ? OFFSET ?"  # noqa: S608 - our own words
    found = [_summary_to_json(visit.db, each) for each in fetch_rows(visit.db, query, *values, limit, offset)] or None
    if visit.shape == "old":
        return json_reply(found)
    return json_reply({"data": found, "total": total, "page": page, "page_size": limit, "total_pages": max(1, -(-total // limit))})


def get_workflow(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Return one execution with its steps. Another team's isn't visible."""
    return json_reply(_detail_to_json(visit.db, _require_execution(visit, asked.named["id"], "Workflow not found")))


def retry_execution(visit: RequestContext, asked: PlatformRequest, planned: Sequence[PlannedStep]) -> PlatformResponse:
    """Resume a failed execution from the failed step, with the steps in the request or its own.

    `planned` are the steps of the application's current spec: what is fixed there is fixed here.
    """
    parent = _require_execution(visit, asked.named["id"], "Workflow execution not found")
    if parent["status"] != "failed":
        raise RequestRefused(400, f"Only a failed workflow can be retried; this one is {parent['status']}")
    given = _parse_steps(asked.body)
    had = fetch_rows(visit.db, "SELECT * FROM steps WHERE execution_id = ? ORDER BY step_number", parent["id"])
    resume = next((each["step_number"] for each in had if each["status"] != "completed"), 1)
    steps = given or [_retry_step(each, planned) for each in had[resume - 1 :]]
    supersede_executions(visit, parent["application_name"], f"superseded by a retry of execution {parent['id']}")
    origin = RetryOrigin(parent["id"], parent["retry_count"] + 1, resume)
    begin_execution(visit, parent["application_name"], parent["team"], parent["workflow_name"], steps, origin)
    return json_reply(
        {
            "success": True,
            "message": f"Workflow retry started from step {resume}",
            "parent_execution_id": parent["id"],
            "app_name": parent["application_name"],
            "workflow_name": parent["workflow_name"],
        }
    )


def execution_application(visit: RequestContext, asked: PlatformRequest) -> str:
    """Return the application of the requested execution."""
    return _require_execution(visit, asked.named["id"], "Workflow execution not found")["application_name"]


def _start_step(db: Connection, at: datetime, step: Row) -> float | None:
    update_row(db, "steps", step["id"], status="running", started_at=format_timestamp(at))
    if step["resource_id"] is not None:
        change_resource_state(db, at, step["resource_id"], BUSY[_step_operation(step)], f"step {step['step_name']} began", BY)
    return step["takes"]


def _finish_step(db: Connection, at: datetime, execution: Row, step: Row) -> float | None:
    update_row(db, "steps", step["id"], status="completed", completed_at=format_timestamp(at))
    if step["resource_id"] is not None:
        state = "terminated" if _step_operation(step) == "delete" else "active"
        change_resource_state(db, at, step["resource_id"], state, f"step {step['step_name']} completed", BY)
    left = fetch_number(db, "SELECT count(*) FROM steps WHERE execution_id = ? AND status = 'pending'", execution["id"])
    return 0.0 if left else _end_execution(db, at, execution, None)


def _fail_step(db: Connection, at: datetime, execution: Row, step: Row) -> None:
    failure = step["failure"]
    logs = f"{step['output_logs']}\nERROR: {failure}"
    update_row(db, "steps", step["id"], status="failed", completed_at=format_timestamp(at), error_message=failure, output_logs=logs)
    if step["resource_id"] is not None:
        change_resource_state(db, at, step["resource_id"], "failed", f"step {step['step_name']} failed", BY, failure)
    _end_execution(db, at, execution, f"step '{step['step_name']}' failed: {failure}")


def _end_execution(db: Connection, at: datetime, execution: Row, error: str | None) -> None:
    now = format_timestamp(at)
    status = "failed" if error else "completed"
    update_row(db, "executions", execution["id"], status=status, completed_at=now, updated_at=now, error_message=error)


def _step_operation(step: Row) -> Any:
    return json.loads(step["step_config"])["operation"]


def _build_filter(visit: RequestContext, query: Mapping[str, str]) -> tuple[str, list[Any]]:
    """Return the SQL filter for the requested executions. The old API filters by application only."""
    words, values = ["1"], list[Any]()
    if not visit.who.is_admin:
        words, values = ["team = ?"], [visit.who.team]
    if application := query.get("app"):
        words, values = [*words, "application_name = ?"], [*values, application]
    if visit.shape == "new" and (status := query.get("status")):
        words, values = [*words, "status = ?"], [*values, status]
    if visit.shape == "new" and (search := query.get("search")):
        words.append("instr(lower(application_name || ' ' || workflow_name), lower(?)) > 0")
        values.append(search)
    return " AND ".join(words), values


def _parse_number(text: str, usual: int, least: int, most: int) -> int:
    """Parse a number; an invalid, too small or too large one counts as missing."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return usual
    return int(text) if least <= int(text) <= most else usual


def _require_execution(visit: RequestContext, text: str, missing: str) -> Row:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise RequestRefused(400, "Invalid workflow ID")
    found = fetch_row(visit.db, "SELECT * FROM executions WHERE id = ?", int(text))
    if found is None or not visit.who.sees(found["team"]):
        raise RequestRefused(404, missing)
    return found


def _summary_to_json(db: Connection, execution: Row) -> Row:
    steps = [each["status"] for each in fetch_rows(db, "SELECT status FROM steps WHERE execution_id = ?", execution["id"])]
    shown = {key: execution[key] for key in _SUMMARY}
    shown |= {"total_steps": len(steps), "completed_steps": steps.count("completed"), "failed_steps": steps.count("failed")}
    shown["duration_ms"] = elapsed_milliseconds(execution["started_at"], execution["completed_at"])
    return _drop_none(shown)


def _detail_to_json(db: Connection, execution: Row) -> Row:
    steps = fetch_rows(db, "SELECT * FROM steps WHERE execution_id = ? ORDER BY step_number", execution["id"])
    kept = ("error_message", "parent_execution_id", "retry_count", "resume_from_step", "created_at", "updated_at")
    more = _drop_none({key: execution[key] for key in kept})
    is_retry = execution["parent_execution_id"] is not None
    return {**_summary_to_json(db, execution), **more, "is_retry": is_retry, "steps": [_step_to_json(each) for each in steps]}


def _step_to_json(step: Row) -> Row:
    """Serialize a step. Logs are present once it has started."""
    shown = {key: step[key] for key in _STEP}
    shown["output_logs"] = step["output_logs"] if step["started_at"] else None
    shown["duration_ms"] = elapsed_milliseconds(step["started_at"], step["completed_at"])
    return {**_drop_none(shown), "step_config": json.loads(step["step_config"])}


def _drop_none(value: Row) -> Row:
    return {key: each for key, each in value.items() if each is not None}


def _retry_step(step: Row, planned: Sequence[PlannedStep]) -> PlannedStep:
    """Return a step for a retry. What failed for a reason outside the spec doesn't fail again."""
    same = next((each for each in planned if each.name == step["step_name"]), None)
    failure = same.failure if same else ""
    logs = same.logs if same else str(step["output_logs"]).partition("\nERROR:")[0]
    return PlannedStep(step["step_name"], step["step_type"], logs, json.loads(step["step_config"]), step["resource_id"], failure)


def _parse_steps(body: bytes) -> list[PlannedStep]:
    """Parse the steps of a request; none if the body is empty."""
    if not body.strip():
        return []
    try:
        workflow = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestRefused(400, f"Invalid workflow specification: {error}") from error
    steps: Any = cast("dict[str, Any]", workflow).get("steps") if isinstance(workflow, dict) else None
    if not isinstance(steps, list) or not steps:
        raise RequestRefused(400, "Invalid workflow specification: it has to be an object with a list of steps")
    from treadle.demo.platform.deployment_plan import plan_inline_workflow

    return plan_inline_workflow({"steps": steps})
