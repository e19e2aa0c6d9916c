"""The resources of applications: asked for, made, changed, taken away. Each state they go through is kept."""

import json
from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from treadle.assistants.platform.demo.catalogue import BY_TYPE
from treadle.assistants.platform.demo.clock import stamp
from treadle.assistants.platform.demo.plans import Change, Operation
from treadle.assistants.platform.demo.store import Row, insert, row, rows, update
from treadle.assistants.platform.demo.values import Answer, Asked, Refused, Visit, said
from treadle.assistants.platform.score import Resource, Spec
from treadle.assistants.platform.score.known import ADDED_BY_KUBERNETES

BUSY: dict[Operation, str] = {"create": "provisioning", "update": "updating", "delete": "terminating"}
HEALTH = {"active": "healthy", "degraded": "degraded", "failed": "unhealthy"}
KINDS = ("native", "delegated", "external")

_LIVE = "state NOT IN ('terminating', 'terminated')"


def wanted(spec: Spec) -> dict[str, Resource]:
    """What a spec asks for, with what its environment adds."""
    added = ADDED_BY_KUBERNETES if spec.environment and spec.environment.type == "kubernetes" else ()
    return {**{kind: Resource(kind) for kind in added}, **spec.resources}


def sync(visit: Visit, spec: Spec, team: str) -> list[Change]:
    """Make the application's resources those of its spec: what is new is asked for, what is no longer named goes."""
    have = {(each["resource_name"], each["resource_type"]): each for each in _live(visit.db, spec.name)}
    want = {(name, each.type): each for name, each in wanted(spec).items()}
    removed = _removed(visit, [each for key, each in have.items() if key not in want])
    changes = [_change(visit, spec.name, team, key[0], each, have.get(key)) for key, each in want.items()]
    return [*removed, *(change for change in changes if change)]


def remove_all(visit: Visit, application: str) -> list[Change]:
    """Begin to take away everything an application has."""
    return _removed(visit, _live(visit.db, application))


def move(db: Connection, at: datetime, resource_id: int, state: str, reason: str, by: str, error: str | None = None) -> None:
    """Take a resource from its state to another, and keep how it came. What is gone stays gone."""
    was = rows(db, "SELECT state FROM resources WHERE id = ?", resource_id)[0]["state"]
    if was == "terminated":
        return
    update(
        db,
        "resources",
        resource_id,
        state=state,
        health_status=HEALTH.get(state, "unknown"),
        error_message=error,
        updated_at=stamp(at),
    )
    if was != state:
        passed = {"from_state": was, "to_state": state, "reason": reason, "transitioned_by": by, "transitioned_at": stamp(at)}
        insert(db, "transitions", {"resource_id": resource_id, **passed})


def list_resources(visit: Visit, asked: Asked) -> Answer:
    """By application where nothing is asked for; else those that fit, with what was asked. None are `null`, not an empty list."""
    application, kind, provider = (asked.query.get(key, "") for key in ("app", "type", "provider"))
    if kind and kind not in KINDS:
        raise Refused(400, f"Invalid resource type: {kind} (native, delegated and external are types here)")
    found = [each for each in _seen(visit) if not provider or each["provider"] == provider]
    if not application and not kind:
        existing = {each["name"] for each in rows(visit.db, "SELECT name FROM applications")}
        return said(_by_application([each for each in found if each["application_name"] in existing]))
    fitting = [each for each in found if application in ("", each["application_name"]) and kind in ("", each["type"])]
    echoed = {"application": application, "type": kind, "provider": provider}
    return said({"resources": fitting or None, **{key: value for key, value in echoed.items() if value}})


def get_resource(visit: Visit, asked: Asked) -> Answer:
    """One resource, and the states it went through. Another team's isn't there."""
    text = asked.named["id"]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused(400, "Invalid resource ID")
    found = row(visit.db, "SELECT * FROM resources WHERE id = ?", int(text))
    if found is None or not visit.who.sees(found["team"]):
        raise Refused(404, "Resource not found")
    passed = rows(visit.db, "SELECT * FROM transitions WHERE resource_id = ? ORDER BY id", int(text))
    return said({**_shown(found), "state_transitions": [_transition(each) for each in passed]})


def states(db: Connection, application: str) -> dict[str, str]:
    """The state of each resource that an application has."""
    return {each["resource_name"]: each["state"] for each in _live(db, application)}


def request(db: Connection, at: datetime, application: str, team: str, name: str, resource: Resource) -> int:
    """Ask for a resource; its id."""
    provider, now = BY_TYPE[resource.type], stamp(at)
    return insert(
        db,
        "resources",
        {
            "application_name": application,
            "resource_name": name,
            "resource_type": resource.type,
            "team": team,
            "state": "requested",
            "health_status": "unknown",
            "configuration": _configuration(resource),
            "type": provider.kind,
            "provider": provider.name,
            "desired_operation": "create",
            "created_at": now,
            "updated_at": now,
        },
    )


def _change(visit: Visit, application: str, team: str, name: str, resource: Resource, has: Row | None) -> Change | None:
    """What has to happen to a resource that is wanted; None where it is as it should be."""
    if has is None:
        return Change(request(visit.db, visit.at, application, team, name, resource), name, resource.type, "create")
    if has["state"] in ("requested", "provisioning", "failed"):
        operation: Operation = "create"
    elif has["state"] == "updating" or has["configuration"] != _configuration(resource):
        operation = "update"
    else:
        return None
    update(visit.db, "resources", has["id"], configuration=_configuration(resource), desired_operation=operation)
    return Change(has["id"], name, resource.type, operation)


def _removed(visit: Visit, going: Sequence[Row]) -> list[Change]:
    for each in going:
        update(visit.db, "resources", each["id"], desired_operation="delete")
        move(visit.db, visit.at, each["id"], "terminating", "no longer wanted", visit.who.username)
    return [Change(each["id"], each["resource_name"], each["resource_type"], "delete") for each in going]


def _live(db: Connection, application: str) -> list[Row]:
    return rows(db, f"SELECT * FROM resources WHERE application_name = ? AND {_LIVE} ORDER BY id", application)  # noqa: S608 - our own


def _seen(visit: Visit) -> list[Row]:
    return [_shown(each) for each in rows(visit.db, "SELECT * FROM resources ORDER BY id") if visit.who.sees(each["team"])]


def _by_application(found: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for each in found:
        grouped.setdefault(each["application_name"], []).append(each)
    return grouped


def _configuration(resource: Resource) -> str:
    return json.dumps({**resource.params, **resource.properties}, sort_keys=True, default=str)


def _shown(resource: Row) -> Row:
    """A resource as it is told; what is empty is left out."""
    shown: dict[str, Any] = {key: value for key, value in resource.items() if value is not None and key != "team"}
    shown["configuration"] = json.loads(resource["configuration"])
    if resource["state"] in ("active", "degraded", "updating"):
        shown["provider_id"] = f"{resource['provider']}/{resource['application_name']}/{resource['resource_name']}"
        shown["hints"] = [{"type": "url", "label": "Console", "value": _console(resource), "icon": "external-link"}]
    if resource["type"] != "native":
        shown["reference_url"] = _console(resource)
        shown["external_state"] = "Healthy" if resource["state"] == "active" else "Progressing"
    return shown


def _console(resource: Row) -> str:
    return f"https://console.platform.example/{resource['resource_type']}/{resource['id']}"


def _transition(row: Row) -> Row:
    return {("resource_instance_id" if key == "resource_id" else key): value for key, value in row.items()}
