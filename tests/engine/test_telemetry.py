"""Spans by the GenAI conventions, where OpenTelemetry is set up; nothing otherwise."""

import subprocess
import sys

import pytest

from treadle import Agent, Scripted, tool
from treadle.core.errors import ModelRefused
from treadle.core.requests import Options, Usage
from treadle.models.scripted import ScriptedReply, calls


@pytest.fixture(scope="module")
def exporter():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
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
    assert found["chat gpt-x"].attributes["error.type"] == "ModelRefused"
    assert found["invoke_agent clerk"].attributes["treadle.stopped"] == "failed"


def test_what_was_said_is_not_in_them(exporter):
    found = spans(exporter, calls(("stock", {"item": "PRIVATE"})), "ANSWER")
    text = "".join(span.to_json() for span in found.values())
    assert not [word for word in ("SECRET WORDS", "PRIVATE", "ANSWER") if word in text]


def test_without_it_nothing_is_imported():
    code = (
        "import sys; from treadle import Agent, Scripted; Agent(Scripted('a')).run_sync('Go.'); "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
