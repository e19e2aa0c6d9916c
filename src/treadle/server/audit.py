"""The audit log over HTTP: its records, newest first, and whether its hash chain is intact."""

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.routing import BaseRoute

from treadle.core.seams import Stage
from treadle.home import Home
from treadle.routes import get, routes_of
from treadle.stores.audit import AuditLink, AuditQuery, AuditVerification

Name = Annotated[str, Meta(max_length=200)]


class AuditListQuery(Struct, frozen=True):
    """Filters for the list of audit records."""

    run: Name = ""
    tool: Annotated[str, Meta(description="A name, or a glob such as `read_*`.", max_length=200)] = ""
    user: Name = ""
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    before: Annotated[int, Meta(description="The number of the last record of the list before.", ge=1, le=2**53)] | None = None


class AuditRecordView(Struct, frozen=True):
    """One call, and its position in the hash chain."""

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


class AuditRecordList(Struct, frozen=True):
    """Audit records, newest first."""

    records: list[AuditRecordView]
    more: bool


def audit_routes(home: Home) -> list[BaseRoute]:
    """Return the routes."""

    @get("/api/audit")
    async def list_records(query: AuditListQuery) -> AuditRecordList:
        """List audited calls, newest first."""
        links = await home.audit.list_records(AuditQuery(query.run, query.tool, query.user, query.before, query.limit + 1))
        return AuditRecordList([_to_view(link) for link in links[: query.limit]], len(links) > query.limit)

    @get("/api/audit/verify")
    async def verify_log() -> AuditVerification:
        """Verify the hash chain of the audit log."""
        return await home.audit.verify()

    return routes_of(list_records, verify_log)


def _to_view(link: AuditLink) -> AuditRecordView:
    record = link.record
    return AuditRecordView(link.seq, link.previous, link.hash, **{name: getattr(record, name) for name in record.__struct_fields__})
