"""Migrate a database to the current schema: from nothing, or from any released version. Never back.

All migrations run in one transaction, and in one process at a time: another that opens the same database waits.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from treadle.assistants.guidance.store.database import ProjectDatabase, run_to_completion
from treadle.assistants.guidance.store.errors import StoreError
from treadle.assistants.guidance.store.tables import VERSIONS

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

HEAD = "0001"  # the last step; known here so that Alembic is imported only where there is something to do
MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 7_270_136_401  # any number that only this program waits for


@run_to_completion
async def migrate_database(database: ProjectDatabase, head: str = HEAD, steps: Path = MIGRATIONS) -> None:
    """Run the outstanding migrations; mostly there are none."""
    async with database.reading() as connection:
        if await connection.run_sync(schema_version_of) == head:
            return
    async with database.rebuilding() as connection:
        await connection.run_sync(_upgrade, database.name, head, steps)


def schema_version_of(connection: Connection) -> str | None:
    """Return the revision of a database; None if it has none of our tables."""
    if not inspect(connection).has_table(VERSIONS):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSIONS}")).scalar()  # noqa: S608 - our own name


def _upgrade(connection: Connection, name: str, head: str, steps: Path) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    config = Config(attributes={"connection": connection, "version_table": VERSIONS})
    config.set_main_option("script_location", str(steps).replace("%", "%%"))
    version = schema_version_of(connection)
    _refuse_foreign_database(connection, version, name)
    if version is not None and version not in _known_revisions(ScriptDirectory.from_config(config)):
        raise StoreError(f"{name} was made by a newer Treadle; update Treadle to use it.")
    command.upgrade(config, head)


def _known_revisions(steps: "ScriptDirectory") -> set[str]:
    return {step.revision for step in steps.walk_revisions()}


def _refuse_foreign_database(connection: Connection, version: str | None, name: str) -> None:
    """Refuse a SQLite file of another program; on a server, tables of others are ignored."""
    if connection.dialect.name == "sqlite" and version is None and inspect(connection).get_table_names():
        raise StoreError(f"{name} holds something else; name another file for the projects.")
