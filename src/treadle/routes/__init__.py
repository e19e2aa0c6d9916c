"""For the routes of assistants: typed handlers, events, a person's decisions, values without secrets.

Public. Nothing of a server is imported before one asks.
"""

from typing import TYPE_CHECKING, Any

from treadle.guard.redaction import Redactor
from treadle.routes.decision import Decision
from treadle.routes.declaration import EVENTS, HTML, JSON, Accepted, Created, Events, Problem, Returns, delete, get, post, put
from treadle.routes.operation import Answer, Operation, problem
from treadle.routes.reading import body_of, query_of

if TYPE_CHECKING:
    from treadle.routes.described import Described, Endpoint, together
    from treadle.routes.handlers import HandlerRoute, Unfit, json_response, routes_of
    from treadle.routes.streaming import streamed, wants_events

_LATE = {
    **dict.fromkeys(("Described", "Endpoint", "together"), "described"),
    **dict.fromkeys(("HandlerRoute", "Unfit", "json_response", "routes_of"), "handlers"),
    **dict.fromkeys(("streamed", "wants_events"), "streaming"),
}

__all__ = [
    "EVENTS",
    "HTML",
    "JSON",
    "Accepted",
    "Answer",
    "Created",
    "Decision",
    "Described",
    "Endpoint",
    "Events",
    "HandlerRoute",
    "Operation",
    "Problem",
    "Returns",
    "Unfit",
    "body_of",
    "delete",
    "get",
    "json_response",
    "post",
    "problem",
    "put",
    "query_of",
    "redacted",
    "routes_of",
    "streamed",
    "together",
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
