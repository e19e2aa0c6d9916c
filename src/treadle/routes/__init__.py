"""For the routes of assistants: typed handlers, event streams, approval decisions, redaction of secrets.

Public. Nothing of a server is imported before it is used.
"""

from typing import TYPE_CHECKING, Any

from treadle.guard.redaction import Redactor
from treadle.lazy import lazy_exports
from treadle.routes.decision import Decision
from treadle.routes.declaration import EVENTS, HTML, JSON, Accepted, Created, Events, Problem, Returns, delete, get, post, put

if TYPE_CHECKING:
    from treadle.routes.handlers import HandlerRoute, Unfit, json_response, routes_of
    from treadle.routes.streaming import stream_response, wants_events

_HOMES = {
    "HandlerRoute": "treadle.routes.handlers",
    "Unfit": "treadle.routes.handlers",
    "json_response": "treadle.routes.handlers",
    "routes_of": "treadle.routes.handlers",
    "stream_response": "treadle.routes.streaming",
    "wants_events": "treadle.routes.streaming",
}

__all__ = [
    "EVENTS",
    "HTML",
    "JSON",
    "Accepted",
    "Created",
    "Decision",
    "Events",
    "HandlerRoute",
    "Problem",
    "Returns",
    "Unfit",
    "delete",
    "get",
    "json_response",
    "post",
    "put",
    "redact",
    "routes_of",
    "stream_response",
    "wants_events",
]


def redact(value: Any) -> Any:
    """Return a plain value without secrets: for what a run hasn't redacted yet, such as the arguments of its calls."""
    return Redactor().value(value)


__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
