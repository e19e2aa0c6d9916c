"""The audit over HTTP: its records, newest first, and whether its chain holds."""

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.routing import BaseRoute

from treadle.app.home import Home
from treadle.core.seams import Stage
from treadle.routes import get, routes_of
from treadle.stores.audit import Link, Sought, Verified

Name = Annotated[str, Meta(max_length=200)]


class AuditAsked(Struct, frozen=True):
    """Which records are listed."""

    run: Name = ""
    tool: Annotated[str, Meta(description="A name, or a glob such as `read_*`.", max_length=200)] = ""
    user: Name = ""
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    before: Annotated[int, Meta(description="The number of the last record of the list before.", ge=1, le=2**53)] | None = None


class Record(Struct, frozen=True):
    """One call, and its place in the chain."""

    seq: int
    previous: str
    hash: str
    run_id: str
    call_id: str
    user: str
    tool_name: str
    arguments: dict[str, Any]
    verdict: str
    verdict_by: str
    result_summary: str
    duration_ms: float
    success: bool
    error: str | None
    at: float
    stage: Stage


class Listed(Struct, frozen=True):
    """Records, the newest first."""

    records: list[Record]
    more: bool


def audit_routes(home: Home) -> list[BaseRoute]:
    """The routes."""

    @get("/api/audit")
    async def listed(query: AuditAsked) -> Listed:
        """Calls, newest first, as they were accounted for."""
        links = await home.audit.listed(Sought(query.run, query.tool, query.user, query.before, query.limit + 1))
        return Listed([_record(link) for link in links[: query.limit]], len(links) > query.limit)

    @get("/api/audit/verify")
    async def verified() -> Verified:
        """Whether the chain of records holds."""
        return await home.audit.verify()

    return routes_of(listed, verified)


def _record(link: Link) -> Record:
    record = link.record
    return Record(link.seq, link.previous, link.hash, **{name: getattr(record, name) for name in record.__struct_fields__})
