"""OpenTelemetry, switched on by its standard variables: in a program, by `treadle ask`, and in the server."""

import gzip
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from cli.forkserver import ran
from cli.running import KEPT, asks, script, start, treadle
from treadle.engine.otel_setup import select_exporters

PROGRAM = (
    "from treadle import Agent; from treadle.testing import Scripted; "
    "print(Agent(Scripted('Hello.', name='openai:gpt-x')).run_sync('Go.').output)"
)
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Collector:
    """What a collector got by OTLP over HTTP."""

    def __init__(self, url: str, requests: list[tuple[str, bytes]]) -> None:
        self.url = url
        self.requests = requests

    @property
    def resources(self):
        """The attributes of whoever sent spans."""
        sent = [ExportTraceServiceRequest.FromString(body) for path, body in self.requests if path == "/v1/traces"]
        return [resource for request in sent for resource in request.resource_spans]

    @property
    def services(self) -> set[str]:
        return {plain(each.resource.attributes)["service.name"] for each in self.resources}

    @property
    def spans(self):
        return [span for resource in self.resources for scope in resource.scope_spans for span in scope.spans]

    @property
    def metrics(self):
        sent = [ExportMetricsServiceRequest.FromString(body) for path, body in self.requests if path == "/v1/metrics"]
        scopes = [scope for request in sent for resource in request.resource_metrics for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    @property
    def logs(self):
        sent = [ExportLogsServiceRequest.FromString(body) for path, body in self.requests if path == "/v1/logs"]
        scopes = [scope for request in sent for resource in request.resource_logs for scope in resource.scope_logs]
        return [record for scope in scopes for record in scope.log_records]


def plain(attributes):
    return {each.key: each.value.string_value for each in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    requests: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Collector(f"http://127.0.0.1:{server.server_port}", requests)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def collector():
    with collecting() as found:
        yield found


def program(code=PROGRAM, **env):
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    return ran("-c", code, env={**kept, **env})


@pytest.mark.parametrize(
    ("environment", "traces", "metrics"),
    [
        ({}, (), ()),
        ({"OTEL_SERVICE_NAME": "shop"}, (), ()),
        ({ENDPOINT: "http://c"}, ("otlp_proto_http",), ("otlp_proto_http",)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, ("otlp_proto_http",), ()),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c"}, (), ("otlp_proto_http",)),
        ({ENDPOINT: "http://c", "OTEL_METRICS_EXPORTER": "none"}, ("otlp_proto_http",), ()),
        ({ENDPOINT: "http://c", "OTEL_TRACES_EXPORTER": "None"}, (), ("otlp_proto_http",)),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, ("console", "otlp_proto_http"), ()),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("otlp_proto_grpc",), ()),
        ({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, ("otlp_json_http",), ("otlp_proto_http",)),
        ({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "morse"}, ("morse",), ("morse",)),
    ],
)
def test_the_variables_name_the_exporters(environment, traces, metrics):
    assert (select_exporters("traces", environment), select_exporters("metrics", environment)) == (traces, metrics)


def test_a_program_exports_by_its_environment_alone(collector):
    done = program(**{ENDPOINT: collector.url, "OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "team=green"})
    assert (done.stdout, done.stderr, done.returncode) == ("Hello.\n", "", 0)
    assert [span.name for span in collector.spans] == ["chat gpt-x", "invoke_agent agent"]
    assert collector.services == {"shop"}
    assert plain(collector.resources[0].resource.attributes)["team"] == "green"
    assert set(collector.metrics) == {"gen_ai.client.operation.duration"}  # a script counts no tokens


LOGGING = "from treadle.core.log import log; log.error('Key %s is wrong.', 'sk-ant-REDACTED' + 'a' * 80)"


def test_the_log_is_exported_where_a_variable_of_its_own_asks_for_it(collector):
    done = program(f"{PROGRAM}; {LOGGING}", **{ENDPOINT: collector.url})
    assert (done.returncode, collector.logs) == (0, [])
    program(f"{PROGRAM}; {LOGGING}", **{ENDPOINT: collector.url, "OTEL_LOGS_EXPORTER": "otlp", "OTEL_TRACES_EXPORTER": "none"})
    (record,) = [record for record in collector.logs if record.severity_text == "ERROR"]
    assert record.body.string_value.startswith("Key ")
    assert "aaaa" not in record.body.string_value
    assert plain(record.attributes)["logger.name"] == "treadle"


def test_each_signal_has_its_own_exporter(collector):
    program(**{ENDPOINT: collector.url, "OTEL_METRICS_EXPORTER": "none"})
    assert {path for path, _ in collector.requests} == {"/v1/traces"}
    collector.requests.clear()
    program(**{ENDPOINT: collector.url, "OTEL_TRACES_EXPORTER": "none"})
    assert {path for path, _ in collector.requests} == {"/v1/metrics"}
    assert collector.services == set()


def test_a_program_without_a_name_is_called_treadle(collector):
    program(**{ENDPOINT: collector.url})
    assert collector.services == {"treadle"}


def test_the_console_exporter_writes_to_the_console():
    done = program(OTEL_TRACES_EXPORTER="console")
    assert '"name": "invoke_agent agent"' in done.stdout


def test_a_disabled_sdk_exports_nothing(collector):
    done = program(**{ENDPOINT: collector.url, "OTEL_SDK_DISABLED": "true"})
    assert (done.stdout, done.stderr, collector.requests) == ("Hello.\n", "", [])


def test_providers_that_a_program_has_set_are_left_alone(collector):
    own = (
        "from opentelemetry import metrics, trace; from opentelemetry.sdk.metrics import MeterProvider; "
        "from opentelemetry.sdk.trace import TracerProvider; "
        "trace.set_tracer_provider(TracerProvider()); metrics.set_meter_provider(MeterProvider()); "
    )
    done = program(own + PROGRAM, **{ENDPOINT: collector.url})
    assert (done.stdout, done.stderr, collector.requests) == ("Hello.\n", "", [])


def test_without_the_extra_one_sentence_says_what_to_install(collector):
    twice = f"import sys; sys.modules['opentelemetry.sdk'] = None; {PROGRAM}; {PROGRAM.rpartition('; ')[2]}"
    done = program(twice, **{ENDPOINT: collector.url})
    assert (done.stdout, done.returncode, collector.requests) == ("Hello.\nHello.\n", 0, [])
    assert done.stderr.count("but not installed: pip install 'treadle[telemetry]'") == 1


def test_an_exporter_that_is_missing_is_named(collector):
    done = program(**{ENDPOINT: collector.url, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", "OTEL_METRICS_EXPORTER": "morse"})
    assert (done.stdout, done.returncode, collector.requests) == ("Hello.\n", 0, [])
    assert (
        "otlp_proto_grpc isn't installed, so traces aren't exported: pip install opentelemetry-exporter-otlp-proto-grpc"
        in done.stderr
    )
    assert "morse isn't installed, so metrics aren't exported: install the package that has it" in done.stderr


def test_a_collector_that_is_not_there_stops_no_run():
    done = program(**{ENDPOINT: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"})
    assert (done.stdout, done.returncode) == ("Hello.\n", 0)


def test_without_the_variables_nothing_is_imported():
    code = f"{PROGRAM}; import sys; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_line_exports_too(tmp_path, collector):
    box = tmp_path / "box.py"
    box.write_text("from treadle import tool\n\n\n@tool(effect='read')\ndef look(at: str) -> str:\n    'Look.'\n    return at\n")
    model = script(tmp_path, asks(("look", {"at": "it"})), "Seen.")
    done = treadle(tmp_path, "ask", "Go.", "-m", model, "--tools", str(box), **{ENDPOINT: collector.url})
    assert (done.code, done.out.strip()) == (0, "Seen.")
    assert sorted(span.name.partition(" ")[0] for span in collector.spans) == ["chat", "chat", "execute_tool", "invoke_agent"]
    assert len({span.trace_id for span in collector.spans}) == 1


def test_the_server_exports_too(tmp_path, collector):
    words = ("serve", "--port", "0", "--no-token", "-m", script(tmp_path, "Hello."))
    with start(tmp_path, *words, OTEL_SERVICE_NAME="desk", **{ENDPOINT: collector.url}) as server:
        try:
            url = server.stdout.readline().strip()
            body = json.dumps({"assistant": "coding", "message": "Hi."}).encode()
            request = urllib.request.Request(
                f"{url}api/runs", body, {"Content-Type": "application/json", "Accept": "text/event-stream"}
            )
            with urllib.request.urlopen(request, timeout=120) as response:
                assert b"Hello." in response.read()
            server.terminate()
            server.communicate(timeout=120)
        finally:
            server.kill()
    assert collector.services == {"desk"}
    assert sorted(span.name.partition(" ")[0] for span in collector.spans) == ["chat", "invoke_agent"]


def test_the_command_line_says_in_one_line_what_is_missing(tmp_path, collector):
    env = {ENDPOINT: collector.url, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", "OTEL_METRICS_EXPORTER": "none"}
    done = treadle(tmp_path, "ask", "Go.", "-m", script(tmp_path, "Hello."), **env)
    assert (done.code, done.out.strip(), collector.requests) == (0, "Hello.", [])
    (line,) = [line for line in done.err.splitlines() if "OpenTelemetry" in line]
    assert line.startswith(
        "treadle: OpenTelemetry's exporter otlp_proto_grpc isn't installed, so traces aren't exported: pip install "
    )
