"""The problem spec of a project, which people and the assistant change by turns."""

from treadle.assistants.guidance.store.change import changing
from treadle.assistants.guidance.store.models import model_in, put_model
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row
from treadle.assistants.guidance.store.tables import problem_specs
from treadle.assistants.guidance.store.values import ProblemSpec, Provenance
from treadle.assistants.guidance.store.whole import whole


class Specs(Part):
    """Get and put the problem spec."""

    @whole
    async def get_problem_spec(self, user: str, project_id: str) -> ProblemSpec | None:
        """The problem spec of a project; None where it has none yet."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            return await model_in(connection, problem_specs, ProblemSpec, project_id)

    @whole
    async def put_problem_spec(
        self, user: str, project_id: str, spec: ProblemSpec, *, expected: int, why: Provenance
    ) -> ProblemSpec:
        """Put a spec in place of the version that was seen (0: there was none), or `ChangedMeanwhile` with what is there now."""
        async with changing(self._database, user, project_id) as change:
            return await put_model(change, problem_specs, spec, expected, why)
