"""The tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """From nothing."""
    _projects()
    _talks()
    _models()
    _runs()
    _issues()
    _provenance()


def _projects() -> None:
    op.create_table(
        "guidance_projects",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("counter", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_guidance_projects"),
    )
    op.create_index("ix_guidance_projects_owner", "guidance_projects", ["owner"])
    op.create_table(
        "guidance_members",
        sa.Column("project_id", sa.String(64), nullable=False),
        sa.Column("member", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "member", name="pk_guidance_members"),
        _belongs("members"),
    )
    op.create_index("ix_guidance_members_member", "guidance_members", ["member"])


def _talks() -> None:
    _of_project(
        "chat_sessions",
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("candidate_id", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    _of_project(
        "messages",
        sa.Column("chat_session_id", sa.String(64), nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs("messages", "chat_session_id", "chat_sessions"),
    )
    op.create_index("ix_guidance_messages_chat_session_id_number", "guidance_messages", ["chat_session_id", "number"])


def _models() -> None:
    op.create_table(
        "guidance_problem_specs",
        sa.Column("project_id", sa.String(64), nullable=False),
        sa.Column("constraints", sa.JSON, nullable=False),
        sa.Column("goals", sa.JSON, nullable=False),
        sa.Column("resolution", sa.Text, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_guidance_problem_specs"),
        _belongs("problem_specs"),
    )
    op.create_table(
        "guidance_world_models",
        sa.Column("project_id", sa.String(64), nullable=False),
        sa.Column("actors", sa.JSON, nullable=False),
        sa.Column("mechanisms", sa.JSON, nullable=False),
        sa.Column("resources", sa.JSON, nullable=False),
        sa.Column("constraints", sa.JSON, nullable=False),
        sa.Column("assumptions", sa.JSON, nullable=False),
        sa.Column("simplifications", sa.JSON, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_guidance_world_models"),
        _belongs("world_models"),
    )


def _runs() -> None:
    _of_project(
        "runs",
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("config", sa.JSON, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("chat_session_id", sa.Text),
        sa.Column("recommended_message_id", sa.Text),
        sa.Column("recommended_config_snapshot", sa.JSON),
        sa.Column("ui_trigger_id", sa.Text),
        sa.Column("ui_trigger_source", sa.Text),
        sa.Column("ui_trigger_metadata", sa.JSON, nullable=False),
        sa.Column("ui_triggered_at", sa.DateTime(timezone=True)),
        sa.Column("run_summary_message_id", sa.Text),
        sa.Column("candidate_count", sa.Integer, nullable=False),
        sa.Column("scenario_count", sa.Integer, nullable=False),
        sa.Column("evaluation_count", sa.Integer, nullable=False),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("llm_usage", sa.JSON, nullable=False),
        sa.Column("error_summary", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("completed_at", sa.DateTime(timezone=True)),
    )
    _of_project(
        "candidates",
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("mechanism_description", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("predicted_effects", sa.JSON, nullable=False),
        sa.Column("scores", sa.JSON, nullable=False),
        sa.Column("parent_ids", sa.JSON, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs("candidates", "run_id", "runs"),
    )
    op.create_index("ix_guidance_candidates_run_id_number", "guidance_candidates", ["run_id", "number"])


def _issues() -> None:
    _of_project(
        "issues",
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("severity", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("resolution_status", sa.Text, nullable=False),
        sa.Column("resolution_note", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("candidate_id", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True)),
    )


def _provenance() -> None:
    _of_project(
        "provenance",
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("source", sa.Text),
        sa.Column("reference_ids", sa.JSON, nullable=False),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("version", sa.Integer),
        sa.Column("user", sa.Text, nullable=False),
    )


def _of_project(name: str, *more: sa.Column[object] | sa.ForeignKeyConstraint) -> None:
    """A table whose rows belong to a project, in order."""
    op.create_table(
        f"guidance_{name}",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("project_id", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        *more,
        sa.PrimaryKeyConstraint("id", name=f"pk_guidance_{name}"),
        sa.UniqueConstraint("project_id", "number", name=f"uq_guidance_{name}_project_id_number"),
        _belongs(name),
    )


def _belongs(table: str, column: str = "project_id", parent: str = "projects") -> sa.ForeignKeyConstraint:
    """The row that this one goes with."""
    name = f"fk_guidance_{table}_{column}"
    return sa.ForeignKeyConstraint([column], [f"guidance_{parent}.id"], name=name, ondelete="CASCADE")
