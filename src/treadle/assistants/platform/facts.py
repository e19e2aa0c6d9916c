"""What a tool brought, as a small model reads it best: a heading, then a line for each thing. Pure."""

import re
from typing import Any, cast

import msgspec

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
}
_ADVICE = re.compile(r"\s*\b(Tell (the person|them)|Use another tool|Mend them|Try again|trying once more)[^.;]*[.;]?")


def told(name: str, content: str) -> str:
    """What a call brought."""
    value = value_of(content)
    return f"{HEADINGS.get(name, name)}:\n{_lines(value)}"[:MOST]


def problem(content: str) -> str:
    """A problem as a person reads it: without what the model was advised to do about it."""
    said = _ADVICE.sub("", content).strip()
    return said or content


def value_of(content: str) -> Any:
    """The JSON value that came back, or the words."""
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return content


def field_of(content: str, key: str) -> str:
    """A field of what came back, or of the first thing in a list of it; empty where there is none."""
    value: Any = value_of(content)
    first: Any = cast("list[Any]", value)[0] if isinstance(value, list) and value else cast("Any", value)
    return str(cast("dict[str, Any]", first).get(key, "")) if isinstance(first, dict) else ""


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
