"""OpenTelemetry spans by the GenAI conventions, if a program has configured OpenTelemetry; nothing otherwise.

Only names, counts and kinds are recorded, never content. Nothing is imported here: a program that wants spans has imported
the API already.
"""

import sys
from types import TracebackType
from typing import Any, Protocol

from treadle.core.calls import Call, Result
from treadle.core.entries import Entry, Replied
from treadle.core.requests import Request
from treadle.engine.live import LiveRun


class TraceSpan(Protocol):
    """A traced operation."""

    def __enter__(self) -> "TraceSpan": ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def ended(self, what: Any) -> None:
        """Record how it ended: an entry, a result or a reason."""
        ...


class _NoSpan:
    """A span without tracing."""

    def __enter__(self) -> "_NoSpan":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def ended(self, what: Any) -> None:
        return None


_OFF = _NoSpan()


def _load_api() -> Any:
    """Return the API, if a program has imported it and set a provider."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None or type(api.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        return None
    return api


class _OtelSpan:
    """An OpenTelemetry span. All spans of a run are children of the run's own, also those started during a reply."""

    def __init__(self, api: Any, run: LiveRun, name: str, kind: str, attributes: dict[str, Any], root: bool = False) -> None:
        self._api = api
        self._run = run
        self._root = root
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
            self._span.set_attribute("error.type", kind.__name__)
            self._span.set_status(self._api.Status(self._api.StatusCode.ERROR))  # without the words of the error
        self._current.__exit__(kind, error, trace)

    def ended(self, what: Any) -> None:
        for name, value in _attributes_of(what).items():
            self._span.set_attribute(name, value)


def _attributes_of(what: Entry | Result | str) -> dict[str, Any]:
    match what:
        case Replied():
            return {
                "gen_ai.usage.input_tokens": what.usage.input_tokens,
                "gen_ai.usage.output_tokens": what.usage.output_tokens,
                "gen_ai.response.finish_reasons": (what.finish,),
                **({"gen_ai.response.model": what.model} if what.model else {}),
            }
        case Result():
            return {"error.type": what.problem} if what.problem else {}
        case str():
            return {"treadle.stopped": what}
        case _:
            return {}


def run_span(run: LiveRun) -> TraceSpan:
    """Return the span of a turn."""
    api = _load_api()
    if api is None:
        return _OFF
    name = run.setup.name or "agent"
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.conversation.id": run.id}
    return _OtelSpan(api, run, f"invoke_agent {name}", "INTERNAL", attributes, root=True)


def model_span(run: LiveRun, request: Request) -> TraceSpan:
    """Return the span of a request to a model."""
    api = _load_api()
    if api is None:
        return _OFF
    provider, _, model = run.setup.model.name.partition(":")
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": run.id,
    }
    if request.options.temperature is not None:
        attributes["gen_ai.request.temperature"] = request.options.temperature
    if request.options.max_tokens is not None:
        attributes["gen_ai.request.max_tokens"] = request.options.max_tokens
    return _OtelSpan(api, run, f"chat {model}", "CLIENT", attributes)


def call_span(run: LiveRun, call: Call) -> TraceSpan:
    """Return the span of a tool call."""
    api = _load_api()
    if api is None:
        return _OFF
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
    }
    return _OtelSpan(api, run, f"execute_tool {call.name}", "INTERNAL", attributes)
