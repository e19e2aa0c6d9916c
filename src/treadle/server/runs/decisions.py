"""Past decisions about calls: who decided what, when, and how long it had waited. From journals that the audit log names."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from treadle.core.calls import Ask
from treadle.core.entries import Approved, Entry, Judged, Previewed, Refused, Settled, Unclear
from treadle.core.errors import RunNotFound
from treadle.core.grants import Scope
from treadle.guard.redaction import Redactor
from treadle.server.runs.hosted_runs import HostedRuns, Requester
from treadle.stores.audit import AuditQuery

DECIDED = ("approved", "refused", "happened", "not_happened", "again")  # verdicts of the audit that are a person's
PAGE = 200  # audit records that are read at once
MAX_PAGES = 25  # that are read for one list
LONGEST_PREVIEW = 2_000  # characters

Outcome = Literal["approved", "denied", "happened", "not_happened", "again"]


class CallDecision(Struct, frozen=True):
    """A decision. `waited` is in seconds, from the question on. `scope` is what was allowed besides the call.

    `edited` says that the call ran with other arguments than the model's; `reason` is what the model was given as reason.
    """

    run_id: str
    call_id: str
    root: str
    assistant: str
    title: str
    name: str
    arguments: dict[str, Any]
    preview: str
    outcome: Outcome
    by: str
    at: float
    waited: float
    reason: str = ""
    scope: Scope = "once"
    edited: bool = False


class DecisionList(Struct, frozen=True):
    """Decisions, newest first. `next` is `before` of the following page; 0 at the end."""

    decisions: list[CallDecision]
    next: int


class DecisionListQuery(Struct, frozen=True):
    """Which decisions are listed."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 30
    before: Annotated[int, Meta(description="`next` of the list before.", ge=0, le=2**53)] = 0


async def list_decisions(runs: HostedRuns, query: DecisionListQuery, by: Requester) -> DecisionList:
    """Return the decisions about calls of the runs that the requester may see."""
    found: list[CallDecision] = []
    known: dict[str, dict[str, CallDecision]] = {}
    before = query.before or None
    for _ in range(MAX_PAGES if runs.home.database.exists() else 0):
        links = await runs.home.audit.list_records(AuditQuery(before=before, limit=PAGE))
        for link in links:
            record, before = link.record, link.seq
            if record.verdict not in DECIDED or record.stage != "ended":
                continue
            if record.run_id not in known:
                known[record.run_id] = await _decisions_of(runs, record.run_id, by)
            if record.call_id in known[record.run_id]:
                found.append(known[record.run_id][record.call_id])
            if len(found) == query.limit:
                return DecisionList(found, link.seq)
        if len(links) < PAGE:
            return DecisionList(found, 0)
    return DecisionList(found, before or 0)


async def _decisions_of(runs: HostedRuns, run_id: str, by: Requester) -> dict[str, CallDecision]:
    """Return the last decision about each call of a run; none of a run that is deleted or another user's."""
    root_id = run_id.partition(".")[0]
    try:
        info = await runs.home.journal.info(root_id)
        entries = await runs.home.journal.read(run_id)
    except RunNotFound:
        return {}
    if not await runs.shown_to([info], by):
        return {}
    return {
        decision.call_id: decision
        for decision in find_decisions(run_id, entries, root=root_id, assistant=info.agent, title=Redactor().text(info.title))
    }


def find_decisions(run_id: str, entries: list[Entry], *, root: str, assistant: str, title: str) -> list[CallDecision]:
    """Return the decisions in a journal, with secrets masked."""
    judged: dict[str, Judged] = {}
    previews: dict[str, str] = {}
    asked_at: dict[str, float] = {}
    found: list[CallDecision] = []
    redactor = Redactor()

    def add(call_id: str, outcome: Outcome, by: str, at: float, **more: Any) -> None:
        call = judged[call_id].call
        found.append(
            CallDecision(
                run_id,
                call_id,
                root,
                assistant,
                title,
                call.name,
                redactor.value(call.arguments),
                redactor.text(previews.get(call_id, ""))[:LONGEST_PREVIEW],
                outcome,
                by,
                at,
                max(at - asked_at[call_id], 0.0),
                **more,
            )
        )

    for entry in entries:
        match entry:
            case Judged() if isinstance(entry.verdict, Ask):
                judged[entry.call.id], asked_at[entry.call.id] = entry, entry.at
            case Judged():
                judged[entry.call.id] = entry
            case Previewed():
                previews[entry.call_id] = entry.text
            case Unclear():
                asked_at[entry.call_id] = entry.at
            case Approved() if entry.call_id in asked_at and not entry.covered:
                scope = entry.grant.scope if entry.grant else "once"
                add(entry.call_id, "approved", entry.by, entry.at, scope=scope, edited=entry.arguments is not None)
            case Refused() if entry.call_id in asked_at:
                add(entry.call_id, "denied", entry.by, entry.at, reason=redactor.text(entry.reason))
            case Settled() if entry.call_id in asked_at and entry.call_id in judged:
                add(entry.call_id, entry.said, entry.by, entry.at, reason=redactor.text(entry.words))
            case _:
                pass
    return found
