"""The result of a run: the answer, how it stopped, its usage and calls. Everything in it comes from the entries."""

from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from treadle.core.calls import Call, Result, Verdict
from treadle.core.entries import Called, Entry, Finished, Judged, Refused, Returned, Said, Settled, Stopped
from treadle.core.errors import RunFailed
from treadle.core.messages import History
from treadle.core.requests import Usage
from treadle.engine.setup import Approval
from treadle.loop.answers import settlement_result

OutputT = TypeVar("OutputT")


class CallRecord(Struct, frozen=True):
    """One call of a turn: what was requested, decided, and returned. `result` is None while it waits."""

    call: Call
    verdict: Verdict
    result: Result | None = None
    seconds: float = 0.0
    cached: bool = False
    mended: str = ""
    within: str = ""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments."""
        return self.call.arguments

    @property
    def problem(self) -> str | None:
        """The kind of problem, if there was one."""
        return self.result.problem if self.result is not None else None


class RunResult(Generic[OutputT]):
    """How a turn ended.

    stopped   "answered", "limit", "waiting" (for `approvals`), "cancelled", "failed"
    output    the answer; raises `RunFailed` if the run failed, None while it waits
    text      the model's last words
    reason    why it stopped, if not with an answer
    usage     what this turn used
    """

    __slots__ = ("_output", "approvals", "entries", "history", "reason", "run_id", "stopped", "text", "usage")

    def __init__(
        self,
        run_id: str,
        stopped: Stopped,
        output: OutputT | None,
        text: str,
        reason: str,
        usage: Usage,
        history: History,
        entries: list[Entry],
        approvals: tuple[Approval, ...] = (),
    ) -> None:
        self.run_id = run_id
        self.stopped: Stopped = stopped
        self._output = output
        self.text = text
        self.reason = reason
        self.usage = usage
        self.history = history
        self.entries = entries
        self.approvals = approvals

    @property
    def output(self) -> OutputT:
        """The answer, in the requested type."""
        if self.stopped == "failed":
            raise RunFailed(self.reason)
        return cast("OutputT", self._output)

    @property
    def cost(self) -> float | None:
        """US dollars, where the model's price is known."""
        return self.usage.cost

    @property
    def calls(self) -> list[CallRecord]:
        """The calls of this turn, in the order they were judged."""
        return calls_of(self.entries)

    @property
    def prompt(self) -> str:
        """The user's message that this turn answers."""
        return next((entry.text for entry in reversed(self.entries) if isinstance(entry, Said)), "")

    @property
    def turn(self) -> int:
        """Which turn of the run this is, from 1 on."""
        return sum(isinstance(entry, Said) for entry in self.entries)

    @property
    def ends(self) -> int:
        """How often a turn of the run has ended, this end included: with the run's id it identifies this end."""
        return sum(isinstance(entry, Finished) for entry in self.entries)

    def __repr__(self) -> str:
        words = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"RunResult(run_id={self.run_id!r}, stopped={self.stopped!r}, text={words!r})"


def calls_of(entries: list[Entry]) -> list[CallRecord]:
    """Return the calls of the last turn in `entries`."""
    records: dict[str, CallRecord] = {}
    within: dict[str, str] = {}
    for entry in entries:
        match entry:
            case Said():
                records.clear()
            case Called():
                within[entry.call.id] = entry.within
            case Judged():
                records[entry.call.id] = CallRecord(
                    entry.call, entry.verdict, _denied(entry), mended=entry.mended, within=within.get(entry.call.id, "")
                )
            case Returned():
                records[entry.result.call_id] = _with_result(records[entry.result.call_id], entry)
            case Refused():
                record = records[entry.call_id]
                refused = Result(entry.call_id, record.name, entry.reason, "denied")
                records[entry.call_id] = CallRecord(record.call, record.verdict, refused, within=record.within)
            case Settled():
                record = records[entry.call_id]
                result = settlement_result(entry.call_id, record.name, entry)
                records[entry.call_id] = CallRecord(record.call, record.verdict, result, within=record.within)
            case _:
                pass
    return list(records.values())


def _denied(entry: Judged) -> Result | None:
    problem = getattr(entry.verdict, "problem", None)
    return None if problem is None else Result(entry.call.id, entry.call.name, entry.verdict.reason, problem)


def _with_result(record: CallRecord, entry: Returned) -> CallRecord:
    return CallRecord(record.call, record.verdict, entry.result, entry.seconds, entry.cached, record.mended, record.within)
