"""A run while it is under way in this process: what it goes by, and the one place where events are sent.

It decides nothing and carries nothing out; `drive` does both with it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from treadle.core.calls import Call, Verdict
from treadle.core.context import RunContext
from treadle.core.events import Event
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.engine.catalog import Catalog
from treadle.engine.journaled import JournaledRun
from treadle.engine.judge import Bench
from treadle.engine.meter import Meter
from treadle.engine.setup import Approval, Caller, Services, Setup
from treadle.guard.logged import log
from treadle.loop.limits import Limits

if TYPE_CHECKING:
    from treadle.engine.tracing import Tracing

CallWithin = Callable[[str, dict[str, Any]], Awaitable[Any]]
Progress = Callable[[str], None]

# An id that could be one of a tool's own calls (`c1.2` is the second of `c1`) would be two calls at once.
_PLAIN_ID = re.compile(r"(?!.*\.[0-9]+\Z)[A-Za-z0-9_:.@-]{1,64}")


class LiveRun(JournaledRun):
    """One run under way."""

    def __init__(
        self, run_id: str, setup: Setup, services: Services, caller: Caller, catalog: Catalog, meter: Meter | None = None
    ) -> None:
        redactor = setup.redactor.knowing(caller.credentials.values()) if caller.credentials else setup.redactor
        super().__init__(run_id, services, caller.user, redactor, setup.approvals_expire)
        self.setup = setup
        self.caller = caller
        self.catalog = catalog
        self.meter = meter or Meter(setup.terms.limits)
        self.is_root = meter is None
        self.instructions = ""
        self.flying: dict[str, asyncio.Task[None]] = {}
        self.gate: asyncio.Task[None] | None = None  # the last sequential call
        self.suspended: dict[str, tuple[Approval, ...]] = {}
        self.inner_counts: dict[str, int] = {}
        self.call_ids: set[str] = set()
        self.cancelled = False
        self.trace: Any = None  # the run's own span, where somebody traces
        self.offered = self._offered()
        self._bench: Bench | None = None
        self._tracing: Tracing | None = None

    # what happened

    async def anchor(self) -> None:
        """Have it noted outside of the audit where that ends, at the end of a turn; a run inside of another leaves it to that."""
        anchor = getattr(self.services.audit, "anchor", None)
        if anchor is None or not self.is_root or self.state.finished is None:
            return
        try:
            await anchor(self.id)
        except OSError as error:
            log.error("The end of the audit couldn't be noted: %s. Until it can, what is cut off its end isn't noticed", error)

    def emit(self, event: Event) -> None:
        """Tell whoever watches. A watcher that fails is logged and never stops a run."""
        for watcher in self.caller.watchers:
            try:
                watcher(event)
            except Exception:  # noqa: BLE001 - foreign code; a run must not die of its audience
                log.exception("A watcher of run %s failed", self.id)

    @property
    def watched(self) -> bool:
        """Whether anyone would see an event."""
        return bool(self.caller.watchers)

    def shown_call(self, call: Call) -> Call:
        """A call as everyone may see it."""
        return Call(call.id, call.name, self.redactor.value(call.arguments))

    def shown_verdict(self, verdict: Verdict) -> Verdict:
        """A verdict as everyone may see it: its reason may say which value was wrong."""
        return replace(verdict, reason=self.redactor.text(verdict.reason))

    # what it goes by

    def equip(self, catalog: Catalog) -> None:
        """Go by these tools from now on: some toolsets only know theirs once they are entered."""
        if catalog is not self.catalog:
            self.catalog, self._bench = catalog, None
            self.offered = self._offered()

    def _offered(self) -> tuple[str, ...]:
        """The tools that a model may be told of."""
        return tuple([tool.name for tool in self.catalog.listed if self.setup.policy.offers(tool, self.situation)])

    @property
    def situation(self) -> Situation:
        """What the policy may look at."""
        return Situation(self.caller.user, self.setup.attended, self.state.tainted, self._doubts)

    def _doubts(self, call: Call, tool: Tool) -> Sequence[str]:
        """Which values of a call nobody vouches for, by all that was said so far. The work begins with the first such question."""
        from treadle.guard.provenance import doubts, is_harmless  # only a policy that asks needs it, and it is slow to import

        if is_harmless(call, tool):
            return ()
        if self._tracing is None:
            from treadle.engine.tracing import Tracing

            self._tracing = Tracing(self._only_reads, self._party)
        return doubts(call, tool, self._tracing.origins(self.state, self.instructions))

    def _only_reads(self, name: str) -> bool:
        tool = self.catalog.tools.get(name)
        return tool is not None and tool.effect == "read"

    def _party(self, name: str) -> str | None:
        """Which third party a tool's results come from; None for the engine's own, which bring nothing new."""
        from treadle.guard.outbound import party_of

        tool = self.catalog.tools.get(name)
        return "" if tool is None else None if self.catalog.is_own(tool) else party_of(tool)

    @property
    def bench(self) -> Bench:
        """What judging goes by; in a run inside of another, the calls that are left in the whole tree."""
        if self._bench is None or not self.is_root or self._bench.situation.tainted != self.state.tainted:
            self._bench = Bench(self.catalog, self.setup.policy, self._limits(), self.situation, self.offered, self.redactor)
        return self._bench

    def _limits(self) -> Limits:
        limits = self.setup.terms.limits
        most = None if self.is_root else self.meter.calls_for(self.id)
        return limits if most is None else replace(limits, calls=most if limits.calls is None else min(most, limits.calls))

    def context(
        self,
        call: Call,
        key: str = "",
        attempt: int = 1,
        within: CallWithin | None = None,
        progress: Progress | None = None,
        seal: str = "",
    ) -> RunContext[Any]:
        """What a tool gets to know, and to do."""
        return RunContext(
            deps=self.caller.deps,
            run_id=self.id,
            call_id=call.id,
            tool_name=call.name,
            user=self.caller.user,
            key=key,
            seal=seal,
            attempt=attempt,
            credentials=self.caller.credentials,
            usage=self.state.usage,
            history=self.state.history,
            parts=self.state.parts,
            call=within,
            progress=progress,
            run=self,
        )

    def fresh_id(self, proposed: str) -> str:
        """An id for a call that no other call of this run has or will have, the model's own where that is possible."""
        number = len(self.call_ids)
        call_id = proposed if _PLAIN_ID.fullmatch(proposed) else ""
        while not call_id or call_id in self.call_ids:
            number += 1
            call_id = f"call_{number}"
        self.call_ids.add(call_id)
        return call_id

    # what waits

    def approvals(self) -> tuple[Approval, ...]:
        """All that a person has to answer before this run can go on, nested runs included."""
        nested = [approval for waiting in self.suspended.values() for approval in waiting if approval.run_id != self.id]
        return (*super().approvals(), *nested)
