"""A run that is active in this process: its dependencies, and the one place where events are emitted.

It decides nothing and executes nothing; `drive` does both with it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from treadle.core.calls import Call, Verdict
from treadle.core.context import RunContext
from treadle.core.events import Event, PathStep
from treadle.core.seams import Situation, Toolset, Watcher
from treadle.core.tool import Tool
from treadle.engine.catalog import Catalog
from treadle.engine.journaled import JournaledRun
from treadle.engine.judge import JudgeContext
from treadle.engine.meter import Meter
from treadle.engine.setup import Approval, Caller, Services, Setup
from treadle.guard.log_filter import log
from treadle.guard.redaction import Redactor
from treadle.loop.decide import AskModel
from treadle.loop.limits import Limits
from treadle.loop.state import find_call

if TYPE_CHECKING:
    from treadle.engine.origin_tracker import OriginTracker

# An id that could be one of a tool's own calls (`c1.2` is the second of `c1`) would be two calls at once.
_PLAIN_ID = re.compile(r"(?!.*\.[0-9]+\Z)[A-Za-z0-9_:.@-]{1,64}")


class LiveRun(JournaledRun):
    """One active run."""

    __slots__ = (
        "_bench",
        "_earlier_tools",
        "_shown",
        "_tracing",
        "asking",
        "background",
        "base",
        "call_ids",
        "caller",
        "catalog",
        "checked_prefix",
        "context_text",
        "flying",
        "gate",
        "inner_counts",
        "instructions",
        "is_root",
        "meter",
        "offered",
        "path",
        "prepare",
        "setup",
        "steered",
        "stopping",
        "suspended",
        "toolset",
        "trace",
        "watched",
    )

    def __init__(
        self,
        run_id: str,
        setup: Setup,
        services: Services,
        caller: Caller,
        catalog: Catalog,
        meter: Meter | None = None,
        path: tuple[PathStep, ...] = (),
    ) -> None:
        super().__init__(run_id, services, caller.user, _make_redactor(setup, caller), setup.approvals_expire)
        self.setup = setup
        self.caller = caller
        self.watched = bool(caller.watchers)  # whether there are any
        self.catalog = catalog
        self.meter = meter or Meter(setup.terms.limits)
        self.is_root = meter is None
        self.path = path
        self.instructions = ""
        self.context_text = ""  # what the model reads after them
        self.flying: dict[str, asyncio.Task[None]] = {}
        self.background: dict[str, asyncio.Task[None]] = {}  # calls in the background, by their own ids
        self.gate: asyncio.Task[None] | None = None  # the last sequential call
        self.suspended: dict[str, tuple[Approval, ...]] = {}
        self.inner_counts: dict[str, int] = {}
        self.call_ids: set[str] = set()
        self.stopping: Literal["", "cancelled", "interrupted"] = ""  # on request, and how
        self.steered = asyncio.Event()  # a message of the user waits to be delivered
        self.asking = asyncio.Lock()  # a user is asked about one call of a tool at a time
        self.trace: Any = None  # the run's own span, if tracing is on
        self.toolset = setup.toolset  # of this run
        self.prepare = _find_prepare(setup.toolset)
        self.base = catalog  # with all of its tools, prepared for no request
        self.offered = self._select_offered()
        self.checked_prefix: tuple[object, ...] = ()  # what the last request began with
        self._earlier_tools: dict[str, Tool] = {}  # of agents that handed the run off
        self._bench: JudgeContext | None = None
        self._shown: tuple[Call, Call] | None = None  # a call, and as it is without its secrets
        self._tracing: OriginTracker | None = None

    def release(self) -> None:
        """Drop what refers back to the run, so that it is freed when it ends, and not by the garbage collector some time later."""
        self._bench = self._tracing = None

    # what happened

    async def anchor(self) -> None:
        """Anchor the audit at the end of a turn; a nested run leaves it to its root."""
        anchor = getattr(self.services.audit, "anchor", None)
        if anchor is None or not self.is_root or self.state.finished is None:
            return
        try:
            await anchor(self.id)
        except OSError as error:
            log.error("The end of the audit couldn't be noted: %s. Until it can, what is cut off its end isn't noticed", error)

    def emit(self, event: Event) -> None:
        """Emit an event to the watchers. A watcher that fails is logged and never stops a run."""
        if self.path:
            event = replace(event, path=self.path)
        for watcher in self.caller.watchers:
            try:
                watcher(event)
            except Exception:  # noqa: BLE001 - foreign code; a run must not die of its audience
                log.exception("A watcher of run %s failed", self.id)

    async def pause(self, request: AskModel) -> None:
        """Wait for watchers that go step by step, before a request. A nested run is a part of one of its parent's steps."""
        for watcher in self.caller.watchers if self.is_root else ():
            pause = getattr(watcher, "pause", None)
            if pause is not None:
                await pause(self, request)

    def add_watcher(self, watcher: Watcher) -> None:
        """Add a watcher."""
        self.caller = replace(self.caller, watchers=(*self.caller.watchers, watcher))
        self.watched = True

    def shown_call(self, call: Call) -> Call:
        """Return a call with its secrets redacted."""
        shown = self._shown
        if shown is None or shown[0] is not call:  # several events in a row are about the same call
            shown = self._shown = call, Call(call.id, call.name, self.redactor.value(call.arguments))
        return shown[1]

    def shown_verdict(self, verdict: Verdict) -> Verdict:
        """Return a verdict with its secrets redacted: its reason may quote a wrong value."""
        return replace(verdict, reason=self.redactor.text(verdict.reason))

    # what it goes by

    def use_toolset(self, toolset: Toolset, catalog: Catalog) -> None:
        """Use this toolset from now on: some only know their tools once they are entered."""
        self.toolset, self.base = toolset, catalog
        self.prepare = _find_prepare(toolset)
        self.equip(catalog)

    def use_agent(self, setup: Setup) -> None:
        """Go on as this agent, which the run was handed off to."""
        self._earlier_tools |= self.base.tools
        self.setup, self.context_text = setup, ""
        self.redactor = _make_redactor(setup, self.caller)
        self._bench = self._shown = None

    def equip(self, catalog: Catalog) -> None:
        """Offer these tools from now on."""
        if catalog is not self.catalog:
            self.catalog, self._bench = catalog, None
            self.offered = self._select_offered()

    def _select_offered(self) -> tuple[str, ...]:
        """Return the tools that may be offered to the model."""
        listed = [tool for tool in self.catalog.listed if tool.offered]
        return tuple([tool.name for tool in listed if self.setup.policy.offers(tool, self.situation)])

    @property
    def situation(self) -> Situation:
        """What the policy may take into account."""
        return Situation(self.caller.user, self.setup.attended, self.state.tainted, self._find_doubts)

    def _find_doubts(self, call: Call, tool: Tool) -> Sequence[str]:
        """Return which values of a call nothing vouches for in the conversation. Tracking begins with the first such check."""
        from treadle.guard.provenance import find_doubts, is_harmless  # only a policy that asks needs it, and it is slow to import

        if is_harmless(call, tool):
            return ()
        if self._tracing is None:
            from treadle.engine.origin_tracker import OriginTracker

            self._tracing = OriginTracker(self._is_read_only, self._third_party)
        origins = self._tracing.origins(self.state, self.instructions)
        return find_doubts(call, tool, origins, literals=self._find_literals(call))

    def _find_literals(self, call: Call) -> frozenset[tuple[str, str | int | float]]:
        """Return the values that a program has for a call it makes, where it was written before untrusted content was read."""
        inner = find_call(self.state, call.id) if self.state.inner else None
        outer = None if inner is None or not inner.within else find_call(self.state, inner.within)
        if outer is None or outer.call is None or outer.tainted:
            return frozenset()
        find = getattr(self.toolset, "find_literals", None)
        return frozenset() if find is None else find(outer.call, call.name)

    def _is_read_only(self, name: str) -> bool:
        tool = self._find_tool(name)
        return tool is not None and tool.effect == "read"

    def _find_tool(self, name: str) -> Tool | None:
        return self.catalog.find(name) or self._earlier_tools.get(name)

    def _third_party(self, name: str) -> str | None:
        """Return the third party that a tool's results come from; None for the engine's own, which bring nothing new."""
        from treadle.guard.outbound import third_party_of

        tool = self._find_tool(name)
        return "" if tool is None else None if self.catalog.is_own(tool) or tool.composite else third_party_of(tool)

    @property
    def bench(self) -> JudgeContext:
        """What judging depends on; in a nested run, with the calls that are left in the whole tree."""
        if self._bench is None or not self.is_root or self._bench.situation.tainted != self.state.tainted:
            self._bench = JudgeContext(
                self.catalog,
                self.setup.policy,
                self._remaining_limits(),
                self.situation,
                self.offered,
                self.redactor,
                self.setup.name,
                self.grants,
            )
        return self._bench

    def _remaining_limits(self) -> Limits:
        limits = self.setup.terms.limits
        most = None if self.is_root else self.meter.calls_for(self.id)
        return limits if most is None else replace(limits, calls=most if limits.calls is None else min(most, limits.calls))

    def context(self, call: Call, key: str = "", attempt: int = 1, seal: str = "") -> RunContext[Any]:
        """Return the context of what is asked of a tool or of the agent's functions besides calls (`perform.CallContext`)."""
        caller, state = self.caller, self.state
        return RunContext(
            deps=caller.deps,
            run_id=self.id,
            call_id=call.id,
            tool_name=call.name,
            user=caller.user,
            key=key,
            seal=seal,
            attempt=attempt,
            tainted=state.tainted,
            credentials=caller.credentials,
            usage=state.usage,
            history=state.history,
            parts=state.parts,
            run=self,
        )

    def fresh_id(self, proposed: str) -> str:
        """Return a call id that no other call of this run has or will have, the model's own where possible."""
        given, call_id = self.call_ids, proposed
        if proposed in given or not _PLAIN_ID.fullmatch(proposed):
            number = len(given) + 1
            while (call_id := f"call_{number}") in given:
                number += 1
        given.add(call_id)
        return call_id

    @property
    def system_prompt(self) -> str:
        """The instructions, and the context that was loaded for the run; the same bytes in every request."""
        if not self.context_text:
            return self.instructions
        return "\n\n".join(filter(None, (self.instructions, self.context_text)))

    # what waits

    def approvals(self) -> tuple[Approval, ...]:
        """Return all approvals that this run waits for, nested runs included."""
        nested = [approval for waiting in self.suspended.values() for approval in waiting if approval.run_id != self.id]
        return (*super().approvals(), *nested)


def _find_prepare(toolset: Toolset) -> Callable[[RunContext[Any]], Awaitable[Sequence[Tool]]] | None:
    """Return what prepares the tools for a request; None where nothing does."""
    return getattr(toolset, "prepare", None) if getattr(toolset, "prepares", True) else None


def _make_redactor(setup: Setup, caller: Caller) -> Redactor:
    return setup.redactor.knowing(caller.credentials.values()) if caller.credentials else setup.redactor
