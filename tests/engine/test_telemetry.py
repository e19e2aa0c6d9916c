"""Spans and metrics by the GenAI conventions, where OpenTelemetry is set up; nothing otherwise."""

import subprocess
import sys

import pytest

import wire
from treadle import Agent, Limits, tool
from treadle.core.errors import ModelRefused, ModelUnavailable
from treadle.core.requests import Options, ReplyEnded, TextDelta, Usage
from treadle.models.scripted import ScriptedReply, calls
from treadle.testing import Scripted


@pytest.fixture(scope="module")
def exporter():
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    exporter.metrics = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([exporter.metrics]))
    return exporter


@tool(effect="read")
async def stock(item: str) -> int:
    """Stock."""
    if item == "none":
        raise ValueError("no such item")
    return 40


def spans(exporter, *replies, **settings):
    exporter.clear()
    Agent(Scripted(*replies, name="openai:gpt-x"), tools=[stock], name="clerk", **settings).run_sync("SECRET WORDS", run_id="r")
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_run_its_requests_and_its_calls_are_spans(exporter):
    first = ScriptedReply(calls=calls(("stock", {"item": "A"})).calls, usage=Usage(1, 0, 11, 7))
    found = spans(exporter, first, "40", options=Options(temperature=0.5, max_tokens=9))
    assert set(found) == {"invoke_agent clerk", "chat gpt-x", "execute_tool stock"}
    run, call = found["invoke_agent clerk"], found["execute_tool stock"]
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["treadle.stopped"] == "answered"
    assert call.attributes["gen_ai.tool.name"] == "stock"
    assert call.parent.span_id == run.context.span_id
    chats = [span for span in exporter.get_finished_spans() if span.name == "chat gpt-x"]
    assert chats[0].attributes["gen_ai.usage.input_tokens"] == 11
    assert chats[0].attributes["gen_ai.provider.name"] == "openai"
    assert chats[0].attributes["gen_ai.request.temperature"] == 0.5
    assert all(span.parent.span_id == run.context.span_id for span in chats)


def test_problems_and_failures_are_marked(exporter):
    found = spans(exporter, calls(("stock", {"item": "none"})), ModelRefused("no"))
    assert found["execute_tool stock"].attributes["error.type"] == "raised"
    assert not found["execute_tool stock"].status.is_ok
    assert found["chat gpt-x"].attributes["error.type"] == "ModelRefused"
    assert found["invoke_agent clerk"].attributes["error.type"] == "failed"
    assert found["invoke_agent clerk"].attributes["treadle.stopped"] == "failed"


def test_what_was_said_is_not_in_them(exporter):
    found = spans(exporter, calls(("stock", {"item": "PRIVATE"})), "ANSWER")
    text = "".join(span.to_json() for span in found.values())
    assert not [word for word in ("SECRET WORDS", "PRIVATE", "ANSWER") if word in text]


def test_without_it_nothing_is_imported():
    code = (
        "import sys; from treadle import Agent; from treadle.testing import Scripted; Agent(Scripted('a')).run_sync('Go.'); "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def chats(exporter):
    return [dict(span.attributes) for span in exporter.get_finished_spans() if span.name.startswith("chat ")]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("done", "stop"), ("length", "length"), ("filtered", "content_filter"), ("broken", "error"), ("paused", "pause_turn")],
)
def test_finish_reasons_are_the_conventions(exporter, finish, reason):
    spans(exporter, ScriptedReply(text="So.", finish=finish), "Yes.")
    assert chats(exporter)[0]["gen_ai.response.finish_reasons"] == (reason,)


def test_a_reply_with_calls_ends_with_tool_calls(exporter):
    spans(exporter, calls(("stock", {"item": "A"})), "40")
    assert [chat["gen_ai.response.finish_reasons"] for chat in chats(exporter)] == [("tool_calls",), ("stop",)]


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama", "responses", "google"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_response_model_is_what_the_server_states(exporter, name, stream):
    exporter.clear()
    with wire.WireServer(["Hello."]) as server:
        Agent(wire.model(server, name, stream=stream)).run_sync("Go.")
    (chat,) = chats(exporter)
    assert (chat["gen_ai.request.model"], chat["gen_ai.response.model"]) == ("wired", "wired-0613")


@pytest.mark.parametrize(
    ("kind", "provider"),
    [
        ("openai", "openai"),
        ("anthropic", "anthropic"),
        ("google", "gcp.gemini"),
        ("vertex", "gcp.vertex_ai"),
        ("bedrock", "aws.bedrock"),
        ("azure", "azure.ai.openai"),
        ("mistral", "mistral_ai"),
        ("xai", "x_ai"),
        ("groq", "groq"),
        ("deepseek", "deepseek"),
        ("perplexity", "perplexity"),
    ],
)
def test_providers_have_the_conventions_names(exporter, kind, provider):
    from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import GenAiProviderNameValues

    exporter.clear()
    Agent(Scripted("Hi.", name=f"{kind}:m")).run_sync("Go.")
    assert chats(exporter)[0]["gen_ai.provider.name"] == provider
    assert provider in {each.value for each in GenAiProviderNameValues}


def test_every_name_is_one_of_the_conventions(exporter):
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
    from opentelemetry.semconv.attributes import error_attributes

    usage = Usage(1, 0, 11, 7, 5, 2)
    options = Options(temperature=0.5, max_tokens=9, top_p=0.5, seed=3, stop=("END",))
    spans(exporter, ScriptedReply(calls=calls(("stock", {"item": "none"})).calls, usage=usage), "40", options=options)
    known = {value for module in (gen_ai_attributes, error_attributes) for value in vars(module).values() if isinstance(value, str)}
    used = {name for span in exporter.get_finished_spans() for name in span.attributes}
    assert used - known == {"treadle.stopped"}
    operations = {each.value for each in gen_ai_attributes.GenAiOperationNameValues}
    assert {span.attributes["gen_ai.operation.name"] for span in exporter.get_finished_spans()} < operations


def test_another_model_that_took_over_is_named(exporter):
    other = [TextDelta("Hi."), ReplyEnded("done", Usage(1, 0, 4, 2), "anthropic:claude-y", response_model="claude-y-1")]
    spans(exporter, other)
    (chat,) = chats(exporter)
    assert (chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == ("anthropic", "claude-y")
    assert chat["gen_ai.response.model"] == "claude-y-1"


def points(exporter, name):
    """What was measured since the last time, by attributes."""
    data = exporter.metrics.get_metrics_data()
    found = [metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics]
    (metric,) = [metric for metric in found if metric.name == name]
    return metric, {tuple(sorted(point.attributes.items())): point for point in metric.data.data_points}


def test_tokens_and_durations_are_measured(exporter):
    from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

    model = Scripted(ScriptedReply("Hi.", usage=Usage(1, 0, 11, 7)), name="openai:measured")
    Agent(model).run_sync("Go.")
    common = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "measured"}
    metric, tokens = points(exporter, gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE)
    assert (metric.unit, next(iter(tokens.values())).explicit_bounds[:4]) == ("{token}", (1, 4, 16, 64))
    assert {kind: tokens[tuple(sorted({**common, "gen_ai.token.type": kind}.items()))].sum for kind in ("input", "output")} == {
        "input": 11,
        "output": 7,
    }
    metric, durations = points(exporter, gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    point = durations[tuple(sorted(common.items()))]
    assert (metric.unit, point.count, point.explicit_bounds[:3]) == ("s", 1, (0.01, 0.02, 0.04))


def test_a_request_that_failed_is_measured_as_such(exporter):
    quick = Limits(tries=2, backoff=0.0)
    Agent(Scripted(ModelUnavailable("busy"), "Hi.", name="openai:flaky"), limits=quick).run_sync("Go.")
    _, durations = points(exporter, "gen_ai.client.operation.duration")
    flaky = [dict(names) for names in durations if dict(names)["gen_ai.request.model"] == "flaky"]
    assert [names.get("error.type") for names in flaky] == ["ModelUnavailable", None]
