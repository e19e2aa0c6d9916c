"""Execution of a call: its request sent, its response parsed, and if more pages were requested, those too.

Where a tool's own schema had to be shortened, arguments are validated against the full one first.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import BadArguments
from treadle.core.tool import ToolResult
from treadle.http_guard.client import Client, GuardedResponse
from treadle.http_guard.origins import parse_target
from treadle.tools.text import try_parse_json
from treadle.tools.validate import InvalidArguments, Validator, format_issues
from treadle.toolsets.openapi import paging
from treadle.toolsets.openapi.bodies import encode_body
from treadle.toolsets.openapi.document import OpenApiDocument
from treadle.toolsets.openapi.operations import OpenApiOperation
from treadle.toolsets.openapi.parameters import (
    OpenApiParameter,
    QueryPairs,
    format_header_value,
    format_path_value,
    format_query_value,
)
from treadle.toolsets.openapi.results import ParsedResponse, ResponseContext, mask_caller_secrets, parse_openapi_response
from treadle.toolsets.openapi.security import RequestCredentials, SecuritySchemes


class OpenApiRequest(Struct, frozen=True):
    """A request, ready to be sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"Request({self.method!r})"  # the rest holds secrets


def build_openapi_request(
    operation: OpenApiOperation, arguments: Mapping[str, Any], attached: RequestCredentials, headers: Mapping[str, str], key: str
) -> OpenApiRequest:
    """Build the request for a call of an operation."""
    placed = {where: _collect_given(operation, where, arguments) for where in ("query", "header", "cookie")}
    query = [*attached.query, *[pair for each, value in placed["query"] for pair in _build_pairs(each, value)]]
    cookies = [
        *attached.cookies,
        *[f"{name}={text}" for each, value in placed["cookie"] for name, text in _build_pairs(each, value)],
    ]
    body = None if operation.body is None else encode_body(operation.body, arguments)
    settled = {name.lower() for name in headers} | {"cookie"}  # what the operator says goes before what a model says
    given = {each.name: _to_header(each, value) for each, value in placed["header"] if each.name.lower() not in settled}
    sent = {"Accept": operation.accepts, **given, **headers}
    if cookies:
        sent["Cookie"] = "; ".join(cookies)
    if body is not None:
        sent["Content-Type"] = body[0]
    if key and operation.tool.effect != "read":
        sent["Idempotency-Key"] = key
    url = operation.server + _build_path(operation, arguments) + _to_query_string(query)
    return OpenApiRequest(operation.method, url, {**sent, **attached.headers}, None if body is None else body[1])


def _collect_given(operation: OpenApiOperation, where: str, arguments: Mapping[str, Any]) -> list[tuple[OpenApiParameter, Any]]:
    """Return the given parameters of a location. A null value counts as not given."""
    here = [each for each in operation.parameters if each.where == where]
    return [(each, arguments[each.argument]) for each in here if arguments.get(each.argument) is not None]


def _build_path(operation: OpenApiOperation, arguments: Mapping[str, Any]) -> str:
    path = operation.path
    for each in operation.parameters:
        if each.where == "path":
            value = arguments.get(each.argument)
            style, given = ("simple", _to_json(value)) if each.json else (each.style, value)
            path = path.replace(f"{{{each.name}}}", format_path_value(each.name, given, style, explode=each.explode))
    return path


def _build_pairs(each: OpenApiParameter, value: Any) -> QueryPairs:
    if each.json:
        return format_query_value(each.name, _to_json(value), "form", explode=False)
    if value in ([], {}):  # none of something is not to ask for it
        return []
    return format_query_value(each.name, value, each.style, explode=each.explode, reserved=each.reserved)


def _to_header(each: OpenApiParameter, value: Any) -> str:
    return _to_json(value) if each.json else format_header_value(value, explode=each.explode)


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _to_query_string(pairs: QueryPairs) -> str:
    return "?" + "&".join([f"{name}={value}" for name, value in pairs]) if pairs else ""


class ArgumentValidators:
    """The validators of the operations that need one, built at the first call of each."""

    def __init__(self) -> None:
        self._validators: dict[str, Validator] = {}

    def check(self, operation: OpenApiOperation, arguments: Mapping[str, Any]) -> None:
        """Raise a problem that names every field, where arguments are invalid."""
        if operation.exact is None:
            return
        name = operation.tool.name
        if name not in self._validators:
            self._validators[name] = Validator(operation.exact)
        found = self._validators[name].check(dict(arguments))
        if isinstance(found, InvalidArguments):
            raise BadArguments(format_issues(found.issues, name))


_MORE = f"There is more: ask again with `pages` for up to {paging.MAX_PAGES} pages, or for the next page."


class OpenApiCaller:
    """Makes the calls of one document's tools. `headers` are sent with every request."""

    def __init__(
        self, document: OpenApiDocument, security: SecuritySchemes, client: Client, headers: Mapping[str, str], *, trusted: bool
    ) -> None:
        self.client = client
        self._document = document
        self._security = security
        self._headers = headers
        self._trusted = trusted
        self._checks = ArgumentValidators()

    async def call(self, operation: OpenApiOperation, call: Call, context: RunContext[Any]) -> ToolResult:
        """Return the result of a call, without secrets: as text, and where that is JSON as data."""
        self._checks.check(operation, call.arguments)
        attached = self._security.attach(operation.security, context.credentials)
        arguments, pages = _split_pages(operation, call.arguments)
        work = _PendingCall(
            self.client, self._document, operation, self._response_context(operation, attached), attached, self._headers, context
        )
        return await work.result(arguments, pages)

    def _response_context(self, operation: OpenApiOperation, attached: RequestCredentials) -> ResponseContext:
        tool = operation.tool
        return ResponseContext(
            tool.name, operation.method, operation.responses, tool.effect == "read", self._trusted, attached.secrets
        )


def _split_pages(operation: OpenApiOperation, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the operation's own arguments, and how many pages are wanted."""
    own = dict(arguments)
    return own, own.pop(paging.ARGUMENT, 1) if operation.pages else 1


class _PendingCall(Struct, frozen=True):
    """One call with its context."""

    client: Client
    document: OpenApiDocument
    operation: OpenApiOperation
    asked: ResponseContext
    attached: RequestCredentials
    headers: Mapping[str, str]
    context: RunContext[Any]

    async def result(self, arguments: dict[str, Any], wanted: int) -> ToolResult:
        """Fetch up to `wanted` pages and join them; add a note where there are more."""
        answer, first = await self._send(self._build_request(arguments, self.context.key))
        if not first.is_data:
            return ToolResult(self._mask(first.text))
        pages = [first.value]
        size = len(answer.body)
        following = self._find_next(answer, arguments)
        while following is not None and len(pages) < wanted and size < self.client.limit:
            arguments = {**arguments, **following.arguments}
            self.context.progress(f"page {len(pages) + 1}")
            answer, page = await self._send(self._build_page_request(answer, following, arguments))
            if not page.is_data or page.value == pages[-1] or not paging.find_page_items(page.value):
                following = None
                break
            pages.append(page.value)
            size += len(answer.body)
            following = self._find_next(answer, arguments)
        joined = self._mask(msgspec.json.encode(paging.join_pages(pages)).decode())
        more = f"\n{_MORE}" if following is not None and following.certain else ""
        return ToolResult(f"{joined}{more}", try_parse_json(joined))

    def _mask(self, text: str) -> str:
        return mask_caller_secrets(text, self.attached.secrets)

    async def _send(self, request: OpenApiRequest) -> tuple[GuardedResponse, ParsedResponse]:
        answer = await self.client.send(request.method, request.url, headers=request.headers, body=request.body)
        return answer, parse_openapi_response(answer, self.asked, self.document)

    def _build_request(self, arguments: Mapping[str, Any], key: str) -> OpenApiRequest:
        return build_openapi_request(self.operation, arguments, self.attached, self.headers, key)

    def _find_next(self, answer: GuardedResponse, arguments: Mapping[str, Any]) -> paging.NextPage | None:
        """Return where the next page is, if there is one that may be requested."""
        if not self.operation.pages:
            return None
        whole = msgspec.json.decode(answer.body)  # what says where the next page is may not be described
        found = paging.find_next_page(answer, whole, self.operation.parameters, arguments)
        here = parse_target(answer.url)
        there = here.towards(found.url) if found is not None and found.url else here
        return found if there is not None and there.origin == here.origin else None

    def _build_page_request(
        self, answer: GuardedResponse, following: paging.NextPage, arguments: Mapping[str, Any]
    ) -> OpenApiRequest:
        """Build the request for the next page. A URL gets the caller's key where that belongs there."""
        request = self._build_request(arguments, "")
        if not following.url:
            return request
        there = parse_target(answer.url).towards(following.url)
        assert there is not None, "it was looked at before"
        names = {name for name, _ in self.attached.query}
        path, _, query = there.rest.partition("?")
        kept = [part for part in query.split("&") if part and part.partition("=")[0] not in names]
        pairs = [*kept, *[f"{name}={secret}" for name, secret in self.attached.query]]
        return OpenApiRequest("GET", f"{there.origin}{path}" + ("?" + "&".join(pairs) if pairs else ""), request.headers)
