"""A whole project as one JSON value, and a new project from one. Whoever brings one in owns it; it gets ids of its own."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Table, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store import tables
from treadle.assistants.guidance.store.bundle import ProjectBundle, renewed
from treadle.assistants.guidance.store.checks import name, read
from treadle.assistants.guidance.store.models import model_in
from treadle.assistants.guidance.store.part import Part
from treadle.assistants.guidance.store.projects import project_of
from treadle.assistants.guidance.store.rows import project_row, row_of, rows_in_order, value_of
from treadle.assistants.guidance.store.values import (
    Candidate,
    ChatMessage,
    ChatSession,
    Issue,
    ProblemSpec,
    Project,
    Provenance,
    Run,
    WorldModel,
    now,
)
from treadle.assistants.guidance.store.whole import whole

Value = TypeVar("Value", bound=Struct)


class Exports(Part):
    """Export and import projects."""

    @whole
    async def export_project(self, user: str, project_id: str) -> dict[str, Any]:
        """Everything of a project as it is at one moment, in plain JSON values. Whose it is, and who may see it, is left out."""
        async with self._database.reading() as connection:
            project = await project_of(connection, await project_row(connection, user, project_id))
            bundle = await _bundle(connection, replace(project, owner="", members=()))
        return msgspec.json.decode(msgspec.json.encode(bundle))

    @whole
    async def import_project(self, user: str, value: dict[str, Any]) -> Project:
        """A new project of this user, from what `export_project` gave."""
        name("name of a user", user)
        bundle = renewed(read(value, ProjectBundle), user)
        bundle = replace(bundle, project=replace(bundle.project, updated_at=now()))
        async with self._database.writing() as connection:
            await _keep(connection, bundle)
        return bundle.project


async def _bundle(connection: AsyncConnection, project: Project) -> ProjectBundle:
    async def those(table: Table, kind: type[Value]) -> tuple[Value, ...]:
        rows = await rows_in_order(connection, table, table.c.project_id == project.id)
        return tuple(value_of(row, kind) for row in rows)

    return ProjectBundle(
        project,
        await model_in(connection, tables.problem_specs, ProblemSpec, project.id),
        await model_in(connection, tables.world_models, WorldModel, project.id),
        await those(tables.chat_sessions, ChatSession),
        await those(tables.messages, ChatMessage),
        await those(tables.runs, Run),
        await those(tables.candidates, Candidate),
        await those(tables.issues, Issue),
        await those(tables.provenance, Provenance),
    )


async def _keep(connection: AsyncConnection, bundle: ProjectBundle) -> None:
    project = bundle.project
    lists: list[tuple[Table, Sequence[Struct]]] = [
        (tables.chat_sessions, bundle.chat_sessions),
        (tables.messages, bundle.messages),
        (tables.runs, bundle.runs),
        (tables.candidates, bundle.candidates),
        (tables.issues, bundle.issues),
        (tables.provenance, bundle.provenance),
    ]
    counter = max(len(values) for _, values in lists)
    await connection.execute(insert(tables.projects).values(row_of(project, tables.projects) | {"counter": counter}))
    for table, model in ((tables.problem_specs, bundle.problem_spec), (tables.world_models, bundle.world_model)):
        if model is not None:
            await connection.execute(insert(table).values(_model_row(model, table, project)))
    for table, values in lists:
        rows = [row_of(each, table) | {"project_id": project.id, "number": number} for number, each in enumerate(values, 1)]
        if rows:
            await connection.execute(insert(table), rows)


def _model_row(model: ProblemSpec | WorldModel, table: Table, project: Project) -> dict[str, Any]:
    """A model's row. One that was written by hand has no version and no time yet."""
    since = {"version": max(model.version, 1), "updated_at": model.updated_at or project.updated_at}
    return row_of(model, table) | since | {"project_id": project.id}
