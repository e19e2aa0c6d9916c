"""A run and its nested runs, read from the journal: what waits for a person, recording answers, forks and cancels.

No model and no tools are needed for that; where the tools are known, arguments that a person edited are validated against
them.
"""

import asyncio
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from treadle.core.calls import Call, Result
from treadle.core.entries import Approved, Opened, Refused, Settled
from treadle.core.errors import ApprovalError, RunNotFound, RunTaken, SettingsError
from treadle.core.grants import Grant
from treadle.core.media import Prompt
from treadle.core.seams import Journal
from treadle.engine.approval import answer_to_entry, answer_to_grant, check_answer, check_edited, check_fits
from treadle.engine.audit_records import audit_end
from treadle.engine.catalog import Catalog
from treadle.engine.journaled import JournaledRun, append_entries
from treadle.engine.setup import APPROVALS_EXPIRE, Answer, Approval, Services
from treadle.guard.policy import digest_arguments
from treadle.guard.redaction import Redactor
from treadle.loop.answers import UNNAMED_USER, refusal_result, settlement_result
from treadle.loop.state import CallState

WORDS_LIMIT = 10_000  # characters of what a person says became of a call


class RunTree:
    """A run, first, and its nested runs, at any depth."""

    def __init__(self, runs: list[JournaledRun]) -> None:
        self.runs = runs

    def approvals(self) -> list[Approval]:
        """Return the approvals that the run waits for."""
        return [approval for run in self.runs for approval in run.approvals()]

    def check_root(self) -> JournaledRun:
        """Return the root run. Raises `RunTaken` where this one is nested in another, which couldn't continue without it."""
        root = self.runs[0]
        if root.state.opened is not None and root.state.opened.parent:
            raise RunTaken(f"Run {root.id} is part of run {root.state.opened.parent}: name that one instead.")
        return root

    async def answer(self, call_id: str, answer: Answer, digest: str, catalog: Catalog | None = None) -> Approval:
        """Record a person's answer about a call. `catalog` has the tools of the run itself, where they are known.

        Other calls that wait and are like it are approved too, where the answer allows them.
        """
        run, call = self._find_waiting(call_id, answer)
        approval = run.approval(call)
        check_answer(approval, answer, digest, run.now())
        await take_answer(run, call, answer, catalog if run is self.runs[0] else None)
        await run.flush()
        await self._approve_covered()
        return approval

    def _find_waiting(self, call_id: str, answer: Answer) -> tuple[JournaledRun, CallState]:
        found = next(((run, call) for run in self.runs for call in run.waiting() if call.id == call_id), None)
        if found is None:
            what = "an approval" if answer.settled is None else "a person to report its outcome"
            raise ApprovalError(f"No call {call_id} of run {self.runs[0].id} waits for {what}.")
        return found

    async def answer_all(
        self, answer: Answer, shown: Sequence[tuple[str, str]] | None = None, catalog: Catalog | None = None
    ) -> list[Approval]:
        """Record one answer to several calls: to those that were `shown`, by id and digest, or to all that wait for approval.

        All of them are checked before any is answered. A call whose outcome is unclear isn't among them.
        """
        chosen = [(approval.call_id, "") for approval in self.approvals() if not approval.unclear] if shown is None else shown
        approvals: list[Approval] = []
        for call_id, digest in chosen:
            run, call = self._find_waiting(call_id, answer)
            approvals.append(run.approval(call))
            check_answer(approvals[-1], answer, digest, run.now())
            answer_to_grant(call, answer, run.redactor, user=run.user, run_id=run.id, at=run.now())
        for call_id, digest in chosen:
            if any(call.id == call_id for run in self.runs for call in run.waiting()):  # else an answer before has covered it
                await self.answer(call_id, answer, digest, catalog)
        return approvals

    async def _approve_covered(self) -> None:
        for run in self.runs:
            approve_covered(run, run.waiting())
            await run.flush()

    async def cancel(self, *, leased: bool = False) -> None:
        """End a turn that waits for a person, in all of its runs; the outermost comes last, so that a crash leaves it waiting.

        A run whose turn isn't over may be active in another process, where a call may be taking effect at this moment. With
        `leased`, the caller holds the run's lease: no other process executes it, and it is ended as it stands.
        """
        root = self.check_root()
        finished = root.state.finished
        if not leased and (finished is None or finished.stopped != "waiting"):
            why = f"is over ({finished.stopped})" if finished else "isn't over: cancel it where it is under way"
            raise RunTaken(f"Run {root.id} {why}; only a run that waits for a person can be cancelled here.")
        for run in reversed(self.runs):
            ended = run.state.finished
            if ended is None or ended.stopped == "waiting" or (run is root and ended.resumable):
                run.finish_cancelled()
                await run.flush()


async def load_run_tree(
    services: Services, run_id: str, *, redactor: Redactor | None = None, expire: float = APPROVALS_EXPIRE
) -> RunTree:
    """Read a run and its nested runs."""
    journal = journal_of(services)
    children = getattr(journal, "children", None)
    runs: list[JournaledRun] = []
    for each in (run_id, *(await children(run_id) if children is not None else ())):
        entries = await journal.read(each)
        opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
        run = JournaledRun(each, services, opened.user, redactor, expire)
        run.replay(entries)
        runs.append(run)
    return RunTree(runs)


async def fork_run(services: Services, run_id: str, at: int | None, new_id: str, redactor: Redactor | None = None) -> None:
    """Create run `new_id` with a copy of another one's first `at` entries, or of all."""
    from treadle.loop.forks import fork_entries  # few runs are forked

    journal = journal_of(services)
    entries = await journal.read(run_id)
    if at is not None and not 1 <= at <= len(entries):
        raise SettingsError(f"Run {run_id} has {len(entries)} entries: fork it at 1 to {len(entries)}, not at {at}.")
    kept = fork_entries(run_id, entries if at is None else entries[:at], services.clock())
    await append_entries(journal, redactor or Redactor(), new_id, 0, kept)


async def fork_before_message(services: Services, run_id: str, number: int, new_id: str, redactor: Redactor) -> Prompt:
    """Create run `new_id` from what was before a message of the user, ready for another message. Return that message."""
    from treadle.loop.forks import find_message, fork_entries, message_parts  # few runs are forked

    journal = journal_of(services)
    entries = await journal.read(run_id)
    at = find_message(entries, number)
    if at is None:
        raise SettingsError(f"Run {run_id} has no message {number} of the user.")
    await append_entries(journal, redactor, new_id, 0, fork_entries(run_id, entries[:at], services.clock(), closed=True))
    return message_parts(entries[at])


def journal_of(services: Services) -> Journal:
    """Return the journal. Raises `RunNotFound` where nothing is stored."""
    if services.journal is None:
        raise RunNotFound("This agent keeps no journal, so there is nothing to go back to; run it with journal=True.")
    return services.journal


async def take_answer(run: JournaledRun, call: CallState, answer: Answer, catalog: Catalog | None) -> Result | None:
    """Record a person's answer, and what it allows for always; return the result of a call that it ended."""
    approval = run.approval(call)
    check_fits(approval, answer)
    if catalog is not None:
        check_edited(approval, answer, catalog)
    grant = answer_to_grant(call, answer, run.redactor, user=run.user, run_id=run.id, at=run.now())
    if grant is not None and grant.scope == "always":
        if run.services.grants is None:
            raise ApprovalError(
                "Nothing is stored here for always; run the agent with journal=True, or allow it for this conversation."
            )
        # Before the entry: a process that dies in between has the person asked again, and the same grant isn't added twice.
        await asyncio.to_thread(run.services.grants.add, grant)
    return record_answer(run, call, answer, grant)


def approve_covered(run: JournaledRun, calls: Iterable[CallState]) -> None:
    """Approve calls that wait and are covered by what a person has allowed since."""
    for call in calls:
        if call.terms is None or call.call is None or call.unclear:
            continue
        from treadle.guard.grants import find_grant  # only where a person is asked

        grant = find_grant(run.grants(), call.call, call.terms, run.user)
        if grant is not None:
            digest = digest_arguments(call.call.arguments)
            run.record(Approved(call_id=call.id, by=grant.by, digest=digest, covered=grant.id, at=run.now()))


def record_answer(run: JournaledRun, call: CallState, answer: Answer, grant: Grant | None = None) -> Result | None:
    """Record a person's answer; return the result of a call that it ended. What ends the call is in the audit at once."""
    approval = run.approval(call)
    entry = answer_to_entry(approval, answer, run.now(), grant)
    if isinstance(entry, Settled):
        return _record_settlement(run, call, replace(entry, words=truncate_with_note(run.redactor.text(entry.words), WORDS_LIMIT)))
    if isinstance(entry, Refused):
        refused = Call(call.id, call.name, approval.arguments)
        audit_end(run, replace(call, answered=entry.by or UNNAMED_USER), refused, refusal_result(call.id, call.name, entry), 0.0)
    run.record(entry)
    return None


def _record_settlement(run: JournaledRun, call: CallState, entry: Settled) -> Result | None:
    """Record what happened to a call, as a person said. One that is tried again isn't over, and has its records when it is."""
    assert call.call is not None  # a call that began was read
    assert call.question is not None  # it is what was answered
    result = settlement_result(call.id, call.name, entry)
    if result is not None:
        question = replace(call.question, said=entry.said, by=entry.by or UNNAMED_USER)
        audit_end(run, replace(call, question=question), call.call, result, 0.0)
    run.record(entry)
    return result


def truncate_with_note(text: str, most: int) -> str:
    """Truncate a text, and say so: a part must not be taken for the whole."""
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]}\n[… {more:,} more characters aren't shown …]"
