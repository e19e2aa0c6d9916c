"""The world model of a project, which people and the assistant change by turns."""

from treadle.assistants.guidance.store.change import changing
from treadle.assistants.guidance.store.models import model_in, put_model
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.rows import project_row
from treadle.assistants.guidance.store.tables import world_models
from treadle.assistants.guidance.store.values import Provenance, WorldModel
from treadle.assistants.guidance.store.whole import whole


class Worlds(Part):
    """Get and put the world model."""

    @whole
    async def get_world_model(self, user: str, project_id: str) -> WorldModel | None:
        """The world model of a project; None where it has none yet."""
        async with self._database.reading() as connection:
            await project_row(connection, user, project_id)
            return await model_in(connection, world_models, WorldModel, project_id)

    @whole
    async def put_world_model(self, user: str, project_id: str, world: WorldModel, *, expected: int, why: Provenance) -> WorldModel:
        """Put one in place of the version that was seen (0: there was none), or `ChangedMeanwhile` with what is there now."""
        async with changing(self._database, user, project_id) as change:
            return await put_model(change, world_models, world, expected, why)
