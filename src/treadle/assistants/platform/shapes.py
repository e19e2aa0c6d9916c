"""What a platform answers, in the forms that its versions have, as plain values of one form. Pure.

Lists that were objects, objects that were lists, names in Go's spelling: whoever comes after this needn't know.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from treadle.assistants.platform.score import from_server

Json = dict[str, Any]

_WORKFLOW = (
    "id",
    "application_name",
    "workflow_name",
    "status",
    "started_at",
    "completed_at",
    "total_steps",
    "completed_steps",
    "failed_steps",
    "duration_ms",
)
_STEP = ("step_number", "step_name", "step_type", "status", "duration_ms", "error_message", "output_logs")
_RESOURCE = ("id", "application_name", "resource_name", "resource_type", "state", "health_status", "provider", "error_message")
_MOST_LOG = 1_000  # characters of a step's output


def applications(answer: Any) -> list[Json]:
    """All applications: an object keyed by name, or a list."""
    return sorted([_summary(name, value) for name, value in _by_name(answer)], key=lambda each: str(each.get("name", "")))


def _summary(name: str, value: Mapping[str, Any]) -> Json:
    spec = from_server(value)
    resources = spec.get("resources", {})
    told: Json = {
        "name": name,
        "environment": spec.get("environment", {}).get("type", ""),
        "resource_count": len(resources),
        **_some(value, ("team", "created_by", "updated_at")),
        "containers": [f"{each}: {fields.get('image', '')}" for each, fields in spec.get("containers", {}).items()],
        "resources": [f"{each}: {fields.get('type', '')}" for each, fields in resources.items()],
    }
    return filled(told)


def application(name: str, answer: Any) -> Json:
    """One application: its spec in the form in which it is written."""
    value = _object(answer)
    return filled({"name": name, **_some(value, ("team", "created_by", "created_at", "updated_at")), "spec": from_server(value)})


def workflows(answer: Any) -> tuple[list[Json], int]:
    """Workflow executions and how many there are in all: `{data, total}`, or a bare list."""
    if isinstance(answer, Mapping):
        page = cast("Mapping[str, Any]", answer)
        found = [filled(_some(each, _WORKFLOW)) for each in _objects(page.get("data"))]
        total = page.get("total")
        return found, total if isinstance(total, int) else len(found)
    found = [filled(_some(each, _WORKFLOW)) for each in _objects(answer)]
    return found, len(found)


def workflow(answer: Any) -> Json:
    """One execution, with its steps and what went wrong."""
    value = _object(answer)
    told = _some(value, (*_WORKFLOW, "error_message", "retry_count", "is_retry", "parent_execution_id"))
    return filled({**told, "steps": [_step(each) for each in _objects(value.get("steps"))]})


def _step(value: Mapping[str, Any]) -> Json:
    step = filled(_some(value, _STEP))
    logs = step.get("output_logs")
    if isinstance(logs, str) and len(logs) > _MOST_LOG:
        step["output_logs"] = f"[…] {logs[-_MOST_LOG:]}"  # what went wrong stands at the end
    return step


def resources(answer: Any) -> list[Json]:
    """Resources: an object of lists by application, `{resources: […]}`, or a list."""
    return [filled(_some(each, _RESOURCE)) for each in _resources(answer)]


def _resources(answer: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(answer, Mapping):
        yield from _objects(answer)
        return
    given = cast("Mapping[str, Any]", answer)
    if isinstance(given.get("resources"), Sequence):
        yield from _objects(given["resources"])
        return
    for name, each in given.items():
        for resource in _objects(each):
            yield {"application_name": name, **resource}


def golden_paths(answer: Any) -> list[Json]:
    """Golden paths: an object by name, or a list."""
    fields = ("description", "category", "tags", "estimated_duration")
    return [
        filled({"name": name, **_some(value, fields), "parameters": _parameters(value.get("parameters"))})
        for name, value in _by_name(answer)
    ]


def _parameters(value: Any) -> Json:
    """What a golden path wants to know, by name."""
    return {name: {key.lower(): each for key, each in _object(fields).items()} for name, fields in _object(value).items()}


def providers(answer: Any) -> list[Json]:
    """Providers, and the names of their workflows."""
    found = [
        filled(_some(each, ("name", "version", "category", "description", "provisioners", "golden_paths")))
        for each in _objects(answer)
    ]
    for told, value in zip(found, _objects(answer), strict=True):
        told["workflows"] = [_name(each) for each in _objects(value.get("workflows"))]
    return found


def stats(answer: Any) -> Json:
    """The figures, under names that say what they count."""
    value = _object(answer)
    return filled({**_some(value, ("applications", "resources", "users")), "running_workflows": value.get("workflows")})


def user(answer: Any) -> Json:
    """Who the token belongs to."""
    value = _object(answer)
    return filled(_some(value, ("username", "team", "role")))


def _object(value: Any) -> Mapping[str, Any]:
    empty: Mapping[str, Any] = {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else empty


def _objects(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [cast("Mapping[str, Any]", each) for each in cast("list[Any]", value) if isinstance(each, Mapping)]


def _by_name(answer: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Named things, be it that they are the values of an object or that each says its own name."""
    if isinstance(answer, Mapping):
        return [(name, _object(value)) for name, value in _object(answer).items() if isinstance(value, Mapping)]
    return [(_name(value), value) for value in _objects(answer)]


def _name(value: Mapping[str, Any]) -> str:
    found = value.get("name") or from_server(value).get("metadata", {}).get("name", "")
    return str(found)


def _some(value: Mapping[str, Any], keys: Sequence[str]) -> Json:
    return {key: value[key] for key in keys if key in value}


def filled(value: Json) -> Json:
    """Without what says nothing; a false and a zero say something."""
    return {key: each for key, each in value.items() if each is not None and each != "" and each != [] and each != {}}
