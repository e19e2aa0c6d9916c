"""Workflow executions: begun, carried on step by step, retried, shown. When the next step is due is `runner`'s business."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.assistants.platform.demo.clock import milliseconds, stamp
from treadle.assistants.platform.demo.plans import Step
from treadle.assistants.platform.demo.resources import BUSY, move
from treadle.assistants.platform.demo.store import Row, insert, number, row, rows, update
from treadle.assistants.platform.demo.values import Answer, Asked, Refused, Visit, said

MOST, USUAL = 100, 50  # executions in one answer
BY = "workflow"
REMOVALS = ("delete-app", "deprovision-app")

_SUMMARY = ("id", "application_name", "workflow_name", "status", "started_at", "completed_at")
_STEP = ("id", "step_number", "step_name", "step_type", "status", "started_at", "completed_at", "error_message", "output_logs")


class Origin(Struct, frozen=True):
    """The execution that one retries, and where it goes on."""

    parent: int
    retries: int
    resume: int


def begin(visit: Visit, application: str, team: str, workflow: str, steps: Sequence[Step], origin: Origin | None = None) -> int:
    """Write down an execution that runs from now on; its id."""
    now = stamp(visit.at)
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
    execution = insert(visit.db, "executions", values)
    for number_, step in enumerate(steps, 1):
        _add_step(visit.db, execution, number_, step)
    visit.begun.append(execution)
    return execution


def _add_step(db: Connection, execution: int, position: int, step: Step) -> None:
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
    insert(db, "steps", values)
    if step.resource_id is not None:
        update(db, "resources", step.resource_id, workflow_execution_id=execution)


def advance(db: Connection, at: datetime, execution: int) -> float | None:
    """Do the next thing of an execution. How long until the one after it; None where it has ended, or waits for ever."""
    found = row(db, "SELECT * FROM executions WHERE id = ? AND status = 'running'", execution)
    if found is None:
        return None
    update(db, "executions", execution, updated_at=stamp(at))
    step = row(
        db, "SELECT * FROM steps WHERE execution_id = ? AND status IN ('running', 'pending') ORDER BY step_number", execution
    )
    if step is None:
        return _end(db, at, found, None)
    if step["status"] == "pending":
        return _start(db, at, step)
    if step["takes"] is None:
        return None
    return _fail(db, at, found, step) if step["failure"] else _finish(db, at, found, step)


def run_at_once(visit: Visit, execution: int) -> str | None:
    """Carry an execution out to its end; why it failed, if it did."""
    while advance(visit.db, visit.at, execution) is not None:
        pass
    visit.begun.remove(execution)
    return rows(visit.db, "SELECT error_message FROM executions WHERE id = ?", execution)[0]["error_message"]


def supersede(visit: Visit, application: str, why: str) -> None:
    """End whatever still runs for an application, unless it takes things away: that is carried through."""
    now = stamp(visit.at)
    for each in rows(visit.db, "SELECT * FROM executions WHERE application_name = ? AND status = 'running'", application):
        if each["workflow_name"] in REMOVALS:
            continue
        for step in rows(visit.db, "SELECT * FROM steps WHERE execution_id = ? AND status IN ('pending', 'running')", each["id"]):
            if step["status"] == "running":
                update(visit.db, "steps", step["id"], status="failed", completed_at=now, error_message=why)
            if step["resource_id"] is not None and _operation(step) == "delete":
                move(visit.db, visit.at, step["resource_id"], "terminated", why, BY)
        _end(visit.db, visit.at, each, why)


def running(db: Connection) -> list[int]:
    """The executions that haven't ended."""
    return [each["id"] for each in rows(db, "SELECT id FROM executions WHERE status = 'running' ORDER BY id")]


def waiting(db: Connection) -> list[int]:
    """Those of them that wait for ever."""
    held = "SELECT execution_id AS id FROM steps WHERE status = 'running' AND takes IS NULL"
    return [each["id"] for each in rows(db, held)]


def list_workflows(visit: Visit, asked: Asked) -> Answer:
    """A page of executions, the newest first; of the old shape, a bare list. None are `null`, not an empty list."""
    limit = _whole(asked.query.get("limit", ""), USUAL, 1, MOST)
    page = _whole(asked.query.get("page", ""), 1, 1, 10**9)
    offset = _whole(asked.query.get("offset", ""), 0, 0, 10**9) if visit.shape == "old" else (page - 1) * limit
    fitting, values = _fitting(visit, asked.query)
    total = number(visit.db, f"SELECT count(*) FROM executions WHERE {fitting}", *values)  # noqa: S608 - our own words
    query = f"SELECT * FROM executions WHERE {fitting} ORDER BY started_at DESC, id DESC LIMIT ? OFFSET ?"  # noqa: S608 - our own words
    found = [_summary(visit.db, each) for each in rows(visit.db, query, *values, limit, offset)] or None
    if visit.shape == "old":
        return said(found)
    return said({"data": found, "total": total, "page": page, "page_size": limit, "total_pages": max(1, -(-total // limit))})


def get_workflow(visit: Visit, asked: Asked) -> Answer:
    """One execution with its steps. Another team's isn't there."""
    return said(_detail(visit.db, _seen(visit, asked.named["id"], "Workflow not found")))


def retry(visit: Visit, asked: Asked, planned: Sequence[Step]) -> Answer:
    """Carry on a failed execution from the step that failed, with the steps in the request or those it had.

    `planned` are the steps as the application's spec asks for them today: what is mended there is mended here.
    """
    parent = _seen(visit, asked.named["id"], "Workflow execution not found")
    if parent["status"] != "failed":
        raise Refused(400, f"Only a failed workflow can be retried; this one is {parent['status']}")
    given = _given(asked.body)
    had = rows(visit.db, "SELECT * FROM steps WHERE execution_id = ? ORDER BY step_number", parent["id"])
    resume = next((each["step_number"] for each in had if each["status"] != "completed"), 1)
    steps = given or [_again(each, planned) for each in had[resume - 1 :]]
    supersede(visit, parent["application_name"], f"superseded by a retry of execution {parent['id']}")
    origin = Origin(parent["id"], parent["retry_count"] + 1, resume)
    begin(visit, parent["application_name"], parent["team"], parent["workflow_name"], steps, origin)
    return said(
        {
            "success": True,
            "message": f"Workflow retry started from step {resume}",
            "parent_execution_id": parent["id"],
            "app_name": parent["application_name"],
            "workflow_name": parent["workflow_name"],
        }
    )


def application_of(visit: Visit, asked: Asked) -> str:
    """The application whose execution is asked for."""
    return _seen(visit, asked.named["id"], "Workflow execution not found")["application_name"]


def _start(db: Connection, at: datetime, step: Row) -> float | None:
    update(db, "steps", step["id"], status="running", started_at=stamp(at))
    if step["resource_id"] is not None:
        move(db, at, step["resource_id"], BUSY[_operation(step)], f"step {step['step_name']} began", BY)
    return step["takes"]


def _finish(db: Connection, at: datetime, execution: Row, step: Row) -> float | None:
    update(db, "steps", step["id"], status="completed", completed_at=stamp(at))
    if step["resource_id"] is not None:
        state = "terminated" if _operation(step) == "delete" else "active"
        move(db, at, step["resource_id"], state, f"step {step['step_name']} completed", BY)
    left = number(db, "SELECT count(*) FROM steps WHERE execution_id = ? AND status = 'pending'", execution["id"])
    return 0.0 if left else _end(db, at, execution, None)


def _fail(db: Connection, at: datetime, execution: Row, step: Row) -> None:
    failure = step["failure"]
    logs = f"{step['output_logs']}\nERROR: {failure}"
    update(db, "steps", step["id"], status="failed", completed_at=stamp(at), error_message=failure, output_logs=logs)
    if step["resource_id"] is not None:
        move(db, at, step["resource_id"], "failed", f"step {step['step_name']} failed", BY, failure)
    _end(db, at, execution, f"step '{step['step_name']}' failed: {failure}")


def _end(db: Connection, at: datetime, execution: Row, error: str | None) -> None:
    now = stamp(at)
    status = "failed" if error else "completed"
    update(db, "executions", execution["id"], status=status, completed_at=now, updated_at=now, error_message=error)


def _operation(step: Row) -> Any:
    return json.loads(step["step_config"])["operation"]


def _fitting(visit: Visit, query: Mapping[str, str]) -> tuple[str, list[Any]]:
    """Which executions are asked for, as SQL. The old shape knows applications only."""
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


def _whole(text: str, usual: int, least: int, most: int) -> int:
    """The number in a text; what is no number, or too small or large, counts as not given."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return usual
    return int(text) if least <= int(text) <= most else usual


def _seen(visit: Visit, text: str, missing: str) -> Row:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused(400, "Invalid workflow ID")
    found = row(visit.db, "SELECT * FROM executions WHERE id = ?", int(text))
    if found is None or not visit.who.sees(found["team"]):
        raise Refused(404, missing)
    return found


def _summary(db: Connection, execution: Row) -> Row:
    steps = [each["status"] for each in rows(db, "SELECT status FROM steps WHERE execution_id = ?", execution["id"])]
    shown = {key: execution[key] for key in _SUMMARY}
    shown |= {"total_steps": len(steps), "completed_steps": steps.count("completed"), "failed_steps": steps.count("failed")}
    shown["duration_ms"] = milliseconds(execution["started_at"], execution["completed_at"])
    return _without_nothing(shown)


def _detail(db: Connection, execution: Row) -> Row:
    steps = rows(db, "SELECT * FROM steps WHERE execution_id = ? ORDER BY step_number", execution["id"])
    kept = ("error_message", "parent_execution_id", "retry_count", "resume_from_step", "created_at", "updated_at")
    more = _without_nothing({key: execution[key] for key in kept})
    is_retry = execution["parent_execution_id"] is not None
    return {**_summary(db, execution), **more, "is_retry": is_retry, "steps": [_step(each) for each in steps]}


def _step(step: Row) -> Row:
    """A step as it is told. Logs are there once it has begun."""
    shown = {key: step[key] for key in _STEP}
    shown["output_logs"] = step["output_logs"] if step["started_at"] else None
    shown["duration_ms"] = milliseconds(step["started_at"], step["completed_at"])
    return {**_without_nothing(shown), "step_config": json.loads(step["step_config"])}


def _without_nothing(value: Row) -> Row:
    return {key: each for key, each in value.items() if each is not None}


def _again(step: Row, planned: Sequence[Step]) -> Step:
    """A step to be done once more. What failed for a reason that isn't in the spec doesn't fail again."""
    same = next((each for each in planned if each.name == step["step_name"]), None)
    failure = same.failure if same else ""
    logs = same.logs if same else str(step["output_logs"]).partition("\nERROR:")[0]
    return Step(step["step_name"], step["step_type"], logs, json.loads(step["step_config"]), step["resource_id"], failure)


def _given(body: bytes) -> list[Step]:
    """The steps in a request; none where it is empty."""
    if not body.strip():
        return []
    try:
        workflow = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"Invalid workflow specification: {error}") from error
    steps: Any = cast("dict[str, Any]", workflow).get("steps") if isinstance(workflow, dict) else None
    if not isinstance(steps, list) or not steps:
        raise Refused(400, "Invalid workflow specification: it has to be an object with a list of steps")
    from treadle.assistants.platform.demo.plans import inline

    return inline({"steps": steps})
