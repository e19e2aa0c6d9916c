"""Rows and values: how one becomes the other, and which rows a user may see. What they mean is for each concept's file."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, RowMapping, Table, exists, false, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.checks import sound
from treadle.assistants.guidance.store.errors import NotThere, ProjectNotFound
from treadle.assistants.guidance.store.tables import members, projects

Value = TypeVar("Value", bound=Struct)


def value_of(row: RowMapping, kind: type[Value], **more: Any) -> Value:
    """The value of a row; columns that the value doesn't have are left out."""
    kept = {key: row[key] for key in kind.__struct_fields__ if key in row}
    return msgspec.convert(kept | more, kind)


def row_of(value: Struct, table: Table) -> dict[str, Any]:
    """What a table keeps of a value."""
    return {key: part for key, part in asdict(value).items() if key in table.c}


def visible(user: str) -> ColumnElement[bool]:
    """Which projects a user may see: their own, and those they are a member of."""
    if not sound(user):
        return false()
    shared = exists().where(members.c.project_id == projects.c.id, members.c.member == user)
    return or_(projects.c.owner == user, shared)


def no_project(project_id: str) -> ProjectNotFound:
    """There is none, or none for this user: the sentence is the same, so that it tells nobody which."""
    return ProjectNotFound(f"There is no project {project_id!r} among yours; list your projects to see their ids.")


async def project_row(connection: AsyncConnection, user: str, project_id: str, *, lock: bool = False) -> RowMapping:
    """The row of a project that the user may see. Locked, nobody else changes the project until the transaction ends."""
    if not sound(project_id):
        raise no_project(project_id)
    query = select(projects).where(projects.c.id == project_id, visible(user))
    row = (await connection.execute(query.with_for_update() if lock else query)).mappings().one_or_none()
    if row is None:
        raise no_project(project_id)
    return row


async def row_by_id(connection: AsyncConnection, user: str, table: Table, one: str, what: str) -> RowMapping:
    """The row of something in a project that the user may see; `what` says what it is called."""
    if sound(one):
        query = select(table).join(projects, projects.c.id == table.c.project_id).where(table.c.id == one, visible(user))
        if (row := (await connection.execute(query)).mappings().one_or_none()) is not None:
            return row
    raise NotThere(f"There is no {what} {one!r} in your projects; look at what there is to see the ids.")


async def rows_in_order(
    connection: AsyncConnection, table: Table, *conditions: ColumnElement[bool], last: int | None = None
) -> Sequence[RowMapping]:
    """The rows in the order in which they came; the last few of them, if that is all that is wanted."""
    if last is None:
        return (await connection.execute(select(table).where(*conditions).order_by(table.c.number))).mappings().all()
    query = select(table).where(*conditions).order_by(table.c.number.desc()).limit(max(last, 0))
    return (await connection.execute(query)).mappings().all()[::-1]
