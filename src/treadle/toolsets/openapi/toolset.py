"""`openapi_tools`: the operations of an OpenAPI document as a toolset. A document with a URL is fetched when it is entered."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Effect, Retry, Trust
from treadle.core.context import RunContext
from treadle.core.errors import SettingsError, ToolProblem
from treadle.core.tool import Tool, ToolResult
from treadle.http_guard.client import Client
from treadle.http_guard.origins import HttpOrigin, parse_target
from treadle.http_guard.problems import HttpProblem
from treadle.http_guard.resolver import HostLookup, resolve_host
from treadle.toolsets.openapi.caller import OpenApiCaller
from treadle.toolsets.openapi.document import (
    MAX_DOCUMENT,
    OpenApiDocument,
    document_from_value,
    load_document,
    object_or_empty,
    parse_document,
    text_or_empty,
)
from treadle.toolsets.openapi.operations import OpenApiOperation, OpenApiOptions, build_operations
from treadle.toolsets.openapi.security import SecuritySchemes

RETRY_POLICIES = ("idempotent", "keyed", "once")  # no server can be asked for the outcome of a call
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


def openapi_tools(
    document: str | Path | Mapping[str, Any],
    *,
    name: str = "",
    base_url: str = "",
    origins: Sequence[str] = (),
    private: bool = False,
    only: Sequence[str] = (),
    effects: Mapping[str, Effect] | None = None,
    keyed: Sequence[str] = (),
    retry: Mapping[str, Retry] | None = None,
    credentials: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    trust: Trust = "untrusted",
    paging: bool = True,
    timeout: float = 30.0,
    limit: int = 2_000_000,
    lookup: HostLookup = resolve_host,
) -> "OpenApiTools":
    """Return the toolset of an OpenAPI document: file, URL, or the document itself. YAML needs `pip install 'treadle[openapi]'`.

    name         what the toolset is called in records; by default the title of the document
    base_url     where the operations are, in place of the servers that the document names
    origins      the only origins that requests go to; by default those of the servers
    private      whether hosts may have private, shared or loopback addresses
    only         the operations to offer, as globs over the names of tools or `GET /path`; none means all
    effects      the effect of operations where their method is misleading: `{"search_*": "read"}`, globs likewise
    keyed        operations whose server honours the `Idempotency-Key` header, as globs likewise; they are repeated after a crash
    retry        the retry policy of operations after a crash where their method is misleading: `{"PUT /counter": "once"}`
    credentials  which credential of the caller is used for a security scheme, or for `bearer`, `basic`, `api_key`, and no
                 other; by default the one that is called like the scheme, or its kind
    headers      sent with every request, such as the version of an API
    trust        whether results are trusted
    paging       whether tools of lists can fetch several pages at once
    timeout      seconds for one request
    limit        the most bytes of a response that are read
    lookup       how a host is resolved; by the system's resolver by default
    """
    _check(effects or {}, trust, only, keyed, origins)
    _check_retry(retry or {})
    terms = OpenApiOptions(name, base_url, effects or {}, tuple(keyed), retry or {}, tuple(only), paging, trust)
    reach = ClientOptions(tuple(origins), private, timeout, limit, lookup)
    reach.client(())  # says now if it makes no sense
    return OpenApiTools(_load_given(document), terms, reach, credentials, headers or {})


class ClientOptions(Struct, frozen=True):
    """Options of the HTTP client."""

    origins: tuple[str, ...]
    private: bool
    timeout: float
    limit: int
    lookup: HostLookup

    def client(self, named: Sequence[str]) -> Client:
        """Return a client for the configured origins, else for these."""
        return Client(self.origins or named, private=self.private, timeout=self.timeout, limit=self.limit, lookup=self.lookup)

    def for_document(self, origin: HttpOrigin) -> Client:
        """Return a client that fetches a document."""
        return Client([str(origin)], private=self.private, timeout=self.timeout, limit=MAX_DOCUMENT, lookup=self.lookup)


class OpenApiTools:
    """The operations of a document. Entered by several runs at once, it keeps one session for each event loop."""

    def __init__(
        self,
        given: OpenApiDocument | str,
        terms: OpenApiOptions,
        reach: ClientOptions,
        credentials: Mapping[str, str] | None,
        headers: Mapping[str, str],
    ) -> None:
        self._address = given if isinstance(given, str) else ""
        self._terms = terms
        self._reach = reach
        self._credentials = credentials
        self._headers = headers
        self._operations: dict[str, OpenApiOperation] = {}
        self._tools: tuple[Tool, ...] = ()
        self._caller: OpenApiCaller | None = None
        if isinstance(given, OpenApiDocument):
            self._build_tools(given)

    def __repr__(self) -> str:
        return f"OpenApiTools({self._terms.name!r}, {len(self._tools)} tools)"

    async def __aenter__(self) -> "OpenApiTools":
        if self._caller is None:
            self._build_tools(await self._fetch(self._address))
        assert self._caller is not None, "it comes with what is offered"
        await self._caller.client.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._caller is not None, "it was entered"
        await self._caller.client.__aexit__(kind, error, trace)

    def tools(self) -> tuple[Tool, ...]:
        """Return the offered tools; none before a document with a URL was fetched."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> ToolResult:
        """Send the request of a call, with the credentials of its user."""
        operation = self._operations.get(call.name)
        if operation is None or self._caller is None:
            raise ToolProblem(f"There is no operation {call.name} here.")
        return await self._caller.call(operation, call, context)

    async def _fetch(self, address: str) -> OpenApiDocument:
        try:
            to = parse_target(address)
            client = self._reach.for_document(to.origin)
            answer = await client.send("GET", address, headers={"Accept": "application/json, */*"})
        except HttpProblem as problem:
            raise SettingsError(f"The OpenAPI document can't be fetched: {problem}") from problem
        if answer.status != 200:
            raise SettingsError(f"The OpenAPI document can't be fetched: {to.origin} answered {answer.status}.")
        where = f"{to.origin}{to.rest.partition('?')[0]}"
        return parse_document(answer.body, where, answer.url)

    def _build_tools(self, document: OpenApiDocument) -> None:
        """Build the tools of the document's selected operations."""
        terms = self._terms = self._name_options(document)
        security = SecuritySchemes(document, self._credentials)
        self._operations = build_operations(document, security, terms)
        if not self._operations:
            raise SettingsError(f"The OpenAPI document has no operation {'that is wanted' if terms.only else 'to offer'}.")
        origins = dict.fromkeys([str(parse_target(each.server).origin) for each in self._operations.values()])
        client = self._reach.client(list(origins))
        self._caller = OpenApiCaller(document, security, client, self._headers, trusted=terms.trust == "trusted")
        self._tools = tuple([each.tool for each in self._operations.values()])

    def _name_options(self, document: OpenApiDocument) -> OpenApiOptions:
        title = text_or_empty(object_or_empty(document.root.get("info")).get("title"))
        return self._terms if self._terms.name else replace(self._terms, name=title[:60] or "openapi")


def _load_given(document: str | Path | Mapping[str, Any]) -> OpenApiDocument | str:
    match document:
        case Path():
            return load_document(document)
        case str():
            return document if _ADDRESS.match(document) else load_document(Path(document))
        case _:
            return document_from_value(document, "the value given")


def _check(effects: Mapping[str, Effect], trust: str, *lists: object) -> None:
    for effect in effects.values():
        if effect not in get_args(Effect):
            raise SettingsError(f"{effect!r} is no effect of a tool; write one of {', '.join(get_args(Effect))}.")
    if trust not in get_args(Trust):
        raise SettingsError(f"{trust!r} is no trust in a tool; write one of {', '.join(get_args(Trust))}.")
    if any(isinstance(each, str) for each in lists):
        raise SettingsError("`only`, `keyed` and `origins` are lists of texts, not one text.")


def _check_retry(retry: Mapping[str, Retry]) -> None:
    for word in retry.values():
        if word not in RETRY_POLICIES:
            raise SettingsError(f"{word!r} can't be the retry of an operation; write one of {', '.join(RETRY_POLICIES)}.")
