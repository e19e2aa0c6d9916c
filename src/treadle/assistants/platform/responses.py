"""Normalize platform responses of all versions to plain values of one form. Pure.

Lists that were objects, objects that were lists, names in Go's spelling: code that uses this needn't know about them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from treadle.assistants.platform.score import spec_from_server

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


def parse_applications(answer: Any) -> list[Json]:
    """Parse all applications: an object keyed by name, or a list."""
    return sorted([_parse_summary(name, value) for name, value in _named_items(answer)], key=lambda each: str(each.get("name", "")))


def _parse_summary(name: str, value: Mapping[str, Any]) -> Json:
    spec = spec_from_server(value)
    resources = spec.get("resources", {})
    told: Json = {
        "name": name,
        "environment": spec.get("environment", {}).get("type", ""),
        "resource_count": len(resources),
        **_pick(value, ("team", "created_by", "updated_at")),
        "containers": [f"{each}: {fields.get('image', '')}" for each, fields in spec.get("containers", {}).items()],
        "resources": [f"{each}: {fields.get('type', '')}" for each, fields in resources.items()],
    }
    return drop_empty_fields(told)


def parse_application(name: str, answer: Any) -> Json:
    """Parse one application, its spec in the form in which it is written."""
    value = _to_mapping(answer)
    return drop_empty_fields(
        {"name": name, **_pick(value, ("team", "created_by", "created_at", "updated_at")), "spec": spec_from_server(value)}
    )


def parse_workflows(answer: Any) -> tuple[list[Json], int]:
    """Parse workflow executions and their total: `{data, total}`, or a bare list."""
    if isinstance(answer, Mapping):
        page = cast("Mapping[str, Any]", answer)
        found = [drop_empty_fields(_pick(each, _WORKFLOW)) for each in _to_mappings(page.get("data"))]
        total = page.get("total")
        return found, total if isinstance(total, int) else len(found)
    found = [drop_empty_fields(_pick(each, _WORKFLOW)) for each in _to_mappings(answer)]
    return found, len(found)


def parse_workflow(answer: Any) -> Json:
    """Parse one execution, with its steps and errors."""
    value = _to_mapping(answer)
    told = _pick(value, (*_WORKFLOW, "error_message", "retry_count", "is_retry", "parent_execution_id"))
    return drop_empty_fields({**told, "steps": [_parse_step(each) for each in _to_mappings(value.get("steps"))]})


def _parse_step(value: Mapping[str, Any]) -> Json:
    step = drop_empty_fields(_pick(value, _STEP))
    logs = step.get("output_logs")
    if isinstance(logs, str) and len(logs) > _MOST_LOG:
        step["output_logs"] = f"[…] {logs[-_MOST_LOG:]}"  # what went wrong stands at the end
    return step


def parse_resources(answer: Any) -> list[Json]:
    """Parse resources: an object of lists by application, `{resources: […]}`, or a list."""
    return [drop_empty_fields(_pick(each, _RESOURCE)) for each in _iter_resources(answer)]


def _iter_resources(answer: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(answer, Mapping):
        yield from _to_mappings(answer)
        return
    given = cast("Mapping[str, Any]", answer)
    if isinstance(given.get("resources"), Sequence):
        yield from _to_mappings(given["resources"])
        return
    for name, each in given.items():
        for resource in _to_mappings(each):
            yield {"application_name": name, **resource}


def parse_golden_paths(answer: Any) -> list[Json]:
    """Parse golden paths: an object by name, or a list."""
    fields = ("description", "category", "tags", "estimated_duration")
    return [
        drop_empty_fields({"name": name, **_pick(value, fields), "parameters": _parse_parameters(value.get("parameters"))})
        for name, value in _named_items(answer)
    ]


def _parse_parameters(value: Any) -> Json:
    """Parse the parameters of a golden path by name."""
    return {name: {key.lower(): each for key, each in _to_mapping(fields).items()} for name, fields in _to_mapping(value).items()}


def parse_providers(answer: Any) -> list[Json]:
    """Parse providers, and the names of their workflows."""
    found = [
        drop_empty_fields(_pick(each, ("name", "version", "category", "description", "provisioners", "golden_paths")))
        for each in _to_mappings(answer)
    ]
    for told, value in zip(found, _to_mappings(answer), strict=True):
        told["workflows"] = [_item_name(each) for each in _to_mappings(value.get("workflows"))]
    return found


def parse_stats(answer: Any) -> Json:
    """Parse the counts, under names that say what they count."""
    value = _to_mapping(answer)
    return drop_empty_fields({**_pick(value, ("applications", "resources", "users")), "running_workflows": value.get("workflows")})


def parse_user(answer: Any) -> Json:
    """Parse the user of the token."""
    value = _to_mapping(answer)
    return drop_empty_fields(_pick(value, ("username", "team", "role")))


def _to_mapping(value: Any) -> Mapping[str, Any]:
    empty: Mapping[str, Any] = {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else empty


def _to_mappings(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [cast("Mapping[str, Any]", each) for each in cast("list[Any]", value) if isinstance(each, Mapping)]


def _named_items(answer: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return named items, be they the values of an object or items with a name of their own."""
    if isinstance(answer, Mapping):
        return [(name, _to_mapping(value)) for name, value in _to_mapping(answer).items() if isinstance(value, Mapping)]
    return [(_item_name(value), value) for value in _to_mappings(answer)]


def _item_name(value: Mapping[str, Any]) -> str:
    found = value.get("name") or spec_from_server(value).get("metadata", {}).get("name", "")
    return str(found)


def _pick(value: Mapping[str, Any], keys: Sequence[str]) -> Json:
    return {key: value[key] for key in keys if key in value}


def drop_empty_fields(value: Json) -> Json:
    """Drop empty fields; false and zero are kept."""
    return {key: each for key, each in value.items() if each is not None and each != "" and each != [] and each != {}}
