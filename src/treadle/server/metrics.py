"""Metrics of a server or a worker in Prometheus' text format: `GET /metrics`. They contain no message content.

Counters are those of this process, for all users; queues, leases, workers and waiting runs are counted in the database, which
they share with others. Persistent statistics are `stores.stats`.
"""

import math
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
from treadle.core.errors import TreadleError
from treadle.core.events import CallJudged, CallReturned, Event, ModelAsked, ReplyArrived, RunEnded
from treadle.core.log import log
from treadle.core.requests import Usage
from treadle.core.seams import Toolset
from treadle.routes import Returns, get, routes_of
from treadle.stores.accounts import User
from treadle.stores.database import Database
from treadle.stores.queue_stats import OperationStats, read_operation_stats

if TYPE_CHECKING:
    from treadle.agent.agent import Agent

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"  # a tool whose class isn't known here
NO_ERROR = "none"
BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)  # seconds of a request to a model

Labels = tuple[tuple[str, str], ...]
WaitingCounter = Callable[[], Awaitable[int]]


class Metric(Struct, frozen=True):
    """One metric, with a value for each set of labels; the parts of a histogram by the endings of their names."""

    name: str
    kind: str
    words: str
    values: Mapping[Labels, float] = {}
    parts: Mapping[str, Mapping[Labels, float]] = {}


class Histogram:
    """Durations by model, counted in buckets."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, float]] = Counter()
        self._sums: Counter[str] = Counter()

    def observe(self, model: str, seconds: float) -> None:
        """Count a request."""
        self._sums[model] += seconds  # pyright: ignore[reportArgumentType]  # a counter of seconds
        for bucket in (*[each for each in BUCKETS if seconds <= each], math.inf):
            self._counts[model, bucket] += 1

    def to_metric(self, name: str, words: str) -> Metric:
        """Return the metric."""
        buckets: dict[Labels, float] = {
            (("model", model), ("le", "+Inf" if bucket == math.inf else str(bucket))): self._counts[model, bucket]
            for model in sorted(self._sums)
            for bucket in (*BUCKETS, math.inf)
        }
        totals: dict[Labels, float] = {(("model", model),): self._counts[model, math.inf] for model in sorted(self._sums)}
        sums: dict[Labels, float] = {(("model", model),): round(self._sums[model], 6) for model in sorted(self._sums)}
        return Metric(name, "histogram", words, parts={"_bucket": buckets, "_sum": sums, "_count": totals})


class ServerMetrics:
    """Counters of the running server or worker. `database` is the one whose queues are counted."""

    def __init__(self, database: Database | None = None) -> None:
        self.database = database
        self.started: Counter[tuple[str, ...]] = Counter()  # turns, by assistant
        self.ended: Counter[tuple[str, ...]] = Counter()  # by assistant, and how
        self.under_way: Counter[tuple[str, ...]] = Counter()
        self.calls: Counter[tuple[str, ...]] = Counter()  # by the tool's effect, and the problem
        self.usage = Usage()
        self.latency = Histogram()
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
        asked: dict[str, tuple[str, float]] = {}  # the model and when, by run: nested runs ask at the same time

        def watch(event: Event) -> None:
            nonlocal used
            if isinstance(event, ModelAsked):
                asked[event.run_id] = (event.model, time.perf_counter())
            elif isinstance(event, ReplyArrived) and event.run_id in asked:
                model, began = asked.pop(event.run_id)
                self.latency.observe(model, time.perf_counter() - began)
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
    cost = None if usage.cost is None else max(0.0, usage.cost - (before.cost or 0.0))
    return Usage(**{name: max(0, getattr(usage, name) - getattr(before, name)) for name in names}, cost=cost)


# the text


def metrics_routes(figures: ServerMetrics) -> list[BaseRoute]:
    """Return the route of the metrics."""

    @get("/metrics")
    async def metrics(request: Request) -> Annotated[Response, Returns(200, "in Prometheus' text format", CONTENT_TYPE, str)]:
        """Get Prometheus metrics; for admins, or the owner of a server without users."""
        person: User = request.scope["person"]
        if person.role != "admin":
            raise HTTPException(403, "These figures are for admins.")
        return PlainTextResponse(format_prometheus(await collect_metrics(figures)), media_type=CONTENT_TYPE)

    return routes_of(metrics)


async def collect_metrics(figures: ServerMetrics) -> list[Metric]:
    """Return all metrics. Where the database is unavailable, they say so, and what is counted in it is left out."""
    usage = figures.usage
    stats, waiting = await _count_in_database(figures)
    asking = {} if waiting is None else {(): float(waiting)}
    tokens = {(("kind", "input"),): usage.input_tokens, (("kind", "output"),): usage.output_tokens}
    return [
        Metric("treadle_turns_started_total", "counter", "Turns begun here.", _label_counts(("assistant",), figures.started)),
        Metric(
            "treadle_turns_ended_total", "counter", "Turns that ended here.", _label_counts(("assistant", "stopped"), figures.ended)
        ),
        Metric("treadle_turns_under_way", "gauge", "Turns under way.", _label_counts(("assistant",), figures.under_way)),
        Metric("treadle_runs_waiting", "gauge", "Runs that wait for a person.", asking),
        Metric("treadle_calls_total", "counter", "Calls that came back.", _label_counts(("effect", "problem"), figures.calls)),
        Metric("treadle_model_requests_total", "counter", "Requests to models.", {(): usage.requests}),
        Metric("treadle_tokens_total", "counter", "Tokens of models.", tokens),
        Metric(
            "treadle_cost_dollars_total", "counter", "Costs of models, where prices are known.", {(): round(usage.cost or 0.0, 6)}
        ),
        figures.latency.to_metric("treadle_model_request_seconds", "Seconds from a request to a model to its complete reply."),
        Metric("treadle_events_sent_total", "counter", "Events sent to readers.", {(): figures.events_sent}),
        Metric("treadle_readers", "gauge", "Readers of events.", {(): figures.readers}),
        Metric("treadle_database_up", "gauge", "Whether the database responds.", {(): float(stats is not None)}),
        *_operation_metrics(stats),
        *_process_metrics(),
    ]


async def _count_in_database(figures: ServerMetrics) -> tuple[OperationStats | None, int | None]:
    try:
        stats = OperationStats() if figures.database is None else await read_operation_stats(figures.database)
        return stats, await figures.waiting()
    except TreadleError as error:
        log.warning("The database couldn't be counted for metrics: %s", error)
        return None, None


def _operation_metrics(stats: OperationStats | None) -> Iterable[Metric]:
    """Return what servers and workers share: the same values from each of them."""
    if stats is None:
        return
    for field, words in (
        ("ready", "Runs that may begin, by queue."),
        ("later", "Runs that may not begin before a time, by queue."),
        ("sent", "Runs that were sent to workers, by queue."),
    ):
        values: dict[Labels, float] = {(("queue", name),): getattr(each, field) for name, each in stats.queues.items()}
        yield Metric(f"treadle_queue_{field}", "gauge", words, values)
    oldest: dict[Labels, float] = {(("queue", name),): each.oldest for name, each in stats.queues.items()}
    yield Metric("treadle_queue_oldest_seconds", "gauge", "For how long the first run that may begin has waited.", oldest)
    dead: dict[Labels, float] = {(("queue", name),): each.dead for name, each in stats.queues.items()}
    yield Metric("treadle_dead_letters", "gauge", "Runs that failed too often to be tried again, by queue.", dead)
    unserved: dict[Labels, float] = {(("version", name),): count for name, count in stats.unserved.items()}
    yield Metric("treadle_runs_unserved", "gauge", "Queued runs of a version that no worker has, by version.", unserved)
    leases: dict[Labels, float] = {(("state", "held"),): stats.leases, (("state", "expired"),): stats.expired_leases}
    yield Metric("treadle_leases", "gauge", "Leases on runs: held, and expired without being released.", leases)
    workers: dict[Labels, float] = {
        (("state", "live"),): stats.live_workers,
        (("state", "draining"),): stats.draining_workers,
        (("state", "silent"),): stats.silent_workers,
    }
    yield Metric("treadle_workers", "gauge", "Workers that run, take no more runs, or died in the last day.", workers)


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
        for ending, values in {"": metric.values, **metric.parts}.items():
            lines += [f"{metric.name}{ending}{_format_labels(labels)} {value}" for labels, value in values.items()]
    return "\n".join([*lines, ""])


def _format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escape(value)}"' for name, value in labels]) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
