"""Problem spec and world model of a project: one of each, changed by people and the assistant by turns.

Each is read, and replaced only if its version is the one that was seen.
"""

from typing import TypeVar

from msgspec.structs import replace
from sqlalchemy import Table, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.database import StoreMixin, in_any_store
from treadle.assistants.guidance.store.errors import VersionConflict
from treadle.assistants.guidance.store.rows import load_project_row, row_to_value, value_to_row
from treadle.assistants.guidance.store.tables import problem_specs, world_models
from treadle.assistants.guidance.store.transaction import ProjectTransaction, project_transaction
from treadle.assistants.guidance.store.validation import type_words, validate_value
from treadle.assistants.guidance.store.values import ProblemSpec, Provenance, WorldModel

Model = TypeVar("Model", ProblemSpec, WorldModel)


async def load_model(connection: AsyncConnection, table: Table, kind: type[Model], project_id: str) -> Model | None:
    """Return a project's problem spec or world model; None if it has none yet."""
    row = (await connection.execute(select(table).where(table.c.project_id == project_id))).mappings().one_or_none()
    return None if row is None else row_to_value(row, kind)


async def put_model(change: ProjectTransaction, table: Table, wanted: Model, expected: int, why: Provenance) -> Model:
    """Replace the version that was seen (0: there was none), with the provenance of the change."""
    kind = type(wanted)
    current = await load_model(change.connection, table, kind, change.project_id) or kind()
    if current.version != expected:
        raise VersionConflict(f"Another user has changed the {type_words(kind)} meanwhile; look at it again.", current)
    kept = validate_value(replace(wanted, version=expected + 1, updated_at=change.moment))
    row = {**value_to_row(kept, table), "project_id": change.project_id}
    first = insert(table).values(row)
    await change.connection.execute(update(table).where(table.c.project_id == change.project_id).values(row) if expected else first)
    await change.account(why, type_words(kind).replace(" ", "_"), kept.version)
    return kept


class ProblemSpecMixin(StoreMixin):
    """Get and put the problem spec."""

    @in_any_store
    async def get_problem_spec(self, user: str, project_id: str) -> ProblemSpec | None:
        """Return the problem spec of a project; None if it has none yet."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            return await load_model(connection, problem_specs, ProblemSpec, project_id)

    @in_any_store
    async def put_problem_spec(
        self, user: str, project_id: str, spec: ProblemSpec, *, expected: int, why: Provenance
    ) -> ProblemSpec:
        """Replace the version that was seen (0: there was none); raises `VersionConflict` with the stored spec."""
        async with project_transaction(self._database, user, project_id) as change:
            return await put_model(change, problem_specs, spec, expected, why)


class WorldModelMixin(StoreMixin):
    """Get and put the world model."""

    @in_any_store
    async def get_world_model(self, user: str, project_id: str) -> WorldModel | None:
        """Return the world model of a project; None if it has none yet."""
        async with self._database.reading() as connection:
            await load_project_row(connection, user, project_id)
            return await load_model(connection, world_models, WorldModel, project_id)

    @in_any_store
    async def put_world_model(self, user: str, project_id: str, world: WorldModel, *, expected: int, why: Provenance) -> WorldModel:
        """Replace the version that was seen (0: there was none); raises `VersionConflict` with the stored model."""
        async with project_transaction(self._database, user, project_id) as change:
            return await put_model(change, world_models, world, expected, why)
