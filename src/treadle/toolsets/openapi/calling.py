"""A call carried out: its request sent, its answer read, and where more pages were asked for, those too."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.tool import ToolResult
from treadle.tools.text import json_of
from treadle.toolsets.openapi import paging
from treadle.toolsets.openapi.checking import Checks
from treadle.toolsets.openapi.document import Document
from treadle.toolsets.openapi.operations import Operation
from treadle.toolsets.openapi.requests import Request, request_of
from treadle.toolsets.openapi.results import Asked, Read, masked, read
from treadle.toolsets.openapi.security import Attached, Security
from treadle.toolsets.outbound.answer import Answer
from treadle.toolsets.outbound.client import Client
from treadle.toolsets.outbound.origins import target

_MORE = f"There is more: ask again with `pages` for up to {paging.MOST_PAGES} pages, or for the next page."


class Caller:
    """Makes the calls of one document's tools. `headers` go with every request."""

    def __init__(
        self, document: Document, security: Security, client: Client, headers: Mapping[str, str], *, trusted: bool
    ) -> None:
        self.client = client
        self._document = document
        self._security = security
        self._headers = headers
        self._trusted = trusted
        self._checks = Checks()

    async def call(self, operation: Operation, call: Call, context: RunContext[Any]) -> ToolResult:
        """What a call brought, without secrets: as text, and where that is JSON as data."""
        self._checks.check(operation, call.arguments)
        attached = self._security.attached(operation.security, context.credentials)
        arguments, pages = _without_pages(operation, call.arguments)
        work = _Work(self.client, self._document, operation, self._asked(operation, attached), attached, self._headers, context)
        return await work.result(arguments, pages)

    def _asked(self, operation: Operation, attached: Attached) -> Asked:
        tool = operation.tool
        return Asked(tool.name, operation.method, operation.responses, tool.effect == "read", self._trusted, attached.secrets)


def _without_pages(operation: Operation, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The arguments of the operation itself, and how many pages are wanted."""
    own = dict(arguments)
    return own, own.pop(paging.ARGUMENT, 1) if operation.pages else 1


class _Work(Struct, frozen=True):
    """One call, and all that it takes to make it."""

    client: Client
    document: Document
    operation: Operation
    asked: Asked
    attached: Attached
    headers: Mapping[str, str]
    context: RunContext[Any]

    async def result(self, arguments: dict[str, Any], wanted: int) -> ToolResult:
        """Up to `wanted` pages, joined; a word where there are more."""
        answer, first = await self._sent(self._request(arguments, self.context.key))
        if not first.is_data:
            return ToolResult(self._masked(first.text))
        pages = [first.value]
        size = len(answer.body)
        following = self._next(answer, arguments)
        while following is not None and len(pages) < wanted and size < self.client.limit:
            arguments = {**arguments, **following.arguments}
            self.context.progress(f"page {len(pages) + 1}")
            answer, page = await self._sent(self._page(answer, following, arguments))
            if not page.is_data or page.value == pages[-1] or not paging.items_of(page.value):
                following = None
                break
            pages.append(page.value)
            size += len(answer.body)
            following = self._next(answer, arguments)
        joined = self._masked(msgspec.json.encode(paging.joined(pages)).decode())
        more = f"\n{_MORE}" if following is not None and following.certain else ""
        return ToolResult(f"{joined}{more}", json_of(joined))

    def _masked(self, text: str) -> str:
        return masked(text, self.attached.secrets)

    async def _sent(self, request: Request) -> tuple[Answer, Read]:
        answer = await self.client.send(request.method, request.url, headers=request.headers, body=request.body)
        return answer, read(answer, self.asked, self.document)

    def _request(self, arguments: Mapping[str, Any], key: str) -> Request:
        return request_of(self.operation, arguments, self.attached, self.headers, key)

    def _next(self, answer: Answer, arguments: Mapping[str, Any]) -> paging.Next | None:
        """Where the next page is, if there is one that may be asked for."""
        if not self.operation.pages:
            return None
        whole = msgspec.json.decode(answer.body)  # what says where the next page is may not be described
        found = paging.next_page(answer, whole, self.operation.parameters, arguments)
        here = target(answer.url)
        there = here.towards(found.url) if found is not None and found.url else here
        return found if there is not None and there.origin == here.origin else None

    def _page(self, answer: Answer, following: paging.Next, arguments: Mapping[str, Any]) -> Request:
        """The request for the next page. An address gets the caller's key where that belongs there."""
        request = self._request(arguments, "")
        if not following.url:
            return request
        there = target(answer.url).towards(following.url)
        assert there is not None, "it was looked at before"
        names = {name for name, _ in self.attached.query}
        path, _, query = there.rest.partition("?")
        kept = [part for part in query.split("&") if part and part.partition("=")[0] not in names]
        pairs = [*kept, *[f"{name}={secret}" for name, secret in self.attached.query]]
        return Request("GET", f"{there.origin}{path}" + ("?" + "&".join(pairs) if pairs else ""), request.headers)
