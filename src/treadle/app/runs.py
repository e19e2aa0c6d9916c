"""The runs that are kept, without an agent: what waits for a person in them, answers, forks, cancels, deletions, lists.

Only what goes on with a run (`Agent.run`, `Agent.resume`) needs its model and its tools.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.core.calls import Settling
from treadle.core.errors import RunNotFound, RunTaken, SettingsError
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Answer, Approval, Services
from treadle.engine.tree import RunTree, fork_run, journal_of, read_tree
from treadle.guard.redaction import Redactor

if TYPE_CHECKING:
    from treadle.app.home import Home
    from treadle.stores.journal import RunInfo


class Runs:
    """The runs of a home, or of stores that are handed in; those of the data folder unless you say otherwise.

    redactor   finds what must not stand in the journal as it is, where the agent of these runs has one of its own
    """

    def __init__(self, kept: "Home | Services | None" = None, *, redactor: Redactor | None = None) -> None:
        self._home: Home | None = None
        if isinstance(kept, Services):
            self._services = kept
        else:
            from treadle.app.home import open_home  # the stores are slow to import

            self._home = open_home() if kept is None else kept
            self._services = self._home.services()
        self._redactor = redactor

    async def approvals(self, run_id: str) -> list[Approval]:
        """Return what a person has to answer before a run can go on, nested runs included."""
        return (await self._tree(run_id)).approvals()

    async def answer(self, run_id: str, call_id: str, answer: Answer, *, digest: str = "") -> Approval:
        """`approve`, `deny` or `settle`, by what the answer says; `digest` binds it to what was shown.

        The tools aren't known here, so that arguments which a person edited are checked when the run goes on.
        """
        return await (await self._tree(run_id)).answer(call_id, answer, digest)

    async def approve(
        self, run_id: str, call_id: str, *, by: str = "", arguments: dict[str, Any] | None = None, digest: str = ""
    ) -> Approval:
        """Say yes to a call that waits, perhaps with other arguments; `Agent.resume` then goes on."""
        return await self.answer(run_id, call_id, Answer(True, by, arguments=arguments), digest=digest)

    async def deny(self, run_id: str, call_id: str, reason: str = "", *, by: str = "") -> Approval:
        """Say no to a call that waits; the model reads why."""
        return await self.answer(run_id, call_id, Answer(False, by, reason))

    async def settle(
        self, run_id: str, call_id: str, said: Settling, words: str = "", *, by: str = "", digest: str = ""
    ) -> Approval:
        """Say what became of a call that was running when its process died: it "happened", "not_happened", or try it "again".

        `words` are for the model, such as what came of it.
        """
        return await self.answer(run_id, call_id, Answer(by=by, reason=words, settled=said), digest=digest)

    async def fork(self, run_id: str, at: int | None = None, *, new_id: str | None = None) -> str:
        """Begin a new run with a copy of another one's first `at` entries, or of all; `Agent.run` or `Agent.resume` it."""
        self._check_there(run_id)
        forked = new_id or new_run_id()
        await fork_run(self._services, run_id, at, forked, self._redactor)
        return forked

    async def cancel(self, run_id: str) -> None:
        """End the turn of a run that waits for a person: each call that waits has the result that it was cancelled.

        A run that is under way is cancelled where it is: `Agent.cancel`.
        """
        self._check_no_job(run_id)
        await (await self._tree(run_id)).cancel()

    async def delete(self, *run_ids: str, by: str = "", force: bool = False) -> None:
        """Delete runs, the runs inside of them, and all that is kept of their content: results, attached files, conversations.

        The audit keeps that there were calls, not what was said in them, and records the deletion; figures that were counted stay.
        A run whose turn isn't over may be under way in another process; with `force` it is deleted all the same, and that process
        is refused its next write.
        """
        for run_id in run_ids:
            self._check_no_job(run_id)
            root = (await self._tree(run_id)).check_root()
            if root.state.finished is None and not force:
                raise RunTaken(f"Run {run_id} isn't over: resume or cancel it first, or delete it with force=True.")
        await self._delete(run_ids, by)

    async def _delete(self, run_ids: Sequence[str], by: str) -> None:
        from treadle.app.deletion import delete_from_home, delete_from_stores  # with the stores, which are slow to import

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

    async def _tree(self, run_id: str) -> RunTree:
        self._check_there(run_id)
        return await read_tree(self._services, run_id, redactor=self._redactor)

    def _check_there(self, run_id: str) -> None:
        """Looking makes no file where nothing was ever kept."""
        if self._home is not None and not self._home.database.exists():
            raise RunNotFound(f"There is no run {run_id}: nothing is kept in {self._home.folder} yet.")

    def _check_no_job(self, run_id: str) -> None:
        """A job says of itself where it stands, so that its run isn't ended without it."""
        from treadle.app.jobs import Jobs  # agents without jobs don't need them

        if self._home is not None and Jobs(self._home.folder).has(run_id):
            raise RunTaken(f"Run {run_id} is that of a job: treadle jobs cancel {run_id}")

    async def list(self, limit: int = 50, *, status: str = "", agent: str = "", search: str = "") -> "list[RunInfo]":
        """Return the runs that a person began, newest first; those with `search` in their titles, where it is given."""
        from treadle.stores.journal import DatabaseJournal, Wanted

        journal = journal_of(self._services)
        if not isinstance(journal, DatabaseJournal):
            raise SettingsError("This journal can't list its runs; those of a home can.")
        return await journal.listed(Wanted(search, status, agent, None, limit))
