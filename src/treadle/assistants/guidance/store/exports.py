"""A whole project as one JSON value, and a new project from one.

The user who imports one owns it; it gets new ids.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace
from sqlalchemy import Table, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from treadle.assistants.guidance.store import tables
from treadle.assistants.guidance.store.database import StoreMixin, in_any_store, run_to_completion
from treadle.assistants.guidance.store.errors import InvalidValue
from treadle.assistants.guidance.store.models import load_model
from treadle.assistants.guidance.store.projects import load_project
from treadle.assistants.guidance.store.rows import load_project_row, load_rows, row_to_value, value_to_row
from treadle.assistants.guidance.store.validation import check_name, type_words, value_from_json
from treadle.assistants.guidance.store.values import (
    Candidate,
    ChatMessage,
    ChatSession,
    ProblemSpec,
    Project,
    ProjectIssue,
    Provenance,
    Run,
    WorldModel,
    new_id,
    utc_now,
)

BUNDLE_FORMAT: Literal["treadle.guidance.project/1"] = "treadle.guidance.project/1"
Thing = TypeVar("Thing", Project, ChatSession, ChatMessage, Run, Candidate, ProjectIssue, Provenance)


class ProjectBundle(Struct, frozen=True):
    """Everything in one project, in order. Its owner isn't part of it."""

    project: Project
    problem_spec: ProblemSpec | None = None
    world_model: WorldModel | None = None
    chat_sessions: tuple[ChatSession, ...] = ()
    messages: tuple[ChatMessage, ...] = ()
    runs: tuple[Run, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    issues: tuple[ProjectIssue, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    format: Literal["treadle.guidance.project/1"] = BUNDLE_FORMAT


def with_new_ids(bundle: ProjectBundle, owner: str) -> ProjectBundle:
    """Return the same project for another owner, with new ids throughout."""
    names = _assign_new_ids(bundle)
    _check_references(bundle)
    return replace(
        bundle,
        project=replace(_renew_item(bundle.project, names), owner=owner, members=(), can_edit=True),
        chat_sessions=tuple(_renew_item(each, names) for each in bundle.chat_sessions),
        messages=tuple(_renew_item(each, names) for each in bundle.messages),
        runs=tuple(_renew_item(each, names) for each in bundle.runs),
        candidates=tuple(_renew_item(each, names) for each in bundle.candidates),
        issues=tuple(_renew_item(each, names) for each in bundle.issues),
        provenance=tuple(_renew_item(each, names) for each in bundle.provenance),
    )


def _bundle_items(bundle: ProjectBundle) -> "list[ChatSession | ChatMessage | Run | Candidate | ProjectIssue | Provenance]":
    return [
        *bundle.chat_sessions,
        *bundle.messages,
        *bundle.runs,
        *bundle.candidates,
        *bundle.issues,
        *bundle.provenance,
    ]


def _assign_new_ids(bundle: ProjectBundle) -> dict[str, str]:
    names = {bundle.project.id: new_id()}
    for thing in _bundle_items(bundle):
        if thing.id in names:
            raise InvalidValue(f"Two things of this project have the id {thing.id!r}; each needs one of its own.")
        names[thing.id] = new_id()
    return names


def _check_references(bundle: ProjectBundle) -> None:
    """Raise if something refers to an item that isn't in the bundle."""
    messages = {each.id for each in bundle.messages}
    there = {
        "chat_session_id": {each.id for each in bundle.chat_sessions},
        "run_id": {each.id for each in bundle.runs},
        "candidate_id": {each.id for each in bundle.candidates},
        "recommended_message_id": messages,
        "run_summary_message_id": messages,
    }
    for thing in _bundle_items(bundle):
        for key, known in there.items():
            one = getattr(thing, key, None)
            if one is not None and one not in known:
                raise InvalidValue(
                    f"The {type_words(type(thing))} {thing.id!r} has the {key} {one!r}, which isn't in this project."
                )


def _renew_item(thing: Thing, names: dict[str, str]) -> Thing:
    """Return an item with its new ids. Only ids and what programs wrote is changed; what people wrote stays as it is."""
    fields = asdict(thing)
    changed = {key: _replace_ids(fields[key], names) for key in fields if key == "id" or key.endswith(("_id", "_ids"))}
    plain = {key: _replace_ids(part, names) for key, part in fields.items() if isinstance(part, dict)}
    return replace(thing, **changed, **plain)


def _replace_ids(value: Any, names: dict[str, str]) -> Any:
    match value:
        case str():
            return names.get(value, value)
        case dict():
            return {key: _replace_ids(part, names) for key, part in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_replace_ids(part, names) for part in cast("Sequence[Any]", value)]
        case _:
            return value


Value = TypeVar("Value", bound=Struct)


class ExportsMixin(StoreMixin):
    """Export and import projects."""

    @in_any_store
    async def export_project(self, user: str, project_id: str) -> dict[str, Any]:
        """Return everything in a project, as a consistent snapshot in plain JSON values. Its owner and members are left out."""
        async with self._database.reading() as connection:
            project = await load_project(connection, await load_project_row(connection, user, project_id))
            bundle = await _load_bundle(connection, replace(project, owner="", members=()))
        return msgspec.json.decode(msgspec.json.encode(bundle))

    @run_to_completion
    async def import_project(self, user: str, value: dict[str, Any]) -> Project:
        """Create a project of this user, from the result of `export_project`."""
        check_name("name of a user", user)
        bundle = with_new_ids(value_from_json(value, ProjectBundle), user)
        bundle = replace(bundle, project=replace(bundle.project, updated_at=utc_now()))
        async with self._database.writing() as connection:
            await _insert_bundle(connection, bundle)
        return bundle.project


async def _load_bundle(connection: AsyncConnection, project: Project) -> ProjectBundle:
    async def those(table: Table, kind: type[Value]) -> tuple[Value, ...]:
        rows = await load_rows(connection, table, table.c.project_id == project.id)
        return tuple(row_to_value(row, kind) for row in rows)

    return ProjectBundle(
        project,
        await load_model(connection, tables.problem_specs, ProblemSpec, project.id),
        await load_model(connection, tables.world_models, WorldModel, project.id),
        await those(tables.chat_sessions, ChatSession),
        await those(tables.messages, ChatMessage),
        await those(tables.runs, Run),
        await those(tables.candidates, Candidate),
        await those(tables.issues, ProjectIssue),
        await those(tables.provenance, Provenance),
    )


async def _insert_bundle(connection: AsyncConnection, bundle: ProjectBundle) -> None:
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
    await connection.execute(insert(tables.projects).values(value_to_row(project, tables.projects) | {"counter": counter}))
    for table, model in ((tables.problem_specs, bundle.problem_spec), (tables.world_models, bundle.world_model)):
        if model is not None:
            await connection.execute(insert(table).values(_to_model_row(model, table, project)))
    for table, values in lists:
        rows = [value_to_row(each, table) | {"project_id": project.id, "number": number} for number, each in enumerate(values, 1)]
        if rows:
            await connection.execute(insert(table), rows)


def _to_model_row(model: ProblemSpec | WorldModel, table: Table, project: Project) -> dict[str, Any]:
    """Return a model's row. One that was written by hand has no version and no time yet."""
    since = {"version": max(model.version, 1), "updated_at": model.updated_at or project.updated_at}
    return value_to_row(model, table) | since | {"project_id": project.id}
