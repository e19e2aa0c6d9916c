"""`openapi_tools`: the operations of an OpenAPI document as a toolset. A document with an address is fetched when it is entered."""

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
from treadle.toolsets.openapi.calling import Caller
from treadle.toolsets.openapi.document import LARGEST, Document, as_object, as_text, from_bytes, from_file, from_value
from treadle.toolsets.openapi.operations import Operation, Terms, operations
from treadle.toolsets.openapi.security import Security
from treadle.toolsets.outbound.client import Client
from treadle.toolsets.outbound.origins import Origin, target
from treadle.toolsets.outbound.problems import OutboundProblem
from treadle.toolsets.outbound.resolving import Lookup, look_up

REPEATS = ("idempotent", "keyed", "once")  # no server can be asked what became of a call
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
    lookup: Lookup = look_up,
) -> "OpenApiTools":
    """The toolset of an OpenAPI document: a file, an address, or the document itself. YAML needs `pip install 'treadle[openapi]'`.

    name         what the toolset is called in records; the title of the document unless you say otherwise
    base_url     where the operations are, in place of the servers that the document names
    origins      the only places that requests go to; those of the servers unless you say otherwise
    private      whether hosts may have private, shared or loopback addresses
    only         the operations that are wanted, as globs over the names of tools or `GET /path`; none means all
    effects      what operations do to the world where their method says it wrongly: `{"search_*": "read"}`, globs likewise
    keyed        operations whose server knows a repeat by its `Idempotency-Key`, as globs likewise; they are repeated after a crash
    retry        what becomes of operations after a crash where their method says it wrongly: `{"PUT /counter": "once"}`
    credentials  which credential of the caller stands for a security scheme, or for `bearer`, `basic`, `api_key`
    headers      sent with every request, such as the version of an API
    trust        whether what comes back may be believed
    paging       whether tools of lists can fetch several pages at once
    timeout      seconds for one request
    limit        the most bytes of an answer that are read
    lookup       how a host is resolved; as the system does it unless you say otherwise
    """
    _check(effects or {}, trust, only, keyed, origins)
    _check_retry(retry or {})
    terms = Terms(name, base_url, effects or {}, tuple(keyed), retry or {}, tuple(only), paging, trust)
    reach = Reach(tuple(origins), private, timeout, limit, lookup)
    reach.client(())  # says now if it makes no sense
    return OpenApiTools(_given(document), terms, reach, credentials or {}, headers or {})


class Reach(Struct, frozen=True):
    """How far requests go."""

    origins: tuple[str, ...]
    private: bool
    timeout: float
    limit: int
    lookup: Lookup

    def client(self, named: Sequence[str]) -> Client:
        """A client for the origins that were set, else for these."""
        return Client(self.origins or named, private=self.private, timeout=self.timeout, limit=self.limit, lookup=self.lookup)

    def for_document(self, origin: Origin) -> Client:
        """A client that fetches a document."""
        return Client([str(origin)], private=self.private, timeout=self.timeout, limit=LARGEST, lookup=self.lookup)


class OpenApiTools:
    """The operations of a document. Entered by several runs at once, it keeps one session for each event loop."""

    def __init__(
        self, given: Document | str, terms: Terms, reach: Reach, credentials: Mapping[str, str], headers: Mapping[str, str]
    ) -> None:
        self._address = given if isinstance(given, str) else ""
        self._terms = terms
        self._reach = reach
        self._credentials = credentials
        self._headers = headers
        self._operations: dict[str, Operation] = {}
        self._tools: tuple[Tool, ...] = ()
        self._caller: Caller | None = None
        if isinstance(given, Document):
            self._offer(given)

    def __repr__(self) -> str:
        return f"OpenApiTools({self._terms.name!r}, {len(self._tools)} tools)"

    async def __aenter__(self) -> "OpenApiTools":
        if self._caller is None:
            self._offer(await self._fetched(self._address))
        assert self._caller is not None, "it comes with what is offered"
        await self._caller.client.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._caller is not None, "it was entered"
        await self._caller.client.__aexit__(kind, error, trace)

    def tools(self) -> tuple[Tool, ...]:
        """What it offers; nothing before a document with an address was fetched."""
        return self._tools

    async def call(self, call: Call, context: RunContext[Any]) -> ToolResult:
        """Make the request of a call, with the credentials of whoever it is for."""
        operation = self._operations.get(call.name)
        if operation is None or self._caller is None:
            raise ToolProblem(f"There is no operation {call.name} here.")
        return await self._caller.call(operation, call, context)

    async def _fetched(self, address: str) -> Document:
        try:
            to = target(address)
            client = self._reach.for_document(to.origin)
            answer = await client.send("GET", address, headers={"Accept": "application/json, */*"})
        except OutboundProblem as problem:
            raise SettingsError(f"The OpenAPI document can't be fetched: {problem}") from problem
        if answer.status != 200:
            raise SettingsError(f"The OpenAPI document can't be fetched: {to.origin} answered {answer.status}.")
        where = f"{to.origin}{to.rest.partition('?')[0]}"
        return from_bytes(answer.body, where, answer.url)

    def _offer(self, document: Document) -> None:
        """Offer what the document has, as far as it is wanted."""
        terms = self._terms = self._named(document)
        security = Security(document, self._credentials)
        self._operations = operations(document, security, terms)
        if not self._operations:
            raise SettingsError(f"The OpenAPI document has no operation {'that is wanted' if terms.only else 'to offer'}.")
        origins = dict.fromkeys([str(target(each.server).origin) for each in self._operations.values()])
        client = self._reach.client(list(origins))
        self._caller = Caller(document, security, client, self._headers, trusted=terms.trust == "trusted")
        self._tools = tuple([each.tool for each in self._operations.values()])

    def _named(self, document: Document) -> Terms:
        title = as_text(as_object(document.root.get("info")).get("title"))
        return self._terms if self._terms.name else replace(self._terms, name=title[:60] or "openapi")


def _given(document: str | Path | Mapping[str, Any]) -> Document | str:
    match document:
        case Path():
            return from_file(document)
        case str():
            return document if _ADDRESS.match(document) else from_file(Path(document))
        case _:
            return from_value(document, "the value given")


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
        if word not in REPEATS:
            raise SettingsError(f"{word!r} can't be the retry of an operation; write one of {', '.join(REPEATS)}.")
