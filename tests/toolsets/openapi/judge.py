"""A server that holds every request against the document, by a library of others, and answers as the document has it.

openapi-core judges. What it can't decode (`deepObject` that goes deeper than one level) is decoded here, and judged by jsonschema.
"""

import json
import re
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote

from aiohttp import web
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_schema_validator import OAS30WriteValidator, OAS31Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from werkzeug.datastructures import Headers, ImmutableMultiDict

from toolsets.openapi.maker import Maker

JSON_KINDS = ("*/*", "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json")


class Seen:
    """A request as openapi-core wants to see it."""

    def __init__(self, host: str, request: web.Request, body: bytes) -> None:
        self.host_url = host
        self.path, _, self.query = request.raw_path.partition("?")
        self.method = request.method.lower()
        self.body = body or None
        self.content_type = request.headers.get("content-type", "")
        given = parse_qsl(self.query, keep_blank_values=True)
        if self.path == "/space":  # openapi-core splits such lists before it decodes them
            given = [(name, value.replace(" ", "%20")) for name, value in given]
        query = ImmutableMultiDict(given)
        cookies = ImmutableMultiDict([(name, unquote(value)) for name, value in request.cookies.items()])
        self.parameters = RequestParameters(query=query, header=Headers(request.headers), cookie=cookies)


class Judge:
    """What was found wrong with the requests so far, in the words of who found it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.host = ""
        self.wrong: list[str] = []
        self.seen: list[Seen] = []
        self.library: OpenAPI | None = None

    def start(self, host: str) -> None:
        self.host = host
        document = {**self.document, "servers": [{"url": host}]}
        readers = dict.fromkeys(JSON_KINDS, lambda body, **_: json.loads(body))
        self.library = OpenAPI.from_dict(document, config=Config(spec_validator_cls=None, extra_media_type_deserializers=readers))
        self.paths = {path: re.compile(re.sub(r"\\\{.*?\\\}", "[^/]+", re.escape(path))) for path in document["paths"]}
        self.resource = DRAFT202012.create_resource(document)

    async def judged(self, request: web.Request) -> web.Response:
        seen = Seen(self.host, request, await request.read())
        self.seen.append(seen)
        assert self.library is not None
        told: dict[str, Any] = {}
        try:
            told = self._operation(seen)
            if _is_deep(told) and not seen.content_type.startswith("multipart/"):
                self.wrong += [f"{seen.method} {request.raw_path}: {each}" for each in self._deeply(seen, told)]
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # about parameters that the document calls old
                    self.library.validate_request(seen)
        except Exception as error:  # noqa: BLE001 - whatever it finds is what is asked for
            self.wrong.append(f"{seen.method} {request.raw_path} {seen.content_type} {(seen.body or b'')[:300]!r}: {_words(error)}")
        return self._answer(told)

    def _operation(self, seen: Seen) -> dict[str, Any]:
        fitting = [path for path, pattern in self.paths.items() if pattern.fullmatch(seen.path)]
        known = [path for path in fitting if seen.method in self.document["paths"][path]]
        item = self.document["paths"][min(known, key=lambda path: path.count("{"))]
        operation = item[seen.method]
        return {**operation, "parameters": [*item.get("parameters", []), *operation.get("parameters", [])]}

    def _answer(self, operation: dict[str, Any]) -> web.Response:
        """An answer that fits the document, where it describes one."""
        good = [status for status in operation.get("responses", {}) if status.startswith("2")]
        if not good:
            return web.json_response({})
        told = operation["responses"][good[0]]
        while "$ref" in told:
            told = self.found(told["$ref"])
        content = told.get("content", {})
        schema = next((media.get("schema", {}) for kind, media in content.items() if "json" in kind or kind == "*/*"), None)
        status = 200 if good[0] == "2XX" else int(good[0])
        if schema is None:
            return web.Response(status=status)
        return web.json_response(Maker(len(self.seen), self.document, more=0.3).make(schema), status=status)

    def found(self, reference: str) -> Any:
        return Maker(0, self.document)._found(reference)

    # queries and forms that are nested

    def _deeply(self, seen: Seen, operation: dict[str, Any]) -> list[str]:
        query = {each["name"]: each for each in operation["parameters"] if each["in"] == "query"}
        schema = {
            "type": "object",
            "properties": {name: each["schema"] for name, each in query.items()},
            "required": [name for name, each in query.items() if each.get("required")],
            "additionalProperties": False,
        }
        wrong = self._against(nested(seen.query), schema)
        form = operation.get("requestBody", {}).get("content", {}).get("application/x-www-form-urlencoded", {}).get("schema")
        if seen.body:
            wrong += self._against(nested(seen.body.decode()), form) if form else [f"a body {seen.body!r} where there is none"]
        return wrong

    def _against(self, value: Any, schema: Any) -> list[str]:
        read = self.read(value, schema)
        return [f"{each.message[:300]} at {list(each.path)}" for each in self._validator(schema).iter_errors(read)]

    def _validator(self, schema: Any) -> Any:
        kind = OAS30WriteValidator if self.document["openapi"].startswith("3.0") else OAS31Validator
        registry = Registry().with_resource("urn:document", self.resource)
        return kind(_absolute(schema), registry=registry)

    def read(self, value: Any, schema: Any) -> Any:
        """What text means by a schema."""
        while "$ref" in schema:
            schema = self.found(schema["$ref"])
        for keyword in ("anyOf", "oneOf"):
            for branch in schema.get(keyword, []):
                read = self.read(value, branch)
                if self._validator(branch).is_valid(read):
                    return read
        if isinstance(value, dict) and schema.get("type") == "array":
            return [self.read(value[key], schema.get("items", {})) for key in sorted(value, key=int)]
        if isinstance(value, dict):
            fields, others = schema.get("properties", {}), schema.get("additionalProperties")
            others = others if isinstance(others, dict) else {}
            return {name: self.read(inner, fields.get(name, others)) for name, inner in value.items()}
        if schema.get("type") in ("integer", "number", "boolean"):
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value


def nested(text: str) -> dict[str, Any]:
    """`a[b][0]=c` as `{"a": {"b": {"0": "c"}}}`."""
    out: dict[str, Any] = {}
    for key, value in parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)):
        first, *steps = key.replace("]", "").split("[")
        place = out
        for step in [first, *steps][:-1]:
            place = place.setdefault(step, {})
        assert [first, *steps][-1] not in place, f"{key} is there twice"
        place[[first, *steps][-1]] = value
    return out


def _is_deep(operation: dict[str, Any]) -> bool:
    return '"deepObject"' in json.dumps([operation.get("parameters"), operation.get("requestBody")])


def _absolute(schema: Any) -> Any:
    """References that lead into the document."""
    if isinstance(schema, list):
        return [_absolute(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: f"urn:document{value}" if key == "$ref" else _absolute(value) for key, value in schema.items()}


def _words(error: BaseException | None) -> str:
    said = []
    while error is not None:
        inner = [f"{each.message[:200]} at {list(each.path)}" for each in getattr(error, "schema_errors", None) or ()]
        said.append(f"{type(error).__name__}: {str(error)[:200]} {inner}")
        error = error.__cause__
    return " <- ".join(said)


@asynccontextmanager
async def judging(document: dict[str, Any]) -> AsyncIterator[Judge]:
    """The server, while it is entered."""
    judge = Judge(document)
    app = web.Application(client_max_size=10_000_000)
    app.router.add_route("*", "/{rest:.*}", judge.judged)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    judge.start(f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield judge
    finally:
        await runner.cleanup()
