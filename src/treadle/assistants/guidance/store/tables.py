"""The SQLAlchemy tables. `migrations` creates them in a database; a test compares the two.

Columns are named as the fields of the values. Every row of a project has the project's id, and a `number` that orders
it among the others: times can be equal, numbers can't.
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


class UtcDateTime(TypeDecorator[datetime]):
    """Times in UTC, even if the database has no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a value for the database."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a value from the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _id_column() -> "Column[Any]":
    return Column("id", String(64), primary_key=True)


def _text_column(name: str) -> "Column[Any]":
    return Column(name, Text, nullable=False)


def _nullable_text_column(name: str) -> "Column[Any]":
    return Column(name, Text)


def _integer_column(name: str) -> "Column[Any]":
    return Column(name, Integer, nullable=False)


def _json_column(name: str) -> "Column[Any]":
    return Column(name, JSON, nullable=False)


def _datetime_column(name: str) -> "Column[Any]":
    return Column(name, UtcDateTime, nullable=False)


def _parent_column(name: str, table: str, *, primary_key: bool = False) -> "Column[Any]":
    """Return the foreign key of a row's parent, with which it is deleted."""
    target = ForeignKey(f"{PREFIX}{table}.id", ondelete="CASCADE")
    return Column(name, String(64), target, primary_key=primary_key, nullable=False)


def _project_table(name: str, *columns: "Column[Any] | Index") -> Table:
    """Return a table whose rows belong to a project, in order."""
    kept = (_id_column(), _parent_column("project_id", "projects"), _integer_column("number"), *columns)
    return Table(f"{PREFIX}{name}", metadata, *kept, UniqueConstraint("project_id", "number"))


projects = Table(
    f"{PREFIX}projects",
    metadata,
    _id_column(),
    Column("owner", Text, nullable=False, index=True),
    _text_column("title"),
    _text_column("description"),
    _integer_column("version"),
    _integer_column("counter"),  # the number of the last row that was added to it
    _datetime_column("created_at"),
    _datetime_column("updated_at"),
)

members = Table(
    f"{PREFIX}members",
    metadata,
    _parent_column("project_id", "projects", primary_key=True),
    Column("member", Text, primary_key=True, index=True),
)

chat_sessions = _project_table(
    "chat_sessions",
    _text_column("title"),
    _text_column("mode"),
    _nullable_text_column("run_id"),
    _nullable_text_column("candidate_id"),
    _datetime_column("created_at"),
)

messages = _project_table(
    "messages",
    _parent_column("chat_session_id", "chat_sessions"),
    _text_column("role"),
    _text_column("content"),
    _json_column("metadata"),
    _datetime_column("created_at"),
    Index(None, "chat_session_id", "number"),
)

problem_specs = Table(
    f"{PREFIX}problem_specs",
    metadata,
    _parent_column("project_id", "projects", primary_key=True),
    _json_column("constraints"),
    _json_column("goals"),
    _text_column("resolution"),
    _text_column("mode"),
    _integer_column("version"),
    _datetime_column("updated_at"),
)

world_models = Table(
    f"{PREFIX}world_models",
    metadata,
    _parent_column("project_id", "projects", primary_key=True),
    _json_column("actors"),
    _json_column("mechanisms"),
    _json_column("resources"),
    _json_column("constraints"),
    _json_column("assumptions"),
    _json_column("simplifications"),
    _integer_column("version"),
    _datetime_column("updated_at"),
)

runs = _project_table(
    "runs",
    _text_column("mode"),
    _json_column("config"),
    _text_column("status"),
    _nullable_text_column("chat_session_id"),
    _nullable_text_column("recommended_message_id"),
    Column("recommended_config_snapshot", JSON(none_as_null=True)),
    _nullable_text_column("ui_trigger_id"),
    _nullable_text_column("ui_trigger_source"),
    _json_column("ui_trigger_metadata"),
    Column("ui_triggered_at", UtcDateTime),
    _nullable_text_column("run_summary_message_id"),
    _integer_column("candidate_count"),
    _integer_column("scenario_count"),
    _integer_column("evaluation_count"),
    _json_column("metrics"),
    _json_column("llm_usage"),
    _text_column("error_summary"),
    _datetime_column("created_at"),
    Column("started_at", UtcDateTime),
    Column("completed_at", UtcDateTime),
)

candidates = _project_table(
    "candidates",
    _parent_column("run_id", "runs"),
    _text_column("mechanism_description"),
    _text_column("origin"),
    _json_column("predicted_effects"),
    _json_column("scores"),
    _json_column("parent_ids"),
    _text_column("status"),
    _datetime_column("created_at"),
    Index(None, "run_id", "number"),
)

issues = _project_table(
    "issues",
    _text_column("type"),
    _text_column("severity"),
    _text_column("description"),
    _text_column("resolution_status"),
    _text_column("resolution_note"),
    _nullable_text_column("run_id"),
    _nullable_text_column("candidate_id"),
    _datetime_column("created_at"),
    Column("resolved_at", UtcDateTime),
)

provenance = _project_table(
    "provenance",
    _text_column("type"),
    _text_column("description"),
    _text_column("actor"),
    _nullable_text_column("source"),
    _json_column("reference_ids"),
    _json_column("metadata"),
    _datetime_column("timestamp"),
    _text_column("subject"),
    Column("version", Integer),
    _text_column("user"),
)
