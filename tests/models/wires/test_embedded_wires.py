"""The embedded llama.cpp server's own wires, for real: chat completions, Responses and Anthropic's messages, with a call of a tool.

SmolLM2-135M knows no tools: a template that has them and examples in the conversation make it write a call, and the server's
grammar, which `required` puts in force, sees to it that the call is a correct one. Qwen2.5-Coder-1.5B
calls by itself, in whichever form: an agent reads them all.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import wire
from local import FOLDER, smollm
from properties import EXPLORE
from treadle import Agent, Limits, tool
from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Text, person_message
from treadle.core.requests import Options, Request
from treadle.models.downloads.catalogue import find_local_model
from treadle.models.downloads.storage import find_model_file
from treadle.models.llamacpp.child import LlamaSettings, close_children, start_child
from treadle.models.wires.anthropic import Anthropic
from treadle.models.wires.openai import OpenAI
from treadle.models.wires.responses import Responses
from wire import ADD, ask, calls_in, text_in

KEY = "k"
SERVE = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.chat_template = sys.argv[1], sys.argv[2]
params.n_ctx, params.n_parallel, params.verbosity, params.warmup = 1024, 1, 0, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.api_keys = ["k"]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""
TEMPLATE = r"""
{%- if tools %}{{- "<|im_start|>system\n<tools>" }}
{%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}
{{- "\n</tools><|im_end|>\n" }}{%- endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}
{{- "<|im_start|>user\n<tool_response>\n" + message.content + "\n</tool_response><|im_end|>\n" }}
{%- else %}
{{- "<|im_start|>" + message.role + "\n" }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- "<tool_call>\n{\"name\": \"" + call.function.name + "\", \"arguments\": " }}{{- call.function.arguments | tojson }}
{{- "}\n</tool_call>" }}
{%- endfor %}
{{- "<|im_end|>\n" }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\n" }}{%- endif %}
"""
EXAMPLE = (
    person_message("What is 1 plus 1?"),
    Message("model", (Call("c1", "add", {"a": 1, "b": 1}),)),
    Message("tools", (Result("c1", "add", "2"),)),
    Message("model", (Text("2"),)),
    person_message("What is 2 plus 2?"),
    Message("model", (Call("c2", "add", {"a": 2, "b": 2}),)),
    Message("tools", (Result("c2", "add", "4"),)),
    Message("model", (Text("4"),)),
    person_message("What is 3 plus 3?"),
)

every_wire = pytest.mark.parametrize("make", ["chat", "responses", "messages"])
both = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
WIRES = [("chat", True), ("chat", False), ("responses", True), ("messages", False), ("responses", False), ("messages", True)]
wires = pytest.mark.parametrize(("make", "stream"), WIRES if EXPLORE else WIRES[:4])  # each wire, and each way to read it


def model(make, address, key, stream):
    match make:
        case "chat":
            return OpenAI("smollm", base_url=f"{address}/v1", api_key=key, stream=stream)
        case "responses":
            return Responses("smollm", base_url=f"{address}/v1", api_key=key, stream=stream, reasons=False)
        case _:
            return Anthropic("smollm", base_url=address, api_key=key, stream=stream)


@pytest.fixture(scope="module")
def address():
    """A server of xllamacpp's that knows tools."""
    command = [sys.executable, "-c", SERVE, str(Path(smollm()).resolve()), TEMPLATE]
    quiet = {"stderr": subprocess.DEVNULL, "env": {**os.environ, "PYTHONPATH": ""}}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **quiet) as child:
        yield child.stdout.readline().strip()
        child.stdin.close()


@wires
def test_a_tool_is_called_and_its_result_is_told(address, make, stream):
    asked = model(make, address, KEY, stream)
    history = wire.request(*EXAMPLE).history
    first = ask(asked, Request("", history, (ADD,), options=Options(temperature=0, max_tokens=120, tool_choice="required")))
    (written,) = calls_in(first)
    call = Call(written.id, written.name, json.loads(written.text))
    assert (call.name, sorted(call.arguments), {type(value) for value in call.arguments.values()}) == ("add", ["a", "b"], {int})
    assert first[-1].finish == "calls"
    assert first[-1].usage.output_tokens > 0
    told = history.plus(Message("model", (call,)), Message("tools", (Result(call.id, "add", "6"),)))
    second = ask(asked, Request("", told, (ADD,), options=Options(temperature=0, max_tokens=12)))
    assert second[-1].usage.input_tokens + second[-1].usage.cache_read_tokens > first[-1].usage.output_tokens
    assert text_in(second)


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    """The embedded server with the 1.5B model, as agents get it. A gigabyte isn't fetched for a test."""
    pytest.importorskip("xllamacpp", reason="xllamacpp has no wheel for this system")
    known = find_local_model("qwen2.5-coder-1.5b")
    path = find_model_file(known) or next((each for each in (FOLDER / known.file,) if each.exists()), None)
    if path is None:
        pytest.skip("qwen2.5-coder-1.5b isn't here: TREADLE_MODELS=.models treadle models pull qwen2.5-coder-1.5b")
    yield start_child(LlamaSettings(str(path), context=1024, threads=0, slots=1, kept=str(tmp_path_factory.mktemp("kept"))))
    close_children()


@every_wire
@both
@pytest.mark.timeout(1200)
def test_an_agent_with_the_model_of_1_5_billion_calls_a_tool(qwen, make, stream):
    called = []

    @tool(effect="read")
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        called.append((a, b))
        return a + b

    options = Options(temperature=0, max_tokens=60)
    agent = Agent(model(make, qwen.address, qwen.key, stream), tools=[add], options=options, limits=Limits(rounds=1))
    result = agent.run_sync("How much is 17 plus 25? Use the tool.")
    assert called == [(17, 25)]
    assert result.text  # whatever so small a model makes of it


@both
def test_the_embedded_server_answers_over_the_messages_wire(tmp_path, stream):
    try:
        local = start_child(LlamaSettings(str(smollm()), context=512, threads=1, slots=1, kept=str(tmp_path)))
        deltas = ask(
            model("messages", local.address, local.key, stream),
            wire.request("Say hello.", options=Options(temperature=0, max_tokens=12)),
        )
    finally:
        close_children()
    assert text_in(deltas)
    assert deltas[-1].usage.output_tokens > 0
