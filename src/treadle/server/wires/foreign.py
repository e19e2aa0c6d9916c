"""The caller's own tools: the model sees them beside ours, but only the caller can carry them out.

So the policy asks about each call of one, the run waits, and the call goes to the caller under an id that leads back to it. When
they bring what came of it, the run goes on.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import TracebackType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Ask, Call, Result, Verdict
from treadle.core.context import RunContext
from treadle.core.errors import ToolProblem
from treadle.core.media import attachment_of
from treadle.core.requests import ToolSpec
from treadle.core.seams import Policy, Situation
from treadle.core.tool import Tool
from treadle.guard.policy import Rule, with_rules

TOOLSET = "caller"
_MARK = 12  # characters; with them an id is short enough for every server that a caller may take the conversation to
_HANDLE = re.compile(r"(?:call|toolu)_([0-9a-f]{16})_([0-9a-f]{12})")


class Handle(Struct, frozen=True):
    """What the id of a call that was handed over says: its run, and the mark of the call."""

    run_id: str
    mark: str


def mark_of(call_id: str) -> str:
    """What stands for a call of a run in an id: whatever characters a model's server writes ids with, these are taken anywhere."""
    return sha256(call_id.encode()).hexdigest()[:_MARK]


def handle_of(wire_id: str) -> Handle | None:
    """Where an id leads, if it is one of ours."""
    found = _HANDLE.fullmatch(wire_id)
    return None if found is None else Handle(found[1], found[2])


class Foreign:
    """The caller's tools, and the results that they have brought, by the ids of the calls.

    A call begins when its result is there already, so carrying it out again only reads that again.
    """

    def __init__(
        self, specs: Sequence[ToolSpec], results: Mapping[str, Result] | None = None, media: Mapping[str, bytes] | None = None
    ) -> None:
        self._results = results or {}
        self._media = media or {}
        self._tools = tuple([Tool(spec, effect="write", retry="idempotent", trust="untrusted", toolset=TOOLSET) for spec in specs])

    async def __aenter__(self) -> "Foreign":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tools(self) -> tuple[Tool, ...]:
        """What the caller has."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """What the caller says came of it, with the images and the like that they have brought."""
        result = self._results.get(call.id)
        if result is None:
            raise ToolProblem(f"Only the program that brought {call.name} can carry it out, and it hasn't said what came of it.")
        if result.problem is not None:
            raise ToolProblem(result.content or f"{call.name} failed.")
        if not result.media:
            return result.content
        return [result.content, *[attachment_of(media, self._media[media.sha256]) for media in result.media]]


def bare(name: str) -> ToolSpec:
    """A tool of which nothing but the name is known any more."""
    return ToolSpec(name, "", {"type": "object"})


def is_handed(verdict: Verdict | None) -> bool:
    """Whether a call was handed over to the caller."""
    return isinstance(verdict, Ask) and verdict.by == TOOLSET


class Handed:
    """A policy around the assistant's own: each call of the caller's tools waits for the caller.

    `names` are those that the model may call now. Where the conversation begins with results of the caller's (`tainted`), effects
    of ours are asked about as after any content that nobody vouches for.
    """

    def __init__(self, policy: Policy, names: Sequence[str], *, tainted: bool = False) -> None:
        self._policy = policy
        self._names = frozenset(names)
        self._tainted = tainted

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """May this call run?"""
        if tool.toolset == TOOLSET:
            return Ask(TOOLSET, f"The program that brought {tool.name} carries it out.")
        return self._policy.judge(call, tool, self._seen(situation))

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Whether the model is told of the tool."""
        return tool.name in self._names if tool.toolset == TOOLSET else self._policy.offers(tool, self._seen(situation))

    def with_rules(self, rules: Iterable[Rule]) -> "Handed":
        """With more rules for our own tools; those of the caller are theirs to judge."""
        return Handed(with_rules(self._policy, rules), tuple(self._names), tainted=self._tainted)

    def _seen(self, situation: Situation) -> Situation:
        return replace(situation, tainted=True) if self._tainted else situation
