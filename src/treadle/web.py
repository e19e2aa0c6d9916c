"""The public names of the tools for the web: a client that goes only where it may, and tools from OpenAPI documents.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.toolsets.openapi.toolset import OpenApiTools, openapi_tools
    from treadle.toolsets.outbound.answer import Answer
    from treadle.toolsets.outbound.client import Client
    from treadle.toolsets.outbound.problems import (
        NoAnswer,
        NotAllowed,
        NotHttp,
        NotResolved,
        NotSecure,
        OutboundProblem,
        TimedOut,
        TooLarge,
    )

_HOMES = {
    "Answer": "outbound.answer",
    "Client": "outbound.client",
    "NoAnswer": "outbound.problems",
    "NotAllowed": "outbound.problems",
    "NotHttp": "outbound.problems",
    "NotResolved": "outbound.problems",
    "NotSecure": "outbound.problems",
    "OpenApiTools": "openapi.toolset",
    "OutboundProblem": "outbound.problems",
    "TimedOut": "outbound.problems",
    "TooLarge": "outbound.problems",
    "openapi_tools": "openapi.toolset",
}

__all__ = [
    "Answer",
    "Client",
    "NoAnswer",
    "NotAllowed",
    "NotHttp",
    "NotResolved",
    "NotSecure",
    "OpenApiTools",
    "OutboundProblem",
    "TimedOut",
    "TooLarge",
    "openapi_tools",
]


def __getattr__(name: str) -> Any:
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module 'treadle.web' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"treadle.toolsets.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
