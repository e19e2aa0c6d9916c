"""The resources of applications: request, create, update, delete. Every state transition is stored."""

import json
from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from treadle.assistants.platform.score import ScoreSpec, SpecResource
from treadle.assistants.platform.score.spec import ADDED_BY_KUBERNETES
from treadle.demo.platform.catalogue import BY_TYPE
from treadle.demo.platform.clock import format_timestamp
from treadle.demo.platform.deployment_plan import Operation, ResourceChange
from treadle.demo.platform.http_types import PlatformRequest, PlatformResponse, RequestContext, RequestRefused, json_reply
from treadle.demo.platform.store import Row, fetch_row, fetch_rows, insert_row, update_row

BUSY: dict[Operation, str] = {"create": "provisioning", "update": "updating", "delete": "terminating"}
HEALTH = {"active": "healthy", "degraded": "degraded", "failed": "unhealthy"}
KINDS = ("native", "delegated", "external")

_LIVE = "state NOT IN ('terminating', 'terminated')"


def required_resources(spec: ScoreSpec) -> dict[str, SpecResource]:
    """Return the resources that a spec requires, with those that its environment adds."""
    added = ADDED_BY_KUBERNETES if spec.environment and spec.environment.type == "kubernetes" else ()
    return {**{kind: SpecResource(kind) for kind in added}, **spec.resources}


def sync_resources(visit: RequestContext, spec: ScoreSpec, team: str) -> list[ResourceChange]:
    """Make the application's resources those of its spec: new ones are requested, unnamed ones removed."""
    have = {(each["resource_name"], each["resource_type"]): each for each in _live_resources(visit.db, spec.name)}
    want = {(name, each.type): each for name, each in required_resources(spec).items()}
    removed = _plan_removals(visit, [each for key, each in have.items() if key not in want])
    changes = [_plan_change(visit, spec.name, team, key[0], each, have.get(key)) for key, each in want.items()]
    return [*removed, *(change for change in changes if change)]


def remove_all_resources(visit: RequestContext, application: str) -> list[ResourceChange]:
    """Start removing everything that an application has."""
    return _plan_removals(visit, _live_resources(visit.db, application))


def change_resource_state(
    db: Connection, at: datetime, resource_id: int, state: str, reason: str, by: str, error: str | None = None
) -> None:
    """Change a resource's state, and store the transition. A terminated resource stays terminated."""
    was = fetch_rows(db, "SELECT state FROM resources WHERE id = ?", resource_id)[0]["state"]
    if was == "terminated":
        return
    update_row(
        db,
        "resources",
        resource_id,
        state=state,
        health_status=HEALTH.get(state, "unknown"),
        error_message=error,
        updated_at=format_timestamp(at),
    )
    if was != state:
        passed = {
            "from_state": was,
            "to_state": state,
            "reason": reason,
            "transitioned_by": by,
            "transitioned_at": format_timestamp(at),
        }
        insert_row(db, "transitions", {"resource_id": resource_id, **passed})


def list_resources(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Group by application without a filter; else list the matches with the filter. An empty result is `null`, not a list."""
    application, kind, provider = (asked.query.get(key, "") for key in ("app", "type", "provider"))
    if kind and kind not in KINDS:
        raise RequestRefused(400, f"Invalid resource type: {kind} (native, delegated and external are types here)")
    found = [each for each in _visible_resources(visit) if not provider or each["provider"] == provider]
    if not application and not kind:
        existing = {each["name"] for each in fetch_rows(visit.db, "SELECT name FROM applications")}
        return json_reply(_group_by_application([each for each in found if each["application_name"] in existing]))
    fitting = [each for each in found if application in ("", each["application_name"]) and kind in ("", each["type"])]
    echoed = {"application": application, "type": kind, "provider": provider}
    return json_reply({"resources": fitting or None, **{key: value for key, value in echoed.items() if value}})


def get_resource(visit: RequestContext, asked: PlatformRequest) -> PlatformResponse:
    """Return one resource and its state transitions. Another team's isn't visible."""
    text = asked.named["id"]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise RequestRefused(400, "Invalid resource ID")
    found = fetch_row(visit.db, "SELECT * FROM resources WHERE id = ?", int(text))
    if found is None or not visit.who.sees(found["team"]):
        raise RequestRefused(404, "Resource not found")
    passed = fetch_rows(visit.db, "SELECT * FROM transitions WHERE resource_id = ? ORDER BY id", int(text))
    return json_reply({**_resource_to_json(found), "state_transitions": [_transition_to_json(each) for each in passed]})


def resource_states(db: Connection, application: str) -> dict[str, str]:
    """Return the state of each resource of an application."""
    return {each["resource_name"]: each["state"] for each in _live_resources(db, application)}


def request_resource(db: Connection, at: datetime, application: str, team: str, name: str, resource: SpecResource) -> int:
    """Request a resource; return its id."""
    provider, now = BY_TYPE[resource.type], format_timestamp(at)
    return insert_row(
        db,
        "resources",
        {
            "application_name": application,
            "resource_name": name,
            "resource_type": resource.type,
            "team": team,
            "state": "requested",
            "health_status": "unknown",
            "configuration": _encode_configuration(resource),
            "type": provider.kind,
            "provider": provider.name,
            "desired_operation": "create",
            "created_at": now,
            "updated_at": now,
        },
    )


def _plan_change(
    visit: RequestContext, application: str, team: str, name: str, resource: SpecResource, has: Row | None
) -> ResourceChange | None:
    """Return the change that a required resource needs; None if it is up to date."""
    if has is None:
        return ResourceChange(
            request_resource(visit.db, visit.at, application, team, name, resource), name, resource.type, "create"
        )
    if has["state"] in ("requested", "provisioning", "failed"):
        operation: Operation = "create"
    elif has["state"] == "updating" or has["configuration"] != _encode_configuration(resource):
        operation = "update"
    else:
        return None
    update_row(visit.db, "resources", has["id"], configuration=_encode_configuration(resource), desired_operation=operation)
    return ResourceChange(has["id"], name, resource.type, operation)


def _plan_removals(visit: RequestContext, going: Sequence[Row]) -> list[ResourceChange]:
    for each in going:
        update_row(visit.db, "resources", each["id"], desired_operation="delete")
        change_resource_state(visit.db, visit.at, each["id"], "terminating", "no longer wanted", visit.who.username)
    return [ResourceChange(each["id"], each["resource_name"], each["resource_type"], "delete") for each in going]


def _live_resources(db: Connection, application: str) -> list[Row]:
    return fetch_rows(db, f"SELECT * FROM resources WHERE application_name = ? AND {_LIVE} ORDER BY id", application)  # noqa: S608 - our own


def _visible_resources(visit: RequestContext) -> list[Row]:
    return [
        _resource_to_json(each)
        for each in fetch_rows(visit.db, "SELECT * FROM resources ORDER BY id")
        if visit.who.sees(each["team"])
    ]


def _group_by_application(found: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for each in found:
        grouped.setdefault(each["application_name"], []).append(each)
    return grouped


def _encode_configuration(resource: SpecResource) -> str:
    return json.dumps({**resource.params, **resource.properties}, sort_keys=True, default=str)


def _resource_to_json(resource: Row) -> Row:
    """Serialize a resource without empty fields."""
    shown: dict[str, Any] = {key: value for key, value in resource.items() if value is not None and key != "team"}
    shown["configuration"] = json.loads(resource["configuration"])
    if resource["state"] in ("active", "degraded", "updating"):
        shown["provider_id"] = f"{resource['provider']}/{resource['application_name']}/{resource['resource_name']}"
        shown["hints"] = [{"type": "url", "label": "Console", "value": _console_url(resource), "icon": "external-link"}]
    if resource["type"] != "native":
        shown["reference_url"] = _console_url(resource)
        shown["external_state"] = "Healthy" if resource["state"] == "active" else "Progressing"
    return shown


def _console_url(resource: Row) -> str:
    return f"https://console.platform.example/{resource['resource_type']}/{resource['id']}"


def _transition_to_json(row: Row) -> Row:
    return {("resource_instance_id" if key == "resource_id" else key): value for key, value in row.items()}
