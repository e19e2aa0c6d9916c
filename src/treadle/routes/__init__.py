"""For the routes of assistants: typed handlers, events, a person's decisions, values without secrets.

Public. Nothing of a server is imported before one asks.
"""

from typing import TYPE_CHECKING, Any

from treadle.guard.redaction import Redactor
from treadle.routes.decision import Decision
from treadle.routes.declaration import EVENTS, HTML, JSON, Accepted, Created, Events, Problem, Returns, delete, get, post, put

if TYPE_CHECKING:
    from treadle.routes.handlers import HandlerRoute, Unfit, json_response, routes_of
    from treadle.routes.streaming import streamed, wants_events

_LATE = {
    **dict.fromkeys(("HandlerRoute", "Unfit", "json_response", "routes_of"), "handlers"),
    **dict.fromkeys(("streamed", "wants_events"), "streaming"),
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
    "redacted",
    "routes_of",
    "streamed",
    "wants_events",
]


def redacted(value: Any) -> Any:
    """A plain value without secrets: for what isn't redacted yet in a run, such as the arguments of its calls."""
    return Redactor().value(value)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'treadle.routes' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"treadle.routes.{_LATE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
