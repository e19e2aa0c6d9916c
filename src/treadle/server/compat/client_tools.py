"""The client's own tools: the model sees them beside ours, but only the client can execute them.

So the policy asks about each of their calls, the run waits, and the call goes to the client under an id that leads
back to it. When the client delivers its result, the run continues.
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


class CallHandle(Struct, frozen=True):
    """The parsed id of a call that was handed over: its run, and the hash of the call."""

    run_id: str
    mark: str


def hash_call_id(call_id: str) -> str:
    """Return the hash that stands for a call in an id.

    Whatever characters a model's server uses in ids, those of the hash are valid anywhere.
    """
    return sha256(call_id.encode()).hexdigest()[:_MARK]


def parse_call_id(wire_id: str) -> CallHandle | None:
    """Parse an id, if it is one of ours."""
    found = _HANDLE.fullmatch(wire_id)
    return None if found is None else CallHandle(found[1], found[2])


class ClientTools:
    """The client's tools, and the results it has delivered, by call id.

    A call starts when its result is there already, so executing it again only reads that again.
    """

    def __init__(
        self, specs: Sequence[ToolSpec], results: Mapping[str, Result] | None = None, media: Mapping[str, bytes] | None = None
    ) -> None:
        self._results = results or {}
        self._media = media or {}
        self._tools = tuple([Tool(spec, effect="write", retry="idempotent", trust="untrusted", toolset=TOOLSET) for spec in specs])

    async def __aenter__(self) -> "ClientTools":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tools(self) -> tuple[Tool, ...]:
        """Return the client's tools."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Return the result that the client delivered, with its media."""
        result = self._results.get(call.id)
        if result is None:
            raise ToolProblem(f"Only the program that brought {call.name} can carry it out, and it hasn't reported its result.")
        if result.problem is not None:
            raise ToolProblem(result.content or f"{call.name} failed.")
        if not result.media:
            return result.content
        return [result.content, *[attachment_of(media, self._media[media.sha256]) for media in result.media]]


def name_only_spec(name: str) -> ToolSpec:
    """Return the spec of a tool of which only the name is known."""
    return ToolSpec(name, "", {"type": "object"})


def is_client_call(verdict: Verdict | None) -> bool:
    """Whether a call was handed over to the client."""
    return isinstance(verdict, Ask) and verdict.by == TOOLSET


class ClientToolPolicy:
    """A policy around the assistant's own: each call of the client's tools waits for the client.

    `names` are those that the model may call now. Where the conversation starts with results of the client (`tainted`),
    calls of ours with effects need approval, as after any untrusted content.
    """

    def __init__(self, policy: Policy, names: Sequence[str], *, tainted: bool = False) -> None:
        self._policy = policy
        self._names = frozenset(names)
        self._tainted = tainted

    def judge(self, call: Call, tool: Tool, situation: Situation) -> Verdict:
        """Judge a call."""
        if tool.toolset == TOOLSET:
            return Ask(TOOLSET, f"The program that brought {tool.name} carries it out.")
        return self._policy.judge(call, tool, self._taint(situation))

    def offers(self, tool: Tool, situation: Situation) -> bool:
        """Whether the tool is offered to the model."""
        return tool.name in self._names if tool.toolset == TOOLSET else self._policy.offers(tool, self._taint(situation))

    def with_rules(self, rules: Iterable[Rule]) -> "ClientToolPolicy":
        """Return the policy with more rules for our own tools; those of the client are the client's to judge."""
        return ClientToolPolicy(with_rules(self._policy, rules), tuple(self._names), tainted=self._tainted)

    def _taint(self, situation: Situation) -> Situation:
        return replace(situation, tainted=True) if self._tainted else situation
