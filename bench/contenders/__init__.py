"""Who takes part, and the one seam they share: open with a setup, get a function that runs.

A contender is an async context manager over `run(prompt) -> final text`. Modules are imported
only in the process that measures them.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum
from importlib import import_module

Run = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Setup:
    """Where the model is and whether its replies are to be streamed."""

    base_url: str
    stream: bool


Open = Callable[[Setup], AbstractAsyncContextManager[Run]]


class Kind(Enum):
    """What a contender is in the comparison."""

    HAND = "hand-written"
    OURS = "ours"
    PEER = "peer"


@dataclass(frozen=True, slots=True)
class Contender:
    """A name in the tables, and the function that opens it."""

    name: str
    kind: Kind
    module: str
    function: str = "opened"

    def load(self) -> Open:
        """Import it, which may be slow or fail if its package is not installed."""
        return getattr(import_module(f"{__name__}.{self.module}"), self.function)


FLOOR = "floor"

CONTENDERS = (
    Contender(FLOOR, Kind.HAND, "floor"),
    Contender("floor-appended", Kind.HAND, "floor", "opened_appended"),
    Contender("aiohttp", Kind.HAND, "aiohttp_loop"),
    Contender("treadle", Kind.OURS, "treadle_agent"),
    Contender("treadle+journal", Kind.OURS, "treadle_agent", "opened_with_journal"),
    Contender("treadle+journal+audit", Kind.OURS, "treadle_agent", "opened_with_audit"),
    Contender("pydantic-ai", Kind.PEER, "pydantic_ai_agent"),
    Contender("openai-agents", Kind.PEER, "openai_agents_agent"),
    Contender("langgraph", Kind.PEER, "langgraph_agent"),
)

# The same agent over each wire, and below it what a loop written by hand for that wire costs.
WIRES = (
    Contender("chat", Kind.OURS, "treadle_agent"),
    Contender("responses", Kind.OURS, "treadle_agent", "opened_over_responses"),
    Contender("anthropic", Kind.OURS, "treadle_agent", "opened_over_anthropic"),
    Contender("google", Kind.OURS, "treadle_agent", "opened_over_google"),
    Contender("bedrock", Kind.OURS, "treadle_agent", "opened_over_bedrock"),
)
WIRE_FLOORS = {
    "chat": Contender(FLOOR, Kind.HAND, "floor"),
    "responses": Contender("floor-responses", Kind.HAND, "wire_floors", "opened_responses"),
    "anthropic": Contender("floor-anthropic", Kind.HAND, "wire_floors", "opened_anthropic"),
    "google": Contender("floor-google", Kind.HAND, "wire_floors", "opened_google"),
    "bedrock": Contender("floor-bedrock", Kind.HAND, "wire_floors", "opened_bedrock"),
}


def named(name: str) -> Contender:
    """Look a contender up."""
    for contender in (*CONTENDERS, *WIRES, *WIRE_FLOORS.values()):
        if contender.name == name:
            return contender
    known = ", ".join(contender.name for contender in CONTENDERS)
    raise ValueError(f"no contender called {name!r}; there are {known}")
