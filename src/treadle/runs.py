"""Stored runs, without an agent: approvals, answers, forks, cancellation, retries, watching, feedback, deletion, listing.

Only continuing a run (`Agent.run`, `Agent.resume`) needs its model and tools.
"""

import builtins
from collections.abc import AsyncGenerator, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any, get_args

from treadle.core.calls import Call, Delivery, Settling
from treadle.core.entries import Said, Steered
from treadle.core.errors import ApprovalError, RunNotFound, RunTaken, SettingsError
from treadle.core.grants import Grant, Scope
from treadle.core.states import RUN_STATUSES, parse_state_name
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Answer, Approval, Services
from treadle.engine.tree import RunTree, fork_run, journal_of, load_run_tree
from treadle.guard.redaction import Redactor

if TYPE_CHECKING:
    from treadle.home import Home
    from treadle.stores.dead_letters import DeadLetter
    from treadle.stores.feedback import Feedback, Rating
    from treadle.stores.journal import RunInfo
    from treadle.workers.follow import JournaledEntry


class Runs:
    """The runs of a home, or of the given stores; by default those of the data folder.

    redactor   finds what must not be in the journal in plain text, where the agent of these runs has one of its own
    """

    def __init__(self, kept: "Home | Services | None" = None, *, redactor: Redactor | None = None) -> None:
        self._home: Home | None = None
        if isinstance(kept, Services):
            self._services = kept
        else:
            from treadle.home import open_home  # the stores are slow to import

            if kept is not None and not hasattr(kept, "services"):
                raise SettingsError(f"Runs takes a home, such as Runs(open_home(folder)), or its services, not {kept!r}.")
            self._home = open_home() if kept is None else kept
            self._services = self._home.services()
        self._redactor = redactor

    async def approvals(self, run_id: str) -> list[Approval]:
        """Return the approvals that a run is waiting for, nested runs included."""
        return (await self._read_run_tree(run_id)).approvals()

    async def answer(self, run_id: str, call_id: str, answer: Answer, *, digest: str = "") -> Approval:
        """Record an answer: `approve`, `deny` or `settle`, as it says; `digest` binds it to the call that was shown.

        The tools aren't known here, so edited arguments are validated when the run continues.
        """
        return await (await self._read_run_tree(run_id)).answer(call_id, answer, digest)

    async def answer_all(
        self, run_id: str, answer: Answer, *, shown: Sequence[tuple[str, str]] | None = None
    ) -> "builtins.list[Approval]":
        """Approve or deny several calls at once: those `shown`, by id and digest, or all that wait for approval."""
        return await (await self._read_run_tree(run_id)).answer_all(answer, shown)

    async def approve(
        self,
        run_id: str,
        call_id: str,
        *,
        by: str = "",
        arguments: dict[str, Any] | None = None,
        digest: str = "",
        scope: Scope = "once",
        where: Mapping[str, str] | None = None,
    ) -> Approval:
        """Approve a waiting call, optionally with other arguments; `Agent.resume` then continues the run.

        With a `scope` of "conversation" or "always", calls like it are approved too (see `Agent.approve`).
        """
        return await self.answer(run_id, call_id, Answer(True, by, arguments=arguments, scope=scope, where=where), digest=digest)

    async def approve_all(self, run_id: str, *, by: str = "", scope: Scope = "once") -> "builtins.list[Approval]":
        """Approve all calls that wait for approval; `Agent.resume` then continues the run."""
        return await self.answer_all(run_id, Answer(True, by, scope=scope))

    def grants(self) -> Sequence[Grant]:
        """Return what was allowed for always."""
        return () if self._services.grants is None else self._services.grants.load()

    def revoke(self, grant_id: str) -> Grant:
        """Have calls like these ask for approval again, also in runs that are under way."""
        if self._services.grants is None:
            raise ApprovalError(f"There is no grant {grant_id}: nothing is stored here for always.")
        return self._services.grants.revoke(grant_id)

    async def deny(self, run_id: str, call_id: str, reason: str = "", *, by: str = "") -> Approval:
        """Deny a waiting call; the model reads the reason."""
        return await self.answer(run_id, call_id, Answer(False, by, reason))

    async def settle(
        self, run_id: str, call_id: str, said: Settling, words: str = "", *, by: str = "", digest: str = ""
    ) -> Approval:
        """Record the outcome of a call that was running when its process died: "happened", "not_happened", or "again" to retry it.

        `words` are for the model, such as the call's result.
        """
        return await self.answer(run_id, call_id, Answer(by=by, reason=words, settled=said), digest=digest)

    async def send_event(
        self, name: str, value: Any = None, *, key: str = "", sender: str = "", from_user: bool = False
    ) -> "builtins.list[str]":
        """Send an event to the calls that wait for it; return the ids of their runs, which are due now.

        Raises `EventNotAwaited` where none does: a sender that may be early tries again. The value is untrusted content, unless
        `from_user` says that it is the user's own.
        """
        from treadle.engine.waiting import send_event  # few programs need it

        return await send_event(self._services, name, key, Delivery(value, sender, from_user))

    async def due(self, most: int = 100) -> "builtins.list[str]":
        """Return the runs whose time to wait is over, or whose event has come; `Agent.wake_due` continues them."""
        waits = self._services.waits
        return [] if waits is None else [run.run_id for run in await waits.due(self._services.clock(), most)]

    async def fork(self, run_id: str, at: int | None = None, *, new_id: str | None = None) -> str:
        """Create a run from a copy of another one's first `at` entries, or of all; `Agent.run` or `Agent.resume` it."""
        self._check_exists(run_id)
        forked = new_id or new_run_id()
        await fork_run(self._services, run_id, at, forked, self._redactor)
        return forked

    async def cancel(self, run_id: str, *, wait: float = 5.0) -> str:
        """Cancel a run: one that waits, is queued, or is executed by a worker or a server, on whichever machine. Return its status.

        That is "cancelled", or "open" where the process that executes it hasn't ended it within `wait` seconds; it does as soon
        as it can. Each call that isn't over gets a result that says it was cancelled, and whether it may have taken effect. A
        run that a program executes is cancelled in its process: `Agent.cancel`.
        """
        self._check_not_job(run_id)
        self._check_exists(run_id)
        if self._home is None:
            await (await self._read_run_tree(run_id)).cancel()
            return "cancelled"
        from treadle.workers.run_control import cancel_run  # with the stores, which are slow to import

        return await cancel_run(self._home, run_id, wait=wait, redactor=self._redactor)

    async def retry(self, run_id: str) -> None:
        """Queue a failed run of workers again: it continues from its journal, so no effect is repeated.

        Raises `RunTaken` where it hasn't failed. A run of a program is retried with `Agent.resume`.
        """
        from treadle.workers.run_control import retry_run

        self._check_exists(run_id)
        await retry_run(self._require_home(), run_id)

    async def dead_letters(self, queue: str = "") -> "builtins.list[DeadLetter]":
        """Return the runs of workers that have failed as often as they may be tried, the newest first; of a queue, or of all.

        `retry` queues one again, and takes it off the list.
        """
        from treadle.stores.dead_letters import DeadLetters

        return await DeadLetters(self._require_home().database).list_letters(queue)

    async def remove_dead_letter(self, run_id: str) -> bool:
        """Take a run off the list of dead letters; the run is kept. Return False where it isn't on it."""
        from treadle.stores.dead_letters import DeadLetters

        return await DeadLetters(self._require_home().database).remove(run_id)

    async def wait(self, run_id: str, timeout: float | None = None) -> "RunInfo":  # noqa: ASYNC109 - it returns then
        """Wait until a run is over, or waits for a person, a time or an event; return how it stands then, or at the timeout."""
        from treadle.workers.run_control import wait_for_run

        self._check_exists(run_id)
        return await wait_for_run(self._require_home(), run_id, timeout)

    def watch(self, run_id: str, after: int = 0) -> "AsyncGenerator[JournaledEntry]":
        """Yield the entries of a run after a position, as its process writes them, until the turn is over.

        That process may be on any machine. To continue after a break, pass the `position` of the last entry.
        """
        from treadle.workers.follow import follow_entries

        self._check_exists(run_id)
        return follow_entries(self._require_home(), run_id, after)

    def _require_home(self) -> "Home":
        if self._home is None:
            raise SettingsError("These stores aren't a home's, which workers execute runs in: use Runs(open_home()).")
        return self._home

    async def interrupted_calls(self, run_id: str) -> Sequence[Call]:
        """Return the calls that had begun and have no result, nested runs included: they may have taken effect. Secrets are masked.

        Calls that only read aren't among them.
        """
        states = [run.state for run in (await self._read_run_tree(run_id)).runs]
        begun = [call for state in states for call in (*state.calls, *state.inner) if call.interrupted]
        redactor = self._redactor or Redactor()
        return [Call(call.id, call.name, redactor.value(call.call.arguments)) for call in begun if call.call is not None]

    async def rate(self, run_id: str, rating: "Rating | None", comment: str = "", *, message: int = -1) -> "Feedback | None":
        """Store a user's feedback on an answer, in place of the feedback before; None withdraws it.

        `message` is the number of the user's message that it answers, from 1 on, or from the end with -1. Secrets are masked.
        """
        from treadle.stores.feedback import DatabaseFeedback, Feedback, clean_comment

        _check_rating(rating)
        self._check_exists(run_id)
        entries = await journal_of(self._services).read(run_id)
        count = sum([isinstance(entry, Said | Steered) for entry in entries])
        number = message if message > 0 else count + 1 + message
        if not 1 <= number <= count:
            raise RunNotFound(f"Run {run_id} has no message {message} of the user.")
        stored = DatabaseFeedback(self._require_home().database)
        if rating is None:
            await stored.delete(run_id, number)
            return None
        feedback = Feedback(number, rating, clean_comment(comment, self._redactor or Redactor()), time())
        await stored.put(run_id, feedback)
        return feedback

    async def feedback(self, *run_ids: str) -> "dict[str, builtins.list[Feedback]]":
        """Return the feedback on the answers of runs, by their ids; those without any are left out."""
        from treadle.stores.feedback import DatabaseFeedback

        database = self._require_home().database
        return await DatabaseFeedback(database).of_runs(run_ids) if run_ids and database.exists() else {}

    async def delete(self, *run_ids: str, by: str = "", force: bool = False) -> None:
        """Delete runs, nested runs, and all stored content of theirs: results, attached files, conversations.

        The audit keeps that there were calls, without their content, and records the deletion; statistics that were counted
        stay. A run whose turn isn't finished may be active in another process; with `force` it is deleted anyway, and that
        process's next write is refused.
        """
        for run_id in run_ids:
            self._check_not_job(run_id)
            root = (await self._read_run_tree(run_id)).check_root()
            if root.state.finished is None and not force:
                raise RunTaken(f"Run {run_id} isn't over: resume or cancel it first, or delete it with force=True.")
        await self._delete(run_ids, by)

    async def _delete(self, run_ids: Sequence[str], by: str) -> None:
        from treadle.admin.deletion import delete_from_home, delete_from_stores  # with the stores, which are slow to import

        journal = journal_of(self._services)
        if self._home is not None:
            await delete_from_home(self._home, run_ids, by=by)
        elif hasattr(journal, "database"):
            await delete_from_stores(self._services, run_ids, by=by)
        elif hasattr(journal, "forget"):
            for run_id in run_ids:
                await getattr(journal, "forget")(run_id)  # noqa: B009 - a journal needn't have it
        else:
            raise SettingsError("This journal can't delete runs.")

    async def _read_run_tree(self, run_id: str) -> RunTree:
        self._check_exists(run_id)
        return await load_run_tree(self._services, run_id, redactor=self._redactor)

    def _check_exists(self, run_id: str) -> None:
        """Raise where there is no such run. Creates no file where nothing was ever stored."""
        if self._home is not None and not self._home.database.exists():
            raise RunNotFound(f"There is no run {run_id}: nothing is stored in {self._home.folder} yet.")

    def _check_not_job(self, run_id: str) -> None:
        """Raise for a job's run: a job records its own state, so its run isn't ended separately."""
        from treadle.jobs.store import Jobs  # agents without jobs don't need them

        if self._home is not None and Jobs(self._home.folder).has(run_id):
            raise RunTaken(f"Run {run_id} is that of a job: treadle jobs cancel {run_id}")

    async def list(
        self, limit: int = 50, *, status: str = "", agent: str = "", search: str = "", rating: "Rating | None" = None
    ) -> "list[RunInfo]":
        """Return the top-level runs, newest first: with `search`, those whose titles contain it; with `rating`, those rated so."""
        from treadle.stores.journal import DatabaseJournal, JournalQuery

        journal = journal_of(self._services)
        status = parse_state_name(status, RUN_STATUSES)
        if status and status not in RUN_STATUSES:
            raise SettingsError(f"No run has the status {status!r}; there are {', '.join(RUN_STATUSES)}.")
        _check_rating(rating)
        if not isinstance(journal, DatabaseJournal):
            raise SettingsError("This journal can't list its runs; those of a home can.")
        return await journal.list_runs(JournalQuery(search, status, agent, None, limit, rating=rating or ""))


def _check_rating(rating: object) -> None:
    from treadle.stores.feedback import Rating  # few programs need it

    if rating is not None and rating not in get_args(Rating):
        raise SettingsError(f"A rating is {' or '.join(get_args(Rating))}, or None, not {rating!r}.")
