"""Candidates of runs: the solutions they evaluated."""

from typing import Any

from msgspec.structs import replace
from sqlalchemy import select, update

from treadle.assistants.guidance.store.database import StoreMixin, in_any_store
from treadle.assistants.guidance.store.errors import ItemNotFound
from treadle.assistants.guidance.store.rows import load_project_row, load_row, load_rows, row_to_value
from treadle.assistants.guidance.store.runs import RUN
from treadle.assistants.guidance.store.tables import candidates, runs
from treadle.assistants.guidance.store.transaction import ProjectTransaction, row_transaction
from treadle.assistants.guidance.store.validation import validate_value
from treadle.assistants.guidance.store.values import Candidate, CandidateStatus, Provenance, new_id

CANDIDATE = "candidate"


class CandidatesMixin(StoreMixin):
    """Create, score, list and get candidates."""

    @in_any_store
    async def create_candidate(
        self, user: str, candidate: Candidate, why: Provenance | None = None, *, candidate_id: str = ""
    ) -> Candidate:
        """Create a candidate of `candidate.run_id`, optionally with its provenance; the run counts it.

        With an id given by the caller it is created once: an existing one is returned.
        """
        fresh = validate_value(replace(candidate, id=candidate_id or new_id()))
        async with row_transaction(self._database, user, runs, candidate.run_id, RUN) as (change, _):
            if (row := await change.there(candidates, candidate_id, CANDIDATE)) is not None:
                return row_to_value(row, Candidate)
            await _check_parents(change, fresh.parent_ids)
            await change.add(candidates, fresh)
            one_more = {"candidate_count": runs.c.candidate_count + 1}
            await change.connection.execute(update(runs).where(runs.c.id == fresh.run_id).values(one_more))
            if why is not None:
                await change.account(replace(why, reference_ids=(*why.reference_ids, fresh.id)), CANDIDATE)
            return replace(fresh, project_id=change.project_id)

    @in_any_store
    async def update_candidate(
        self, user: str, candidate_id: str, why: Provenance, *, scores: dict[str, Any], status: CandidateStatus
    ) -> Candidate:
        """Store the scores of a candidate, with their provenance."""
        async with row_transaction(self._database, user, candidates, candidate_id, CANDIDATE) as (change, row):
            candidate = validate_value(row_to_value(row, Candidate, scores=scores, status=status))
            await change.set(candidates, candidate_id, scores=candidate.scores, status=candidate.status)
            await change.account(replace(why, reference_ids=(*why.reference_ids, candidate_id)), CANDIDATE)
            return candidate

    @in_any_store
    async def list_candidates(self, user: str, run_id: str) -> list[Candidate]:
        """Return the candidates of a run, in order."""
        async with self._database.reading() as connection:
            await load_row(connection, user, runs, run_id, RUN)
            rows = await load_rows(connection, candidates, candidates.c.run_id == run_id)
            return [row_to_value(row, Candidate) for row in rows]

    @in_any_store
    async def list_project_candidates(self, user: str, project_id: str) -> list[Candidate]:
        """Return the candidates of all runs of a project, in order."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            rows = await load_rows(connection, candidates, candidates.c.project_id == project_id)
            return [row_to_value(row, Candidate) for row in rows]

    @in_any_store
    async def get_candidate(self, user: str, candidate_id: str) -> Candidate:
        """Return a candidate; raises `ItemNotFound`."""
        async with self._database.reading() as connection:
            return row_to_value(await load_row(connection, user, candidates, candidate_id, CANDIDATE), Candidate)


async def _check_parents(change: ProjectTransaction, ids: tuple[str, ...]) -> None:
    """Check that the parents of a candidate are in the same project."""
    query = select(candidates.c.id).where(candidates.c.project_id == change.project_id)
    known = set((await change.connection.execute(query)).scalars()) if ids else set[str]()
    for one in ids:
        if one not in known:
            raise ItemNotFound(f"There is no candidate {one!r} in this project; look at what there is to see the ids.")
