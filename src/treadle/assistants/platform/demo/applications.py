"""Applications: listed, shown, deployed, deleted. Everybody has what is of their team; an admin has everything."""

import re
from typing import Any

import msgspec

from treadle.assistants.platform.demo import executions, plans, resources
from treadle.assistants.platform.demo.catalogue import TYPES, golden_path
from treadle.assistants.platform.demo.clock import stamp
from treadle.assistants.platform.demo.store import Row, insert, number, row, rows, update
from treadle.assistants.platform.demo.values import Answer, Asked, Refused, Visit, said
from treadle.assistants.platform.score import Spec, check

_REFERENCE = re.compile(r"\$\{resources\.([^.}]+)")
_LOCAL = "apiVersion"  # wanted where specs are validated, but not by the server


def list_applications(visit: Visit, _: Asked) -> Answer:
    """The applications by name."""
    return said({each["name"]: {**_shown(_spec(each)), **_kept(each)} for each in _seen(visit)})


def get_application(visit: Visit, asked: Asked) -> Answer:
    """One of them."""
    return said(_shown(_spec(_theirs(visit, asked.named["name"]))))


def deploy(visit: Visit, asked: Asked) -> Answer:
    """Deploy a spec: a new application, or a new version of one of their team."""
    spec = _read(asked.body)
    team = _store(visit, spec)
    failed = {name: why for name, each in spec.workflows.items() if (why := _run_inline(visit, spec.name, team, name, each))}
    if failed:
        told = {"message": f"Deployment of '{spec.name}' failed", "name": spec.name, "status": "failed"}
        return said({**told, "failed_workflows": list(failed), "errors": list(failed.values())}, 500)
    _roll_out(visit, spec, team, "deploy-app")
    return said({"message": f"Deployed '{spec.name}'", "name": spec.name, "status": "success", **_environment(spec)}, 201)


def execute_golden_path(visit: Visit, asked: Asked) -> Answer:
    """Deploy a spec the paved way."""
    name = asked.named["path"]
    path = golden_path(name)
    missing = [key for key, each in path.parameters.items() if each.required and not asked.query.get(f"param.{key}")]
    if missing:
        raise Refused(400, f"Parameters are missing: {', '.join(missing)} (give them as ?param.NAME=VALUE)")
    spec = _read(asked.body)
    execution = _roll_out(visit, spec, _store(visit, spec), f"golden-path-{name}")
    return said(
        {
            "message": f"Golden path '{name}' enqueued for application '{spec.name}'",
            "application": spec.name,
            "golden_path": name,
            "task_id": str(execution),
            "status": "enqueued",
        }
    )


def delete(visit: Visit, asked: Asked) -> Answer:
    """Delete an application; its resources terminate."""
    found = _theirs(visit, asked.named["name"])
    _tear_down(visit, found, "delete-app")
    visit.db.execute("DELETE FROM applications WHERE id = ?", (found["id"],))
    return said({"message": f"Deleted '{found['name']}' and all its resources"})


def deprovision(visit: Visit, asked: Asked) -> Answer:
    """Take away an application's resources, and keep its record."""
    found = _theirs(visit, asked.named["name"])
    _tear_down(visit, found, "deprovision-app")
    return said({"message": f"Deprovisioned '{found['name']}'", "note": "The application's record and its history are kept"})


def retry(visit: Visit, asked: Asked) -> Answer:
    """Retry a failed execution of an application, with its spec of today."""
    spec = _spec(_theirs(visit, executions.application_of(visit, asked)))
    changes = [plans.Change(0, name, each.type, "create") for name, each in resources.wanted(spec).items()]
    return executions.retry(visit, asked, plans.deployment(spec, changes))


def list_environments(visit: Visit, _: Asked) -> Answer:
    """The environments of applications that name one. None are `null`, not an empty list."""
    return said([_environment_of(visit, each, spec) for each in _seen(visit) if (spec := _spec(each)).environment] or None)


def stats(visit: Visit, _: Asked) -> Answer:
    """Some numbers. Workflows are those that run; there are always 4 users."""
    specs = [_spec(each) for each in _seen(visit)]
    everything = int(visit.who.is_admin)
    counted = "SELECT count(*) FROM executions WHERE status = 'running' AND (? OR team = ?)"
    workflows = number(visit.db, counted, everything, visit.who.team)
    asked_for = sum(len(each.resources) for each in specs)
    return said({"applications": len(specs), "workflows": workflows, "resources": asked_for, "users": 4})


def _read(body: bytes) -> Spec:
    """The spec in a request, if the server takes it."""
    try:
        checked = check(body.decode(), TYPES)
    except UnicodeDecodeError as error:
        raise Refused(400, "Error parsing YAML: the body isn't UTF-8") from error
    errors = [each for each in checked.errors if each.path != _LOCAL]
    if checked.spec is None or errors:
        raise Refused(400, "Error: " + "; ".join(str(each) for each in errors))
    try:
        return msgspec.json.decode(msgspec.json.encode(checked.spec), type=Spec)
    except (UnicodeError, msgspec.DecodeError) as error:
        raise Refused(400, f"Error: there are characters or numbers in it that can't be kept ({error})") from error


def _store(visit: Visit, spec: Spec) -> str:
    """Keep a spec; the team whose application it is."""
    kept, now = msgspec.json.encode(spec), stamp(visit.at)
    existing = row(visit.db, "SELECT * FROM applications WHERE name = ?", spec.name)
    if existing is None:
        who = visit.who
        values = {"team": who.team, "created_by": who.username, "created_at": now, "updated_at": now, "spec": kept}
        insert(visit.db, "applications", {"name": spec.name, **values})
        return visit.who.team
    if not visit.who.sees(existing["team"]):
        raise Refused(403, "Access denied")
    update(visit.db, "applications", existing["id"], spec=kept, updated_at=now)
    return existing["team"]


def _roll_out(visit: Visit, spec: Spec, team: str, workflow: str) -> int:
    executions.supersede(visit, spec.name, "superseded by a newer deployment")
    changes = resources.sync(visit, spec, team)
    return executions.begin(visit, spec.name, team, workflow, plans.deployment(spec, changes))


def _run_inline(visit: Visit, application: str, team: str, name: str, workflow: dict[str, Any]) -> str | None:
    execution = executions.begin(visit, application, team, name, plans.inline(workflow))
    return executions.run_at_once(visit, execution)


def _tear_down(visit: Visit, application: Row, workflow: str) -> None:
    executions.supersede(visit, application["name"], "superseded by the application's removal")
    changes = resources.remove_all(visit, application["name"])
    executions.begin(visit, application["name"], application["team"], workflow, plans.removal(changes))


def _seen(visit: Visit) -> list[Row]:
    return [each for each in rows(visit.db, "SELECT * FROM applications ORDER BY name") if visit.who.sees(each["team"])]


def _theirs(visit: Visit, name: str) -> Row:
    found = row(visit.db, "SELECT * FROM applications WHERE name = ?", name)
    if found is None:
        raise Refused(404, "Application not found")
    if not visit.who.sees(found["team"]):
        raise Refused(403, "Access denied")
    return found


def _spec(application: Row) -> Spec:
    return msgspec.json.decode(application["spec"], type=Spec)


def _kept(application: Row) -> Row:
    return {key: application[key] for key in ("team", "created_by", "created_at", "updated_at")}


def _shown(spec: Spec) -> Row:
    """A spec as it is told: field names in upper case, and `null` for what is empty."""
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
        "graph": _graph(spec),
    }


def _graph(spec: Spec) -> dict[str, list[str]]:
    """Which resources each container names in its variables; the environment has them all."""
    named = {
        f"container:{name}": [key for key in spec.resources if key in _REFERENCE.findall(" ".join(each.variables.values()))]
        for name, each in spec.containers.items()
    }
    return {**named, "environment": list(spec.resources)} if spec.environment else named


def _environment(spec: Spec) -> dict[str, str]:
    if spec.environment is None or spec.environment.type != "ephemeral":
        return {}
    return {"environment": f"Creating an ephemeral environment with TTL={spec.environment.ttl}"}


def _environment_of(visit: Visit, application: Row, spec: Spec) -> Row:
    states = resources.states(visit.db, application["name"])
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
