"""The two values a project has one of each, and people change together: how one is read, and put in place of the one seen."""

from typing import TypeVar

from msgspec.structs import replace
from sqlalchemy import Table, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.change import Change
from treadle.assistants.guidance.store.checks import checked, words
from treadle.assistants.guidance.store.errors import ChangedMeanwhile
from treadle.assistants.guidance.store.rows import row_of, value_of
from treadle.assistants.guidance.store.values import ProblemSpec, Provenance, WorldModel

Model = TypeVar("Model", ProblemSpec, WorldModel)


async def model_in(connection: AsyncConnection, table: Table, kind: type[Model], project_id: str) -> Model | None:
    """The one of a project; None where it has none yet."""
    row = (await connection.execute(select(table).where(table.c.project_id == project_id))).mappings().one_or_none()
    return None if row is None else value_of(row, kind)


async def put_model(change: Change, table: Table, wanted: Model, expected: int, why: Provenance) -> Model:
    """Put one in place of the version that was seen (0: there was none), with how that came about."""
    kind = type(wanted)
    current = await model_in(change.connection, table, kind, change.project_id) or kind()
    if current.version != expected:
        raise ChangedMeanwhile(f"Somebody else has changed the {words(kind)} meanwhile; look at it again.", current)
    kept = checked(replace(wanted, version=expected + 1, updated_at=change.moment))
    row = {**row_of(kept, table), "project_id": change.project_id}
    first = insert(table).values(row)
    await change.connection.execute(update(table).where(table.c.project_id == change.project_id).values(row) if expected else first)
    await change.account(why, words(kind).replace(" ", "_"), kept.version)
    return kept
