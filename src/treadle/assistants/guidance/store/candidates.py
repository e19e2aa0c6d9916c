"""Candidates of runs: the solutions they looked at."""

from typing import Any

from msgspec.structs import replace
from sqlalchemy import select, update

from treadle.assistants.guidance.store.change import Change, changing_one
from treadle.assistants.guidance.store.checks import checked
from treadle.assistants.guidance.store.errors import NotThere
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row, row_by_id, rows_in_order, value_of
from treadle.assistants.guidance.store.runs import RUN
from treadle.assistants.guidance.store.tables import candidates, runs
from treadle.assistants.guidance.store.values import Candidate, CandidateStatus, Provenance, new_id
from treadle.assistants.guidance.store.whole import whole

CANDIDATE = "candidate"


class Candidates(Part):
    """Create, score, list and get candidates."""

    @whole
    async def create_candidate(
        self, user: str, candidate: Candidate, why: Provenance | None = None, *, candidate_id: str = ""
    ) -> Candidate:
        """A new candidate of `candidate.run_id`, perhaps with how it came about; the run counts it.

        With an id of the caller's it is made once: the one that is there already comes back.
        """
        fresh = checked(replace(candidate, id=candidate_id or new_id()))
        async with changing_one(self._database, user, runs, candidate.run_id, RUN) as (change, _):
            if (row := await change.there(candidates, candidate_id, CANDIDATE)) is not None:
                return value_of(row, Candidate)
            await _parents(change, fresh.parent_ids)
            await change.add(candidates, fresh)
            one_more = {"candidate_count": runs.c.candidate_count + 1}
            await change.connection.execute(update(runs).where(runs.c.id == fresh.run_id).values(one_more))
            if why is not None:
                await change.account(replace(why, reference_ids=(*why.reference_ids, fresh.id)), CANDIDATE)
            return replace(fresh, project_id=change.project_id)

    @whole
    async def update_candidate(
        self, user: str, candidate_id: str, why: Provenance, *, scores: dict[str, Any], status: CandidateStatus
    ) -> Candidate:
        """Keep how a candidate was scored, with how that came about."""
        async with changing_one(self._database, user, candidates, candidate_id, CANDIDATE) as (change, row):
            candidate = checked(value_of(row, Candidate, scores=scores, status=status))
            await change.set(candidates, candidate_id, scores=candidate.scores, status=candidate.status)
            await change.account(replace(why, reference_ids=(*why.reference_ids, candidate_id)), CANDIDATE)
            return candidate

    @whole
    async def list_candidates(self, user: str, run_id: str) -> list[Candidate]:
        """The candidates of a run, in order."""
        async with self._database.reading() as connection:
            await row_by_id(connection, user, runs, run_id, RUN)
            rows = await rows_in_order(connection, candidates, candidates.c.run_id == run_id)
            return [value_of(row, Candidate) for row in rows]

    @whole
    async def list_project_candidates(self, user: str, project_id: str) -> list[Candidate]:
        """The candidates of all runs of a project, in order."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            rows = await rows_in_order(connection, candidates, candidates.c.project_id == project_id)
            return [value_of(row, Candidate) for row in rows]

    @whole
    async def get_candidate(self, user: str, candidate_id: str) -> Candidate:
        """A candidate, or `NotThere`."""
        async with self._database.reading() as connection:
            return value_of(await row_by_id(connection, user, candidates, candidate_id, CANDIDATE), Candidate)


async def _parents(change: Change, ids: tuple[str, ...]) -> None:
    """The candidates that one was made from are in the same project."""
    query = select(candidates.c.id).where(candidates.c.project_id == change.project_id)
    known = set((await change.connection.execute(query)).scalars()) if ids else set[str]()
    for one in ids:
        if one not in known:
            raise NotThere(f"There is no candidate {one!r} in this project; look at what there is to see the ids.")
