"""What a run waits for, in a few words for the status line: from its events, as they happen.

The elapsed time comes first, so that a narrow terminal doesn't cut it off. Of several things that go on, the last one that began
is named.
"""

from collections.abc import Callable
from pathlib import PurePath
from time import monotonic

from msgspec import Struct

from treadle.cli.ui.render import format_call, format_count
from treadle.core.events import (
    CallArrived,
    CallRetried,
    CallReturned,
    CallStarted,
    Event,
    ModelAsked,
    ModelProgressed,
    ModelRetried,
    ReplyArrived,
    RunEnded,
    TextArrived,
    ThinkingArrived,
)

Clock = Callable[[], float]
MAX_LABEL = 50  # characters of a call: the time that it takes comes behind it
MIN_SECONDS = 1.0  # of writing before its speed is known well enough


class _Request(Struct):
    """A request to a model, and how far its reply is."""

    model: str
    attempt: int
    began: float
    progress: ModelProgressed | None = None
    first: tuple[float, float] | None = None  # when it began to write, and how much had come then
    retried_at: float | None = None  # when it is sent again

    def describe(self, now: float) -> str:
        if self.retried_at is not None:
            return f"Trying again in {max(self.retried_at - now, 0):.0f} s (attempt {self.attempt} failed)"
        attempt = f" (attempt {self.attempt})" if self.attempt > 1 else ""
        return f"{self._describe_stage(now)}{attempt}"

    def _describe_stage(self, now: float) -> str:
        at = self.progress
        if at is None or at.stage == "waiting":
            number = f", request {at.request}" if at is not None and at.request else ""
            ahead = f": {format_count(at.ahead, 'run')} ahead of yours" if at is not None and at.ahead else ""
            return f"Waiting for {self.model}{number}{ahead}"
        number = f", request {at.request}" if at.request else ""
        if at.stage == "loading":
            return f"Loading {self.model}: {_percent(at)}"
        if at.stage == "reading":
            return f"Reading the prompt: {_percent(at)} of {format_count(int(at.total), 'token')}{number}"
        return f"Writing{self._describe_speed(now, at)}{number}"

    def _describe_speed(self, now: float, at: ModelProgressed) -> str:
        began, had = self.first or (now, at.done)
        if not at.done:
            return ""
        speed = f", {(at.done - had) / (now - began):.1f} tokens/s" if now - began >= MIN_SECONDS else ""
        return f": {format_count(int(at.done), 'token')}{speed}"


class _RunningCall(Struct):
    """A call that is being carried out."""

    label: str
    began: float
    attempt: int = 1

    def describe(self, now: float) -> str:
        attempt = f"attempt {self.attempt}, " if self.attempt > 1 else ""
        return f"Running {self.label} ({attempt}{format_elapsed(now - self.began)})"


class RunStatus:
    """Watcher that knows what the runs of a command wait for; `idle` is what to say between that."""

    def __init__(self, clock: Clock = monotonic, idle: str = "Working") -> None:
        self._clock = clock
        self.idle = idle
        self._began = clock()
        self._awaited: dict[tuple[str, str], _Request | _RunningCall] = {}  # by run and call; a request has none

    def describe(self) -> str:
        """Return the elapsed time, and what is awaited."""
        now = self._clock()
        last = next(reversed(self._awaited.values()), None)
        words = self.idle if last is None else last.describe(now)
        calls = sum(isinstance(each, _RunningCall) for each in self._awaited.values())
        more = f" and {calls - 1} more" if isinstance(last, _RunningCall) and calls > 1 else ""
        return f"{format_elapsed(now - self._began)}  {words}{more}"

    def __call__(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case ModelAsked():
                before = self._awaited.pop((event.run_id, ""), None)
                attempt = before.attempt + 1 if before is not None else 1
                self._awaited[event.run_id, ""] = _Request(shorten_model_name(event.model), attempt, self._clock())
            case ModelRetried():
                self._on_retry(event)
            case ModelProgressed():
                self._on_progress(event)
            case TextArrived() | ThinkingArrived() | CallArrived():
                self._on_text(event.run_id)
            case ReplyArrived():
                self._awaited.pop((event.run_id, ""), None)
            case RunEnded():
                self._awaited = {key: each for key, each in self._awaited.items() if key[0] != event.run_id}
            case _:
                self._on_call(event)

    def _on_call(self, event: Event) -> None:
        match event:
            case CallStarted():
                label = format_call(event.call.name, event.call.arguments, MAX_LABEL)
                self._awaited[event.run_id, event.call.id] = _RunningCall(label, self._clock())
            case CallRetried():
                if (call := self._awaited.get((event.run_id, event.call_id))) is not None:
                    call.attempt = event.attempt + 1
            case CallReturned():
                self._awaited.pop((event.run_id, event.result.call_id), None)
            case _:
                pass

    def _request_of(self, run_id: str) -> _Request | None:
        found = self._awaited.get((run_id, ""))
        return found if isinstance(found, _Request) else None

    def _on_retry(self, event: ModelRetried) -> None:
        if (request := self._request_of(event.run_id)) is not None:
            request.retried_at = self._clock() + event.wait

    def _on_progress(self, event: ModelProgressed) -> None:
        request = self._request_of(event.run_id)
        if request is None:
            return
        written = request.progress.done if request.progress is not None and request.progress.stage == "writing" else 0
        request.progress = event
        if event.stage == "writing" and (not written or event.done < written):
            request.first = self._clock(), event.done

    def _on_text(self, run_id: str) -> None:
        """Note that the model writes, also where it doesn't report how much."""
        request = self._request_of(run_id)
        if request is not None and (request.progress is None or request.progress.stage != "writing"):
            self._on_progress(ModelProgressed(run_id=run_id, stage="writing"))


def _percent(at: ModelProgressed) -> str:
    return f"{100 * at.done / at.total if at.total else 0:.0f} %"


def shorten_model_name(name: str) -> str:
    """Return a model's name; of a file, that without its folders."""
    return PurePath(name.partition(":")[2] or name).name if "/" in name and name.endswith(".gguf") else name


def format_elapsed(seconds: float) -> str:
    """Format a time that goes on."""
    whole = int(max(seconds, 0))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
