"""What operations are called here, and what a model is told of them: names it can call, and words that a search finds. Pure."""

import re
from collections.abc import Mapping

from treadle.guard.policy import digest
from treadle.toolsets.openapi.document import Object, as_list, as_text
from treadle.toolsets.openapi.wording import plain, shortened

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 900
LONGEST_FIRST_LINE = 160
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def name_of(method: str, path: str, operation: Object, taken: Mapping[str, object]) -> str:
    """A name that models can call and no other operation has: the operation's own, else made of its method and path."""
    told = as_text(operation.get("operationId"))
    name = _UNFIT.sub("_", told or f"{method.lower()}_{path.strip('/').replace('{', 'by_')}").strip("_-")
    if 0 < len(name) <= LONGEST_NAME and name not in taken:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{digest({'method': method, 'path': path})[:8]}".lstrip("_")


def description_of(method: str, path: str, operation: Object) -> str:
    """What it does: one line that says it all, then more of it, then where it goes."""
    summary = plain(as_text(operation.get("summary")))
    more = plain(as_text(operation.get("description")))
    first = shortened((summary or more or f"{method} {path}").partition("\n")[0], LONGEST_FIRST_LINE)
    rest = "" if more == first else shortened(more, LONGEST_DESCRIPTION - len(first))
    tags = ", ".join([tag for tag in as_list(operation.get("tags")) if isinstance(tag, str)])[:100]
    old = "Deprecated: use another tool where there is one." if operation.get("deprecated") is True else ""
    place = f"{method} {path}" + (f" ({tags})" if tags else "")
    return "\n".join([line for line in (first, rest, old, place) if line])
