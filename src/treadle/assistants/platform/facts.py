"""What a tool brought, as a small model reads it best: a heading, then a line for each thing. Pure."""

from typing import Any, cast

from treadle import Result

MOST = 6_000  # characters
HEADINGS = {
    "list_applications": "The person's applications",
    "get_application": "The application",
    "list_workflows": "Workflows that fit, the newest first",
    "get_workflow": "The workflow",
    "list_resources": "Resources",
    "get_dashboard_stats": "Figures of the dashboard",
    "list_golden_paths": "The golden paths",
    "list_providers": "The providers",
    "get_current_user": "The person",
    "deploy_application": "What the platform says of the deployment",
    "delete_application": "What the platform says of the deletion",
    "run_golden_path": "What the platform says of the golden path",
    "retry_workflow": "What the platform says of the retry",
}


def told(result: Result) -> str:
    """What a call brought."""
    value = result.content if result.data is None else result.data
    return f"{HEADINGS.get(result.name, result.name)}:\n{_lines(value)}"[:MOST]


def reason_of(result: Result) -> str:
    """A problem as a person reads it: without what the model is advised to do about it."""
    return field_of(result, "reason") or result.content


def field_of(result: Result, key: str) -> str:
    """A field of what came back, or of the first thing in a list of it; empty where there is none."""
    return next((str(each.get(key, "")) for each in records_of(result)), "")


def records_of(result: Result) -> list[dict[str, Any]]:
    """The things that came back, be it one or a list of them."""
    value: Any = result.data
    found = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", each) for each in found if isinstance(each, dict)]


def _lines(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join([f"- {_line(each)}" for each in cast("list[Any]", value)])
    if isinstance(value, dict):
        import yaml

        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)
    return str(value)


def _line(value: Any) -> str:
    """A thing of a list, in one line: what is nested in it is left out."""
    if not isinstance(value, dict):
        return str(value)
    parts: list[str] = []
    for key, each in cast("dict[str, Any]", value).items():
        if isinstance(each, list):
            parts.append(f"{key}: {', '.join(map(str, cast('list[Any]', each)))}")
        elif not isinstance(each, dict):
            parts.append(f"{key}: {each}")
    return "; ".join(parts)
