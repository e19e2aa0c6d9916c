"""Applications: list, show, deploy, delete. Users have access to what belongs to their team; an admin to everything."""

import re
from typing import Any

import msgspec

from treadle.assistants.platform.score import ScoreSpec, check_spec
from treadle.demo.platform import deployment_plan, executions, resources
from treadle.demo.platform.catalogue import TYPES, find_golden_path
from treadle.demo.platform.clock import format_timestamp
from treadle.demo.platform.http_types import PlatformRequest, PlatformResponse, RequestContext, RequestRefused, json_reply
from treadle.demo.platform.store import Row, fetch_number, fetch_row, fetch_rows, insert_row, update_row

_REFERENCE = re.compile(r"\$\{resources\.([^.}]+)")
_LOCAL = "apiVersion"  # wanted where specs are validated, but not by the server


def list_applications(visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
    """List the applications by name."""
    return json_reply(
        {each["name"]: {**_spec_to_json(_decode_spec(each)), **_record_fields(each)} for each in _visible_applications(visit)}
    )


def get_application(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Return one application."""
    return json_reply(_spec_to_json(_decode_spec(_require_application(visit, asked.named["name"]))))


def deploy_spec(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Deploy a spec: a new application, or a new version of one of the user's team."""
    spec = _parse_spec(asked.body)
    team = _store_spec(visit, spec)
    failed = {name: why for name, each in spec.workflows.items() if (why := _run_inline(visit, spec.name, team, name, each))}
    if failed:
        told = {"message": f"Deployment of '{spec.name}' failed", "name": spec.name, "status": "failed"}
        return json_reply({**told, "failed_workflows": list(failed), "errors": list(failed.values())}, 500)
    _roll_out(visit, spec, team, "deploy-app")
    return json_reply(
        {"message": f"Deployed '{spec.name}'", "name": spec.name, "status": "success", **_environment_variables(spec)}, 201
    )


def execute_golden_path(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Deploy a spec by a golden path."""
    name = asked.named["path"]
    path = find_golden_path(name)
    missing = [key for key, each in path.parameters.items() if each.required and not asked.query.get(f"param.{key}")]
    if missing:
        raise RequestRefused(400, f"Parameters are missing: {', '.join(missing)} (give them as ?param.NAME=VALUE)")
    spec = _parse_spec(asked.body)
    execution = _roll_out(visit, spec, _store_spec(visit, spec), f"golden-path-{name}")
    return json_reply(
        {
            "message": f"Golden path '{name}' enqueued for application '{spec.name}'",
            "application": spec.name,
            "golden_path": name,
            "task_id": str(execution),
            "status": "enqueued",
        }
    )


def delete_application(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Delete an application; its resources terminate."""
    found = _require_application(visit, asked.named["name"])
    _tear_down(visit, found, "delete-app")
    visit.db.execute("DELETE FROM applications WHERE id = ?", (found["id"],))
    return json_reply({"message": f"Deleted '{found['name']}' and all its resources"})


def deprovision_application(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Delete an application's resources, and keep its record."""
    found = _require_application(visit, asked.named["name"])
    _tear_down(visit, found, "deprovision-app")
    return json_reply({"message": f"Deprovisioned '{found['name']}'", "note": "The application's record and its history are kept"})


def retry_application(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Retry a failed execution of an application, with its current spec."""
    spec = _decode_spec(_require_application(visit, executions.execution_application(visit, asked)))
    changes = [
        deployment_plan.ResourceChange(0, name, each.type, "create") for name, each in resources.required_resources(spec).items()
    ]
    return executions.retry_execution(visit, asked, deployment_plan.plan_deployment(spec, changes))


def list_environments(visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
    """List the environments of applications that name one. An empty result is `null`, not an empty list."""
    return json_reply(
        [
            _environment_to_json(visit, each, spec)
            for each in _visible_applications(visit)
            if (spec := _decode_spec(each)).environment
        ]
        or None
    )


def dashboard_stats(visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
    """Return the dashboard counts. Workflows are the running ones; there are always 4 users."""
    specs = [_decode_spec(each) for each in _visible_applications(visit)]
    everything = int(visit.who.is_admin)
    counted = "SELECT count(*) FROM executions WHERE status = 'running' AND (? OR team = ?)"
    workflows = fetch_number(visit.db, counted, everything, visit.who.team)
    asked_for = sum(len(each.resources) for each in specs)
    return json_reply({"applications": len(specs), "workflows": workflows, "resources": asked_for, "users": 4})


def _parse_spec(body: bytes) -> ScoreSpec:
    """Parse the spec of a request, if the server accepts it."""
    try:
        checked = check_spec(body.decode(), TYPES)
    except UnicodeDecodeError as error:
        raise RequestRefused(400, "Error parsing YAML: the body isn't UTF-8") from error
    errors = [each for each in checked.errors if each.path != _LOCAL]
    if checked.spec is None or errors:
        raise RequestRefused(400, "Error: " + "; ".join(str(each) for each in errors))
    try:
        return msgspec.json.decode(msgspec.json.encode(checked.spec), type=ScoreSpec)
    except (UnicodeError, msgspec.DecodeError) as error:
        raise RequestRefused(400, f"Error: there are characters or numbers in it that can't be kept ({error})") from error


def _store_spec(visit: RequestContext, spec: ScoreSpec) -> str:
    """Store a spec; return the team that owns the application."""
    kept, now = msgspec.json.encode(spec), format_timestamp(visit.at)
    existing = fetch_row(visit.db, "SELECT * FROM applications WHERE name = ?", spec.name)
    if existing is None:
        who = visit.who
        values = {"team": who.team, "created_by": who.username, "created_at": now, "updated_at": now, "spec": kept}
        insert_row(visit.db, "applications", {"name": spec.name, **values})
        return visit.who.team
    if not visit.who.sees(existing["team"]):
        raise RequestRefused(403, "Access denied")
    update_row(visit.db, "applications", existing["id"], spec=kept, updated_at=now)
    return existing["team"]


def _roll_out(visit: RequestContext, spec: ScoreSpec, team: str, workflow: str) -> int:
    executions.supersede_executions(visit, spec.name, "superseded by a newer deployment")
    changes = resources.sync_resources(visit, spec, team)
    return executions.begin_execution(visit, spec.name, team, workflow, deployment_plan.plan_deployment(spec, changes))


def _run_inline(visit: RequestContext, application: str, team: str, name: str, workflow: dict[str, Any]) -> str | None:
    execution = executions.begin_execution(visit, application, team, name, deployment_plan.plan_inline_workflow(workflow))
    return executions.run_execution(visit, execution)


def _tear_down(visit: RequestContext, application: Row, workflow: str) -> None:
    executions.supersede_executions(visit, application["name"], "superseded by the application's removal")
    changes = resources.remove_all_resources(visit, application["name"])
    executions.begin_execution(visit, application["name"], application["team"], workflow, deployment_plan.plan_removal(changes))


def _visible_applications(visit: RequestContext) -> list[Row]:
    return [each for each in fetch_rows(visit.db, "SELECT * FROM applications ORDER BY name") if visit.who.sees(each["team"])]


def _require_application(visit: RequestContext, name: str) -> Row:
    found = fetch_row(visit.db, "SELECT * FROM applications WHERE name = ?", name)
    if found is None:
        raise RequestRefused(404, "Application not found")
    if not visit.who.sees(found["team"]):
        raise RequestRefused(403, "Access denied")
    return found


def _decode_spec(application: Row) -> ScoreSpec:
    return msgspec.json.decode(application["spec"], type=ScoreSpec)


def _record_fields(application: Row) -> Row:
    return {key: application[key] for key in ("team", "created_by", "created_at", "updated_at")}


def _spec_to_json(spec: ScoreSpec) -> Row:
    """Serialize a spec: field names in upper case, and `null` for empty values."""
    environment = spec.environment
    return {
        "metadata": {"Name": spec.name},
        "containers": {name: {"Image": each.image, "Variables": each.variables or None} for name, each in spec.containers.items()},
        "resources": {
            name: {"Type": each.type, "Params": each.params or None, "Properties": each.properties or None}
            for name, each in spec.resources.items()
        }
        or None,
        "environment": {"Type": environment.type, "TTL": environment.ttl} if environment else None,
        "graph": _resource_graph(spec),
    }


def _resource_graph(spec: ScoreSpec) -> dict[str, list[str]]:
    """Return which resources each container refers to in its variables; the environment refers to all."""
    named = {
        f"container:{name}": [key for key in spec.resources if key in _REFERENCE.findall(" ".join(each.variables.values()))]
        for name, each in spec.containers.items()
    }
    return {**named, "environment": list(spec.resources)} if spec.environment else named


def _environment_variables(spec: ScoreSpec) -> dict[str, str]:
    if spec.environment is None or spec.environment.type != "ephemeral":
        return {}
    return {"environment": f"Creating an ephemeral environment with TTL={spec.environment.ttl}"}


def _environment_to_json(visit: RequestContext, application: Row, spec: ScoreSpec) -> Row:
    states = resources.resource_states(visit.db, application["name"])
    status = "failed" if "failed" in states.values() else "active" if set(states.values()) <= {"active"} else "provisioning"
    environment = spec.environment
    return {
        "id": application["id"],
        "name": application["name"],
        "type": environment.type if environment else "",
        "ttl": environment.ttl if environment else "",
        "status": status,
        "resources": states,
        "created_at": application["created_at"],
        "updated_at": application["updated_at"],
    }
