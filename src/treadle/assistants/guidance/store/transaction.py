"""Transaction on a project. Transactions on one project wait for each other, so each sees what the previous one left."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import RowMapping, Table, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.database import ProjectDatabase
from treadle.assistants.guidance.store.errors import InvalidValue, ItemNotFound, ReadOnlyProject
from treadle.assistants.guidance.store.rows import Grantee, load_project_row, load_row, value_to_row
from treadle.assistants.guidance.store.tables import projects, provenance
from treadle.assistants.guidance.store.validation import is_storable_text, validate_value
from treadle.assistants.guidance.store.values import Provenance, new_id, utc_now


class ProjectTransaction:
    """Write operations on a project: rows added to it are numbered in order."""

    def __init__(self, connection: AsyncConnection, user: str, project: RowMapping) -> None:
        self.connection = connection
        self.user = str(user)
        self.project = project
        self.project_id: str = project["id"]
        self.counter: int = project["counter"]
        self.moment = utc_now()

    async def add(self, table: Table, value: Struct) -> None:
        """Insert a value as the last of its kind in this project."""
        self.counter += 1
        row = {**value_to_row(value, table), "project_id": self.project_id, "number": self.counter}
        await self.connection.execute(insert(table).values(row))

    async def there(self, table: Table, one: str, what: str) -> RowMapping | None:
        """Return the row of a caller's id, if it exists; raises `InvalidValue` if it is in another project."""
        row = (await self.connection.execute(select(table).where(table.c.id == one))).mappings().one_or_none() if one else None
        if row is not None and row["project_id"] != self.project_id:
            raise InvalidValue(f"The id {one!r} of a {what} is taken; try again.")
        return row

    async def set(self, table: Table, one: str, **columns: Any) -> None:
        """Update some columns of a row."""
        await self.connection.execute(update(table).where(table.c.id == one).values(columns))

    async def account(self, why: Provenance, subject: str, version: int | None = None) -> Provenance:
        """Store the provenance of a change, with the change."""
        kept = validate_value(replace(why, id=new_id(), subject=subject, version=version, user=self.user))
        await self.add(provenance, kept)
        return kept

    async def expect(self, table: Table, one: str | None, what: str) -> None:
        """Check that the row that another one refers to is in this project, if it refers to any."""
        if one is None:
            return
        query = select(table.c.id).where(table.c.id == one, table.c.project_id == self.project_id)
        if not is_storable_text(one) or (await self.connection.execute(query)).first() is None:
            raise ItemNotFound(f"There is no {what} {one!r} in this project; look at what there is to see the ids.")


@asynccontextmanager
async def project_transaction(database: ProjectDatabase, user: str, project_id: str) -> AsyncGenerator[ProjectTransaction]:
    """Open a transaction on a project. All of it is written at the end, or nothing."""
    async with database.writing() as connection, _open_transaction(connection, user, project_id) as change:
        yield change


@asynccontextmanager
async def row_transaction(
    database: ProjectDatabase, user: str, table: Table, one: str, what: str
) -> AsyncGenerator[tuple[ProjectTransaction, RowMapping]]:
    """Open a transaction on a project's item: its row is read once it is locked."""
    async with database.writing() as connection:
        found = await load_row(connection, user, table, one, what)
        async with _open_transaction(connection, user, found["project_id"]) as change:
            yield change, await load_row(connection, user, table, one, what)


@asynccontextmanager
async def _open_transaction(connection: AsyncConnection, user: str, project_id: str) -> AsyncGenerator[ProjectTransaction]:
    change = ProjectTransaction(connection, user, await load_project_row(connection, user, project_id, lock=True))
    if isinstance(user, Grantee) and not user.access[project_id]:
        raise ReadOnlyProject(f"{user.owner} shares this project with you to read; ask them to let you change it.")
    yield change
    kept = {"counter": change.counter, "updated_at": change.moment}
    await connection.execute(update(projects).where(projects.c.id == project_id).values(kept))
