"""Judges the calls of kept runs again, by another policy: which verdicts would differ. Pure: nothing is run.

Taint is taken from the journal. Whether the values of a call are doubtful is too, where the recorded verdict shows it; otherwise
it is computed from the conversation, without the agent's instructions, which aren't journaled.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from treadle.core.calls import Allow, Ask, Call, Deny, Effect, Verdict
from treadle.core.entries import Entry, Judged, Returned, Started
from treadle.core.requests import ToolSpec
from treadle.core.seams import Doubts, Policy, Situation
from treadle.core.tool import Tool
from treadle.engine.origin_tracker import OriginTracker
from treadle.evals.checks import verdict_name
from treadle.guard.outbound import third_party_of
from treadle.guard.provenance import find_doubts, is_harmless
from treadle.guard.redaction import Redactor
from treadle.guard.rules import BY_TAINT
from treadle.loop.state import RunState, apply_entry

Decision = Literal["allow", "ask", "deny"]
_redactor = Redactor()


class VerdictChange(Struct, frozen=True):
    """A call whose verdict would differ. `assumed` says that its tool isn't known, so that its effect is from the journal."""

    run_id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    before: Decision
    now: Decision
    reason: str = ""
    assumed: bool = False

    @property
    def loosens(self) -> bool:
        """Whether a call that was denied, or needed approval, would be allowed."""
        return self.now == "allow" and self.before != "allow"


class PolicyTest(Struct, frozen=True):
    """The calls of some runs, judged again: how many there are, how many by an assumed tool, and those that differ."""

    runs: int = 0
    calls: int = 0
    assumed: int = 0
    changes: tuple[VerdictChange, ...] = ()

    def __add__(self, other: "PolicyTest") -> "PolicyTest":
        runs, calls, assumed = self.runs + other.runs, self.calls + other.calls, self.assumed + other.assumed
        return PolicyTest(runs, calls, assumed, self.changes + other.changes)

    @property
    def loosened(self) -> list[VerdictChange]:
        """The calls that would be allowed, and weren't."""
        return [change for change in self.changes if change.loosens]


def recorded_decision(judged: Judged) -> Decision | None:
    """Return the policy's verdict on a recorded call, without what a user had allowed before; None where it isn't the policy's."""
    if judged.grant is not None:
        return "ask"
    if isinstance(judged.verdict, Deny) and judged.verdict.problem != "denied":
        return None
    return verdict_name(judged.verdict)


def change_of(run_id: str, call: Call, before: Decision, verdict: Verdict, *, assumed: bool = False) -> VerdictChange | None:
    """Return the difference between a recorded verdict and another one; None where there is none. Secrets are masked."""
    now: Decision = verdict_name(verdict)
    if now == before:
        return None
    return VerdictChange(run_id, call.id, call.name, _redactor.value(call.arguments), before, now, verdict.reason, assumed)


def compare_policy(
    runs: Iterable[tuple[str, Sequence[Entry]]], policy: Policy, tools: Mapping[str, Tool] | None = None
) -> PolicyTest:
    """Judge the calls of runs again. `tools` are those that are known, by name."""
    number = calls = assumed = 0
    changes: list[VerdictChange] = []
    for run_id, entries in runs:
        number += 1
        for judged, verdict, is_assumed in judge_again(entries, policy, tools or {}):
            before = recorded_decision(judged)
            if before is not None:
                calls, assumed = calls + 1, assumed + is_assumed
                change = change_of(run_id, judged.call, before, verdict, assumed=is_assumed)
                changes += [] if change is None else [change]
    return PolicyTest(number, calls, assumed, tuple(changes))


def judge_again(entries: Sequence[Entry], policy: Policy, tools: Mapping[str, Tool]) -> Iterable[tuple[Judged, Verdict, bool]]:
    """Yield each call that a policy has judged, its verdict by this one, and whether its tool had to be assumed."""
    effects = _RecordedEffects(entries)
    state = RunState()
    tracker = OriginTracker(
        lambda name: (tools[name].effect if name in tools else effects.of_tool(name)) == "read",
        lambda name: third_party_of(tools.get(name) or _assumed_tool(name, "read")),
    )
    for entry in entries:
        if isinstance(entry, Judged) and recorded_decision(entry) is not None:
            known = tools.get(entry.call.name)
            tool = known or _assumed_tool(entry.call.name, effects.of_call(entry.call))
            yield entry, policy.judge(entry.call, tool, _situation(state, entry, tracker)), known is None
        state = apply_entry(state, entry)


def _situation(state: RunState, judged: Judged, tracker: OriginTracker) -> Situation:
    opened = state.opened
    user = "" if opened is None else opened.user
    attended = opened is None or bool(opened.origin.get("attended", True))
    return Situation(user, attended, state.tainted, _recorded_doubts(state, judged, tracker))


def _recorded_doubts(state: RunState, judged: Judged, tracker: OriginTracker) -> Doubts:
    verdict = judged.verdict
    if isinstance(verdict, Allow) and judged.grant is None:
        return lambda call, tool: ()
    if isinstance(verdict, Ask | Deny) and verdict.by == BY_TAINT:
        return lambda call, tool: (verdict.reason,)

    def trace(call: Call, tool: Tool) -> Sequence[str]:
        return () if is_harmless(call, tool) else find_doubts(call, tool, tracker.origins(state, ""))

    return trace


def _assumed_tool(name: str, effect: Effect) -> Tool:
    return Tool(ToolSpec(name, "", {"type": "object", "properties": {}}), effect=effect)


class _RecordedEffects:
    """What the journal shows of tools: a call with an effect has a `Started`, one that only reads has none."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._started = {entry.call_id for entry in entries if isinstance(entry, Started)}
        self._returned = {entry.result.call_id for entry in entries if isinstance(entry, Returned) and not entry.cached}
        self._tools: dict[str, Effect] = {}
        for entry in entries:
            if isinstance(entry, Judged) and entry.call.id in self._started | self._returned:
                effect = self._of_id(entry.call.id)
                if self._tools.get(entry.call.name) != "write":
                    self._tools[entry.call.name] = effect

    def _of_id(self, call_id: str) -> Effect:
        return "write" if call_id in self._started else "read"

    def of_call(self, call: Call) -> Effect:
        """Return the effect of a call: its own, else that of other calls of the tool, else write."""
        ran = call.id in self._started or call.id in self._returned
        return self._of_id(call.id) if ran else self.of_tool(call.name)

    def of_tool(self, name: str) -> Effect:
        """Return the strongest effect that calls of a tool have shown; write where none has run."""
        return self._tools.get(name, "write")
