"""What botocore knows of the Converse API: its service model, which bodies are checked by, and its client, which reads a mock."""

import re
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest


@cache
def service_model() -> Any:
    pytest.importorskip("botocore", reason="botocore isn't installed")
    from botocore.session import Session

    return Session().get_service_model("bedrock-runtime")


def problems_of_request(body: dict[str, Any], model: str = "anthropic.claude-sonnet-4-20250514-v1:0") -> list[str]:
    """What the service would refuse in the body of a request, by its model; nothing where the body is fine."""
    shape = service_model().operation_model("ConverseStream").input_shape
    from botocore.validate import ParamValidator

    report = ParamValidator().validate({"modelId": model, **body}, shape)
    return [*_departures(shape, {"modelId": model, **body}, "body"), *([report.generate_report()] if report.has_errors() else [])]


def problems_of_reply(body: dict[str, Any]) -> list[str]:
    """What isn't as the service model has it in the body of a whole reply."""
    return list(_departures(service_model().operation_model("Converse").output_shape, body, "body"))


def problems_of_event(event: dict[str, Any]) -> list[str]:
    """What isn't as the service model has it in an event of a stream."""
    shape = service_model().operation_model("ConverseStream").output_shape.members["stream"]
    return list(_departures(shape, event, "event"))


def _departures(shape: Any, value: Any, place: str) -> Any:
    """Where a value departs from its shape: botocore's own validator doesn't look at patterns, maxima, enumerations and unions."""
    if getattr(shape, "is_document_type", False):
        return
    match shape.type_name:
        case "structure":
            yield from _of_structure(shape, value, place)
        case "list":
            yield from _of_size(shape, len(value), place)
            for index, item in enumerate(value):
                yield from _departures(shape.member, item, f"{place}[{index}]")
        case "map":
            for name, item in value.items():
                yield from _departures(shape.value, item, f"{place}.{name}")
        case "string":
            yield from _of_text(shape, value, place)
        case "blob":
            if re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", value) is None:
                yield f"{place} is no base64"
        case "integer" | "long" | "float":
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield f"{place} is no number"
            else:
                yield from _of_size(shape, value, place)
        case "boolean":
            if not isinstance(value, bool):
                yield f"{place} is neither true nor false"
        case kind:
            raise AssertionError(f"{kind} isn't known here")


def _of_structure(shape: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        yield f"{place} is no object"
        return
    yield from (f"{place} lacks {name}" for name in shape.required_members if name not in value)
    yield from (f"{place} has an unknown {name}" for name in value if name not in shape.members)
    if shape.is_tagged_union and len(value) != 1:
        yield f"{place} has {len(value)} members of a union"
    for name in value.keys() & shape.members.keys():
        yield from _departures(shape.members[name], value[name], f"{place}.{name}")


def _of_text(shape: Any, value: Any, place: str) -> Any:
    if not isinstance(value, str):
        yield f"{place} is no text"
        return
    yield from _of_size(shape, len(value), place)
    if shape.enum and value not in shape.enum:
        yield f"{place} is {value!r}, none of {shape.enum}"
    pattern = shape.metadata.get("pattern")
    if pattern and re.fullmatch(pattern, value) is None:
        yield f"{place} is {value!r}, which doesn't fit {pattern}"


def _of_size(shape: Any, size: float, place: str) -> Any:
    if size < shape.metadata.get("min", size) or size > shape.metadata.get("max", size):
        yield f"{place} is {size}, out of range"


@contextmanager
def botocore_client(url: str) -> Any:
    """A client of botocore that asks this server, once for each call."""
    pytest.importorskip("botocore", reason="botocore isn't installed")
    from botocore.config import Config
    from botocore.session import Session

    client = Session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="test-key",
        config=Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    try:
        yield client
    finally:
        client.close()
