"""Configures OpenTelemetry by its standard `OTEL_*` variables, if they name an exporter or an endpoint. `telemetry` calls it once.

Providers that a program has set itself are left alone. Spans, metrics and logs are exported by threads
of the SDK, and flushed when the process exits, which a collector that doesn't respond can't delay for long. The log is exported
only where a variable of its own asks for it: unlike spans and metrics, its messages can quote what a tool or a model said.
"""

import atexit
import logging
import os
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any, Literal

from treadle.core.log import log
from treadle.guard.redaction import Redactor

Signal = Literal["traces", "metrics", "logs"]

EXIT_SECONDS = 3.0  # for which the exit of the process waits for a collector

INSTALL = "pip install 'treadle[telemetry]'"
_OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc", "http/json": "otlp_json_http"}
_PACKAGES = {"otlp_proto_http": INSTALL} | {
    name: f"pip install opentelemetry-exporter-{name.replace('_', '-')}" for name in ("otlp_proto_grpc", "otlp_json_http")
}


_exiting = threading.Event()


def configure_from_environment() -> None:
    """Set the global providers as the environment says. What can't be exported is said once, as a warning."""
    chosen = {signal: select_exporters(signal, os.environ) for signal in ("traces", "metrics", "logs")}
    if not any(chosen.values()) or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return
    try:
        from opentelemetry.sdk import trace as _  # noqa: F401 - only whether it is there
    except ImportError:
        warnings.warn(f"OpenTelemetry is switched on by OTEL_* variables, but not installed: {INSTALL}", stacklevel=2)
        return
    _configure_traces(chosen["traces"])
    _configure_metrics(chosen["metrics"])
    _configure_logs(chosen["logs"])


def select_exporters(signal: Signal, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the exporters of a signal, by the names of their entry points; an endpoint alone stands for OTLP."""
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    endpoints = (own,) if signal == "logs" else ("OTEL_EXPORTER_OTLP_ENDPOINT", own)
    default = "otlp" if any(environment.get(name) for name in endpoints) else "none"
    names = (environment.get(f"OTEL_{signal.upper()}_EXPORTER") or default).split(",")
    protocols = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((environment[name].strip() for name in protocols if environment.get(name)), "http/protobuf")
    resolved = [_OTLP.get(protocol, protocol) if name.strip() == "otlp" else name.strip() for name in names]
    return tuple([name for name in resolved if name and name.lower() != "none"])


def _configure_traces(names: tuple[str, ...]) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporters = _load_exporters("traces", names)
    if not exporters or type(trace.get_tracer_provider()).__name__ != "ProxyTracerProvider":
        return
    made = [exporter() for exporter in exporters]
    provider = TracerProvider(resource=_describe_service(), shutdown_on_exit=False)
    for exporter in made:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _shut_down_at_exit(provider, made)


def _configure_metrics(names: tuple[str, ...]) -> None:
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

    exporters = _load_exporters("metrics", names)
    if not exporters or type(metrics.get_meter_provider()).__name__ != "_ProxyMeterProvider":
        return
    made = [exporter() for exporter in exporters]
    readers = [each if isinstance(each, MetricReader) else PeriodicExportingMetricReader(each) for each in made]
    provider = MeterProvider(readers, resource=_describe_service(), shutdown_on_exit=False)
    metrics.set_meter_provider(provider)
    _shut_down_at_exit(provider, made)


def _configure_logs(names: tuple[str, ...]) -> None:
    exporters = _load_exporters("logs", names) if names else []
    if not exporters:
        return
    from opentelemetry._logs import get_logger_provider, set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    if type(get_logger_provider()).__name__ != "ProxyLoggerProvider":
        return
    made = [exporter() for exporter in exporters]
    provider = LoggerProvider(resource=_describe_service(), shutdown_on_exit=False)
    for exporter in made:
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    set_logger_provider(provider)
    log.addHandler(_OtelHandler(provider.get_logger("treadle")))
    _shut_down_at_exit(provider, made)


class _OtelHandler(logging.Handler):
    """Logging handler that exports records, with secrets masked and without tracebacks."""

    def __init__(self, logger: Any) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Export a record."""
        from opentelemetry._logs import LogRecord, SeverityNumber

        attributes: dict[str, Any] = {"logger.name": record.name, **getattr(record, "fields", {})}
        if record.exc_info and record.exc_info[0] is not None:
            attributes["exception.type"] = record.exc_info[0].__name__
        self._logger.emit(
            LogRecord(
                timestamp=int(record.created * 1e9),
                severity_text=record.levelname,
                severity_number=SeverityNumber(min(max(record.levelno // 10, 1), 5) * 4 + 1),
                body=Redactor().text(record.getMessage()),
                attributes={name: value for name, value in attributes.items() if value is not None},
            )
        )


def _shut_down_at_exit(provider: Any, exporters: list[Any]) -> None:
    """Flush at the exit of the process; an exporter that still tries after a while is shut down, which ends its tries."""

    def stop_late() -> None:
        _exiting.wait()
        time.sleep(EXIT_SECONDS)
        for exporter in exporters:
            exporter.shutdown()

    def shut_down() -> None:
        _exiting.set()
        provider.shutdown()

    threading.Thread(target=stop_late, name="otel-exit", daemon=True).start()  # now: no thread can be started at the exit
    atexit.register(shut_down)


def _load_exporters(signal: Signal, names: tuple[str, ...]) -> list[Any]:
    """Return the exporters' classes, which their packages declare as entry points."""
    from importlib.metadata import entry_points  # slow to import, and needed only here

    found: list[Any] = []
    for name in names:
        entry = next(iter(entry_points(group=f"opentelemetry_{signal}_exporter", name=name)), None)
        if entry is None:
            how = _PACKAGES.get(name, "install the package that has it, or choose another one")
            warnings.warn(f"OpenTelemetry's exporter {name} isn't installed, so {signal} aren't exported: {how}", stacklevel=2)
        else:
            found.append(entry.load())
    return found


def _describe_service() -> Any:
    """Return the resource as the environment describes it; a service without a name is called treadle."""
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        return resource.merge(Resource({SERVICE_NAME: "treadle"}))
    return resource
