"""The tables as the code knows them. How a database comes to have them is `migrations`; a test holds the two together.

Columns are named as the fields of the values. Every row of a project has the project's id, and a `number` by which it stands in
order with the others: times can be equal, numbers can't.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Column, DateTime, ForeignKey, Index, Integer, MetaData, String, Table, Text, UniqueConstraint
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

PREFIX = "guidance_"
VERSIONS = f"{PREFIX}schema"  # which migration a database is at

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Moments(TypeDecorator[datetime]):
    """Times in UTC, also where the database knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """On the way in."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """On the way out."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _id() -> "Column[Any]":
    return Column("id", String(64), primary_key=True)


def _text(name: str) -> "Column[Any]":
    return Column(name, Text, nullable=False)


def _maybe(name: str) -> "Column[Any]":
    return Column(name, Text)


def _integer(name: str) -> "Column[Any]":
    return Column(name, Integer, nullable=False)


def _json(name: str) -> "Column[Any]":
    return Column(name, JSON, nullable=False)


def _moment(name: str) -> "Column[Any]":
    return Column(name, Moments, nullable=False)


def _parent(name: str, table: str, *, primary_key: bool = False) -> "Column[Any]":
    """What a row belongs to, and goes with."""
    target = ForeignKey(f"{PREFIX}{table}.id", ondelete="CASCADE")
    return Column(name, String(64), target, primary_key=primary_key, nullable=False)


def _of_project(name: str, *columns: "Column[Any] | Index") -> Table:
    """A table whose rows belong to a project, in order."""
    kept = (_id(), _parent("project_id", "projects"), _integer("number"), *columns)
    return Table(f"{PREFIX}{name}", metadata, *kept, UniqueConstraint("project_id", "number"))


projects = Table(
    f"{PREFIX}projects",
    metadata,
    _id(),
    Column("owner", Text, nullable=False, index=True),
    _text("title"),
    _text("description"),
    _integer("version"),
    _integer("counter"),  # the number of the last row that was added to it
    _moment("created_at"),
    _moment("updated_at"),
)

members = Table(
    f"{PREFIX}members",
    metadata,
    _parent("project_id", "projects", primary_key=True),
    Column("member", Text, primary_key=True, index=True),
)

chat_sessions = _of_project(
    "chat_sessions",
    _text("title"),
    _text("mode"),
    _maybe("run_id"),
    _maybe("candidate_id"),
    _moment("created_at"),
)

messages = _of_project(
    "messages",
    _parent("chat_session_id", "chat_sessions"),
    _text("role"),
    _text("content"),
    _json("metadata"),
    _moment("created_at"),
    Index(None, "chat_session_id", "number"),
)

problem_specs = Table(
    f"{PREFIX}problem_specs",
    metadata,
    _parent("project_id", "projects", primary_key=True),
    _json("constraints"),
    _json("goals"),
    _text("resolution"),
    _text("mode"),
    _integer("version"),
    _moment("updated_at"),
)

world_models = Table(
    f"{PREFIX}world_models",
    metadata,
    _parent("project_id", "projects", primary_key=True),
    _json("actors"),
    _json("mechanisms"),
    _json("resources"),
    _json("constraints"),
    _json("assumptions"),
    _json("simplifications"),
    _integer("version"),
    _moment("updated_at"),
)

runs = _of_project(
    "runs",
    _text("mode"),
    _json("config"),
    _text("status"),
    _maybe("chat_session_id"),
    _maybe("recommended_message_id"),
    Column("recommended_config_snapshot", JSON(none_as_null=True)),
    _maybe("ui_trigger_id"),
    _maybe("ui_trigger_source"),
    _json("ui_trigger_metadata"),
    Column("ui_triggered_at", Moments),
    _maybe("run_summary_message_id"),
    _integer("candidate_count"),
    _integer("scenario_count"),
    _integer("evaluation_count"),
    _json("metrics"),
    _json("llm_usage"),
    _text("error_summary"),
    _moment("created_at"),
    Column("started_at", Moments),
    Column("completed_at", Moments),
)

candidates = _of_project(
    "candidates",
    _parent("run_id", "runs"),
    _text("mechanism_description"),
    _text("origin"),
    _json("predicted_effects"),
    _json("scores"),
    _json("parent_ids"),
    _text("status"),
    _moment("created_at"),
    Index(None, "run_id", "number"),
)

issues = _of_project(
    "issues",
    _text("type"),
    _text("severity"),
    _text("description"),
    _text("resolution_status"),
    _text("resolution_note"),
    _maybe("run_id"),
    _maybe("candidate_id"),
    _moment("created_at"),
    Column("resolved_at", Moments),
)

provenance = _of_project(
    "provenance",
    _text("type"),
    _text("description"),
    _text("actor"),
    _maybe("source"),
    _json("reference_ids"),
    _json("metadata"),
    _moment("timestamp"),
    _text("subject"),
    Column("version", Integer),
    _text("user"),
)
