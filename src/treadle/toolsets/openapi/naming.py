"""Names and descriptions of operations for a model: callable names, and words that a search finds. Pure."""

import re
from collections.abc import Mapping

from treadle.guard.policy import digest_arguments
from treadle.toolsets.openapi.document import JsonObject, list_or_empty, text_or_empty
from treadle.toolsets.openapi.plain_text import strip_markup, truncate_plain_text

MAX_NAME = 64
MAX_DESCRIPTION = 900
MAX_FIRST_LINE = 160
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")


def choose_tool_name(method: str, path: str, operation: JsonObject, taken: Mapping[str, object]) -> str:
    """Return a callable, unique name: the operation's own, else built from its method and path."""
    told = text_or_empty(operation.get("operationId"))
    name = _INVALID_CHARACTERS.sub("_", told or f"{method.lower()}_{path.strip('/').replace('{', 'by_')}").strip("_-")
    if 0 < len(name) <= MAX_NAME and name not in taken:
        return name
    return f"{name[: MAX_NAME - 9]}_{digest_arguments({'method': method, 'path': path})[:8]}".lstrip("_")


def build_description(method: str, path: str, operation: JsonObject) -> str:
    """Return what it does: a one-line summary, then details, then method, path and tags."""
    summary = strip_markup(text_or_empty(operation.get("summary")))
    more = strip_markup(text_or_empty(operation.get("description")))
    first = truncate_plain_text((summary or more or f"{method} {path}").partition("\n")[0], MAX_FIRST_LINE)
    rest = "" if more == first else truncate_plain_text(more, MAX_DESCRIPTION - len(first))
    tags = ", ".join([tag for tag in list_or_empty(operation.get("tags")) if isinstance(tag, str)])[:100]
    old = "Deprecated: use another tool where there is one." if operation.get("deprecated") is True else ""
    place = f"{method} {path}" + (f" ({tags})" if tags else "")
    return "\n".join([line for line in (first, rest, old, place) if line])
