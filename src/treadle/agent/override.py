"""Overrides of agents, for tests: which agent takes another one's place, in the code below a `with agent.override(…)`.

A context variable holds them, so tasks and threads that are started inside inherit them, and others don't see them.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec import UNSET, Struct

from treadle.core.requests import Options
from treadle.core.seams import Policy, Toolset
from treadle.engine.setup import Approver, Instructions
from treadle.guard.policy import Rule
from treadle.loop.limits import Limits
from treadle.plugins.models import ModelLike

if TYPE_CHECKING:
    from treadle.tools.tool import ToolFunction


class AgentChanges(TypedDict, total=False):
    """The arguments of `Agent` that can be overridden, and `deps`."""

    model: ModelLike
    tools: "Iterable[ToolFunction[Any] | Toolset]"
    toolsets: Iterable[Toolset]
    instructions: Instructions[Any]
    options: Options | None
    limits: Limits | None
    policy: Policy | Sequence[Rule] | Mapping[str, Any] | Callable[..., Any] | None
    approver: Approver | None
    deps: Any


class Override(Struct, frozen=True):
    """The agent to use instead, and the `deps` of its runs, if they are overridden too."""

    agent: Any
    deps: Any = UNSET


_overrides: ContextVar[Mapping[object, Override]] = ContextVar("treadle_overrides", default={})  # noqa: B039 - never changed


def find_override(agent: object) -> Override | None:
    """Return the override of an agent that is in effect here."""
    return _overrides.get().get(agent)


@contextmanager
def use_override(agent: object, override: Override) -> Generator[None]:
    """Put an override into effect."""
    token = _overrides.set({**_overrides.get(), agent: override})
    try:
        yield
    finally:
        _overrides.reset(token)
