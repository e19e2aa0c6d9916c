"""A project while it is being changed. Changes of one project wait for each other, so each sees what the one before left."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import RowMapping, Table, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.checks import checked, sound
from treadle.assistants.guidance.store.database import Database
from treadle.assistants.guidance.store.errors import BadValue, NotThere
from treadle.assistants.guidance.store.rows import project_row, row_by_id, row_of
from treadle.assistants.guidance.store.tables import projects, provenance
from treadle.assistants.guidance.store.values import Provenance, new_id, now


class Change:
    """What can be done to a project: rows that come into it are numbered in their order."""

    def __init__(self, connection: AsyncConnection, user: str, project: RowMapping) -> None:
        self.connection = connection
        self.user = user
        self.project = project
        self.project_id: str = project["id"]
        self.counter: int = project["counter"]
        self.moment = now()

    async def add(self, table: Table, value: Struct) -> None:
        """Keep a value as the last of its kind in this project."""
        self.counter += 1
        row = {**row_of(value, table), "project_id": self.project_id, "number": self.counter}
        await self.connection.execute(insert(table).values(row))

    async def there(self, table: Table, one: str, what: str) -> RowMapping | None:
        """The row by an id of the caller's, if it was kept before; `BadValue` where another project has one by it."""
        row = (await self.connection.execute(select(table).where(table.c.id == one))).mappings().one_or_none() if one else None
        if row is not None and row["project_id"] != self.project_id:
            raise BadValue(f"The id {one!r} of a {what} is taken; try again.")
        return row

    async def set(self, table: Table, one: str, **columns: Any) -> None:
        """Change some columns of a row."""
        await self.connection.execute(update(table).where(table.c.id == one).values(columns))

    async def account(self, why: Provenance, subject: str, version: int | None = None) -> Provenance:
        """Keep how a change came about, with the change."""
        kept = checked(replace(why, id=new_id(), subject=subject, version=version, user=self.user))
        await self.add(provenance, kept)
        return kept

    async def expect(self, table: Table, one: str | None, what: str) -> None:
        """What a row refers to is in this project, if it refers to anything."""
        if one is None:
            return
        query = select(table.c.id).where(table.c.id == one, table.c.project_id == self.project_id)
        if not sound(one) or (await self.connection.execute(query)).first() is None:
            raise NotThere(f"There is no {what} {one!r} in this project; look at what there is to see the ids.")


@asynccontextmanager
async def changing(database: Database, user: str, project_id: str) -> AsyncGenerator[Change]:
    """Change a project. All of it is written at the end, or nothing."""
    async with database.writing() as connection, _change(connection, user, project_id) as change:
        yield change


@asynccontextmanager
async def changing_one(
    database: Database, user: str, table: Table, one: str, what: str
) -> AsyncGenerator[tuple[Change, RowMapping]]:
    """Change something in a project: its row, read once nobody else can change it."""
    async with database.writing() as connection:
        found = await row_by_id(connection, user, table, one, what)
        async with _change(connection, user, found["project_id"]) as change:
            yield change, await row_by_id(connection, user, table, one, what)


@asynccontextmanager
async def _change(connection: AsyncConnection, user: str, project_id: str) -> AsyncGenerator[Change]:
    change = Change(connection, user, await project_row(connection, user, project_id, lock=True))
    yield change
    kept = {"counter": change.counter, "updated_at": change.moment}
    await connection.execute(update(projects).where(projects.c.id == project_id).values(kept))
