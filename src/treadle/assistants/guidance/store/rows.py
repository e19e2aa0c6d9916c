"""Conversion between rows and values, and which rows a user may see. What they mean is up to each concept's module."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, RowMapping, Table, and_, exists, false, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store.errors import ItemNotFound, ProjectNotFound
from treadle.assistants.guidance.store.tables import members, projects
from treadle.assistants.guidance.store.validation import is_storable_text

Value = TypeVar("Value", bound=Struct)


class Grantee(str):
    """The name of a user, with the projects that one owner shares with them: `access` says of each whether they may change it."""

    __slots__ = ("access", "owner")
    owner: str
    access: Mapping[str, bool]

    def __new__(cls, name: str, owner: str, access: Mapping[str, bool]) -> Self:
        """Create it."""
        self = super().__new__(cls, name)
        self.owner, self.access = owner, access
        return self


def row_to_value(row: RowMapping, kind: type[Value], **more: Any) -> Value:
    """Convert a row to a value; columns that the value doesn't have are left out."""
    kept = {key: row[key] for key in kind.__struct_fields__ if key in row}
    return msgspec.convert(kept | more, kind)


def value_to_row(value: Struct, table: Table) -> dict[str, Any]:
    """Return the columns of a value that a table stores."""
    return {key: part for key, part in asdict(value).items() if key in table.c}


def is_visible_to(user: str) -> ColumnElement[bool]:
    """Return the condition for projects that a user may see: their own, and those they are a member of; or those of a grantee."""
    if isinstance(user, Grantee):
        return and_(projects.c.owner == user.owner, projects.c.id.in_([*user.access]))
    if not is_storable_text(user):
        return false()
    shared = exists().where(members.c.project_id == projects.c.id, members.c.member == user)
    return or_(projects.c.owner == user, shared)


def project_not_found(project_id: str) -> ProjectNotFound:
    """Return the error for a missing project. It is the same for a project of others, so that it doesn't reveal which exist."""
    return ProjectNotFound(f"There is no project {project_id!r} among yours; list your projects to see their ids.")


async def load_project_row(connection: AsyncConnection, user: str, project_id: str, *, lock: bool = False) -> RowMapping:
    """Return the row of a project that the user may see. With `lock`, nothing else changes it until the transaction ends."""
    if not is_storable_text(project_id):
        raise project_not_found(project_id)
    query = select(projects).where(projects.c.id == project_id, is_visible_to(user))
    row = (await connection.execute(query.with_for_update() if lock else query)).mappings().one_or_none()
    if row is None:
        raise project_not_found(project_id)
    return row


async def load_row(connection: AsyncConnection, user: str, table: Table, one: str, what: str) -> RowMapping:
    """Return the row of an item in a project that the user may see; `what` is its name in the error message."""
    if is_storable_text(one):
        query = select(table).join(projects, projects.c.id == table.c.project_id).where(table.c.id == one, is_visible_to(user))
        if (row := (await connection.execute(query)).mappings().one_or_none()) is not None:
            return row
    raise ItemNotFound(f"There is no {what} {one!r} in your projects; look at what there is to see the ids.")


async def load_rows(
    connection: AsyncConnection, table: Table, *conditions: ColumnElement[bool], last: int | None = None
) -> Sequence[RowMapping]:
    """Return the rows in insertion order; only the `last` few of them, if given."""
    if last is None:
        return (await connection.execute(select(table).where(*conditions).order_by(table.c.number))).mappings().all()
    query = select(table).where(*conditions).order_by(table.c.number.desc()).limit(max(last, 0))
    return (await connection.execute(query)).mappings().all()[::-1]
