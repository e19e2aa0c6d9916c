"""OpenTelemetry spans and metrics by the GenAI conventions, where a program or the environment has configured OpenTelemetry.

Only names, counts and kinds are recorded, never content. Nothing is imported here: the API is loaded already where a program wants
it, which is `otel_setup` where the standard variables ask for it.
"""

import os
import sys
from collections.abc import Awaitable
from functools import cache
from time import perf_counter
from types import TracebackType
from typing import Any

from treadle.core.calls import Call, Result
from treadle.core.requests import Finish, ReplyEnded, Request, Usage
from treadle.engine.live import LiveRun
from treadle.engine.outcome import CallOutcome

# The conventions' names of providers that are called otherwise here.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
_FINISH_REASONS: dict[Finish, str] = {
    "done": "stop",
    "calls": "tool_calls",
    "length": "length",
    "window": "length",
    "filtered": "content_filter",
    "broken": "error",
    "paused": "pause_turn",
}
_TOKEN_BUCKETS = [4**power for power in range(14)]
_SECOND_BUCKETS = [0.01 * 2**power for power in range(14)]


class _Environment:
    """Whether this process has read its variables."""

    is_read = False


def _read_environment() -> None:
    """Configure OpenTelemetry as its standard variables say, where there are any."""
    _Environment.is_read = True
    if any(name.startswith("OTEL_") for name in os.environ):
        from treadle.engine.otel_setup import configure_from_environment

        configure_from_environment()


def start_telemetry() -> None:
    """Configure OpenTelemetry by its standard variables, unless that has been done: a run does so too, when it begins."""
    if not _Environment.is_read:
        _read_environment()


def _load_api() -> Any:
    """Return the tracing API, if a provider of spans or metrics is set."""
    if not _Environment.is_read:
        _read_environment()
    api = sys.modules.get("opentelemetry.trace")
    if api is None or (type(api.get_tracer_provider()).__name__ == "ProxyTracerProvider" and _meter_provider() is None):
        return None
    return api


def _meter_provider() -> Any:
    """Return the provider of metrics, if one has been set."""
    api = sys.modules.get("opentelemetry.metrics")
    provider = None if api is None else api.get_meter_provider()
    return None if type(provider).__name__ == "_ProxyMeterProvider" else provider


@cache  # an instrument is created once
def _histograms(provider: Any) -> tuple[Any, Any]:
    meter = provider.get_meter("treadle")
    return (
        meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
        ),
        meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECOND_BUCKETS,
        ),
    )


class _OtelSpan:
    """An OpenTelemetry span. All spans of a run are children of the run's own, also those started during a reply."""

    def __init__(self, api: Any, run: LiveRun, name: str, kind: str, attributes: dict[str, Any], root: bool = False) -> None:
        self._api = api
        self._run = run
        self._root = root
        self._attributes = attributes
        self._began = perf_counter()
        tracer = api.get_tracer("treadle")
        context = None if root or run.trace is None else api.set_span_in_context(run.trace)
        self._span = tracer.start_span(name, context=context, kind=getattr(api.SpanKind, kind), attributes=attributes)
        self._current = api.use_span(self._span, end_on_exit=True, record_exception=False, set_status_on_exception=False)

    def __enter__(self) -> "_OtelSpan":
        if self._root:
            self._run.trace = self._span
        self._current.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self._record_error(getattr(kind, "error_type", kind.__name__))
        if self._attributes["gen_ai.operation.name"] == "chat" and (provider := _meter_provider()) is not None:
            self._measure(*_histograms(provider))
        self._current.__exit__(kind, error, trace)

    def record_reply(self, ended: ReplyEnded) -> None:
        usage = ended.usage
        known = {
            "gen_ai.response.model": ended.response_model,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        }
        self._set(
            {
                **_model_attributes(ended.model or self._run.setup.model.name),
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.response.finish_reasons": (_FINISH_REASONS[ended.finish],),
                **{name: value for name, value in known.items() if value},
            }
        )

    def record_result(self, result: Result) -> None:
        if result.problem:
            self._record_error(result.problem)

    def record_end(self, stopped: str, usage: Usage) -> None:
        tokens = {"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens}
        self._set({"treadle.stopped": stopped, **tokens})
        if stopped == "failed":
            self._record_error(stopped)

    def _set(self, attributes: dict[str, Any]) -> None:
        self._attributes |= attributes
        self._span.set_attributes(attributes)

    def _record_error(self, error_type: str) -> None:
        self._set({"error.type": error_type})
        self._span.set_status(self._api.Status(self._api.StatusCode.ERROR))  # without the words of the error

    def _measure(self, tokens: Any, duration: Any) -> None:
        """Record the metrics of a request."""
        names = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model")
        common = {name: self._attributes[name] for name in names if name in self._attributes}
        failed = {"error.type": self._attributes["error.type"]} if "error.type" in self._attributes else {}
        duration.record(perf_counter() - self._began, {**common, **failed})
        for kind in ("input", "output"):
            if count := self._attributes.get(f"gen_ai.usage.{kind}_tokens"):
                tokens.record(count, {**common, "gen_ai.token.type": kind})


def _model_attributes(name: str) -> dict[str, Any]:
    provider, _, model = name.partition(":")
    return {"gen_ai.provider.name": _PROVIDERS.get(provider, provider), "gen_ai.request.model": model or provider}


def trace_turn(run: LiveRun, turn: Awaitable[None]) -> Awaitable[None]:
    """Return a turn, carried out in a span where there is tracing."""
    api = _load_api()
    return turn if api is None else _trace_turn(api, run, turn)


def trace_reply(run: LiveRun, request: Request, reply: Awaitable[ReplyEnded]) -> Awaitable[ReplyEnded]:
    """Return what takes a reply in, in the span of its request where there is tracing."""
    api = _load_api()
    return reply if api is None else _trace_reply(api, run, request, reply)


def trace_call(run: LiveRun, call: Call, work: Awaitable[CallOutcome]) -> Awaitable[CallOutcome]:
    """Return what carries a tool call out, in a span where there is tracing."""
    api = _load_api()
    return work if api is None else _trace_call(api, run, call, work)


async def _trace_turn(api: Any, run: LiveRun, turn: Awaitable[None]) -> None:
    name = run.setup.name or "agent"
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.conversation.id": run.id,
        **_model_attributes(run.setup.model.name),
    }
    with _OtelSpan(api, run, f"invoke_agent {name}", "INTERNAL", attributes, root=True) as span:
        await turn
        assert run.state.finished is not None  # the turn is over
        span.record_end(run.state.finished.stopped, run.state.spent.usage)


async def _trace_reply(api: Any, run: LiveRun, request: Request, reply: Awaitable[ReplyEnded]) -> ReplyEnded:
    model, options = _model_attributes(run.setup.model.name), request.options
    given = {
        "gen_ai.output.type": None if request.shape is None else "json",
        "gen_ai.request.max_tokens": options.max_tokens,
        "gen_ai.request.seed": options.seed,
        "gen_ai.request.stop_sequences": options.stop or None,
        "gen_ai.request.temperature": options.temperature,
        "gen_ai.request.top_p": options.top_p,
    }
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": run.setup.name or "agent",
        "gen_ai.conversation.id": run.id,
        **model,
        **{name: value for name, value in given.items() if value is not None},
    }
    with _OtelSpan(api, run, f"chat {model['gen_ai.request.model']}", "CLIENT", attributes) as span:
        ended = await reply
        span.record_reply(ended)
        return ended


async def _trace_call(api: Any, run: LiveRun, call: Call, work: Awaitable[CallOutcome]) -> CallOutcome:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": run.setup.name or "agent",
        "gen_ai.conversation.id": run.id,
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
    }
    with _OtelSpan(api, run, f"execute_tool {call.name}", "INTERNAL", attributes) as span:
        came = await work
        span.record_result(came.result)
        return came
