"""Metrics of the server in Prometheus' text format: `GET /metrics`. They contain no message content.

The same metrics for all users of a server. Persistent statistics are `stores.stats`.
"""

import os
import sys
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from treadle.core.calls import Deny
from treadle.core.events import CallJudged, CallReturned, Event, ReplyArrived, RunEnded
from treadle.core.requests import Usage
from treadle.core.seams import Toolset
from treadle.routes import Returns, get, routes_of
from treadle.stores.accounts import User

if TYPE_CHECKING:
    from treadle.agent.agent import Agent

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"  # a tool whose class isn't known here
NO_ERROR = "none"

Labels = tuple[tuple[str, str], ...]
WaitingCounter = Callable[[], Awaitable[int]]


class Metric(Struct, frozen=True):
    """One metric, with a value for each set of labels."""

    name: str
    kind: str
    words: str
    values: Mapping[Labels, float]


class ServerMetrics:
    """Counters of the running server."""

    def __init__(self) -> None:
        self.started: Counter[tuple[str, ...]] = Counter()  # turns, by assistant
        self.ended: Counter[tuple[str, ...]] = Counter()  # by assistant, and how
        self.under_way: Counter[tuple[str, ...]] = Counter()
        self.calls: Counter[tuple[str, ...]] = Counter()  # by the tool's effect, and the problem
        self.usage = Usage()
        self.events_sent = 0
        self.readers = 0
        self._waiting: list[WaitingCounter] = []

    @contextmanager
    def reading(self) -> Generator[None]:
        """Count a client that reads events, while the context is open."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1

    @contextmanager
    def counting(self, waiting: WaitingCounter) -> Generator[None]:
        """Register a function that counts one user's waiting runs, while the context is open."""
        self._waiting.append(waiting)
        try:
            yield
        finally:
            self._waiting.remove(waiting)

    def begins(self, assistant: str) -> None:
        """Count the start of a turn."""
        self.started[assistant,] += 1
        self.under_way[assistant,] += 1

    def ends(self, assistant: str, stopped: str) -> None:
        """Count the end of a turn."""
        self.under_way[assistant,] -= 1
        self.ended[assistant, stopped] += 1

    def watch(self, run_id: str, used: Usage, effects: Callable[[], Mapping[str, str]]) -> Callable[[Event], None]:
        """Return a watcher that counts the calls and requests of a turn, after `used`. `effects` returns those of its tools."""

        def watch(event: Event) -> None:
            nonlocal used
            if isinstance(event, CallReturned):
                self.calls[effects().get(event.result.name, OTHER), event.result.problem or NO_ERROR] += 1
            elif isinstance(event, CallJudged) and isinstance(event.verdict, Deny):
                self.calls[effects().get(event.call.name, OTHER), event.verdict.problem] += 1
            elif isinstance(event, ReplyArrived) and event.run_id == run_id:  # what runs inside have used is in theirs, too
                self.usage, used = self.usage + _usage_since(event.usage, used), event.usage

        return watch

    @contextmanager
    def turn(self, assistant: str, run_id: str, used: Usage, agent: "Agent[Any, Any]") -> Generator[Callable[[Event], None]]:
        """Count a turn of a session, however it ends (`Host.observe`). A new run may have no id yet."""
        count: Callable[[Event], None] | None = None
        stopped = "failed"

        def watch(event: Event) -> None:
            nonlocal count, run_id, stopped
            run_id = run_id or event.run_id  # the first event is that the run begins
            count = count or self.watch(run_id, used, lambda: tool_effects(agent.setup.toolset))
            count(event)
            if isinstance(event, RunEnded) and event.run_id == run_id:
                stopped = event.result.stopped

        self.begins(assistant)
        try:
            yield watch
        except (CancelledError, GeneratorExit):
            stopped = "left"
            raise
        finally:
            self.ends(assistant, stopped)

    async def waiting(self) -> int:
        """Return how many runs wait for a person."""
        return sum([await count() for count in self._waiting])


def tool_effects(toolset: Toolset) -> dict[str, str]:
    """Return the effect of each tool of a toolset."""
    return {tool.name: tool.effect for tool in toolset.tools()}


def _usage_since(usage: Usage, before: Usage) -> Usage:
    """Return the usage since `before`."""
    names = ("requests", "input_tokens", "output_tokens")
    return Usage(**{name: max(0, getattr(usage, name) - getattr(before, name)) for name in names})


# the text


def metrics_routes(figures: ServerMetrics) -> list[BaseRoute]:
    """Return the route of the metrics."""

    @get("/metrics")
    async def metrics(request: Request) -> Annotated[Response, Returns(200, "in Prometheus' text format", CONTENT_TYPE, str)]:
        """Get Prometheus metrics; for admins, or the owner of a server without users."""
        person: User = request.scope["person"]
        if person.role != "admin":
            raise HTTPException(403, "These figures are for admins.")
        return PlainTextResponse(format_prometheus(await _collect_metrics(figures)), media_type=CONTENT_TYPE)

    return routes_of(metrics)


async def _collect_metrics(figures: ServerMetrics) -> list[Metric]:
    usage = figures.usage
    tokens = {(("kind", "input"),): usage.input_tokens, (("kind", "output"),): usage.output_tokens}
    return [
        Metric("treadle_turns_started_total", "counter", "Turns begun here.", _label_counts(("assistant",), figures.started)),
        Metric(
            "treadle_turns_ended_total", "counter", "Turns that ended here.", _label_counts(("assistant", "stopped"), figures.ended)
        ),
        Metric("treadle_turns_under_way", "gauge", "Turns under way.", _label_counts(("assistant",), figures.under_way)),
        Metric("treadle_runs_waiting", "gauge", "Runs that wait for a person.", {(): await figures.waiting()}),
        Metric("treadle_calls_total", "counter", "Calls that came back.", _label_counts(("effect", "problem"), figures.calls)),
        Metric("treadle_model_requests_total", "counter", "Requests to models.", {(): usage.requests}),
        Metric("treadle_tokens_total", "counter", "Tokens of models.", tokens),
        Metric("treadle_events_sent_total", "counter", "Events sent to readers.", {(): figures.events_sent}),
        Metric("treadle_readers", "gauge", "Readers of events.", {(): figures.readers}),
        *_process_metrics(),
    ]


def _label_counts(names: tuple[str, ...], counted: Mapping[tuple[str, ...], int]) -> dict[Labels, float]:
    return {tuple(zip(names, key, strict=True)): value for key, value in counted.items()}


def _process_metrics() -> Iterable[Metric]:
    yield Metric("process_cpu_seconds_total", "counter", "Time on processors.", {(): round(time.process_time(), 3)})
    yield Metric("process_start_time_seconds", "gauge", "When this began to be counted.", {(): STARTED})
    if sys.platform == "linux":
        yield Metric("process_resident_memory_bytes", "gauge", "Memory.", {(): _resident_memory()})
        yield Metric("process_open_fds", "gauge", "Open files.", {(): len(os.listdir("/proc/self/fd"))})  # noqa: PTH208 - names are all that counts


STARTED = round(time.time(), 3)


def _resident_memory() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - no file, but what the system says
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def format_prometheus(metrics: Iterable[Metric]) -> str:
    """Format metrics in Prometheus' text format."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.words}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{metric.name}{_format_labels(labels)} {value}" for labels, value in metric.values.items()]
    return "\n".join([*lines, ""])


def _format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escape(value)}"' for name, value in labels]) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
