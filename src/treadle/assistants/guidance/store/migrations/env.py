"""Alembic environment: runs the migrations on the given connection, in its open transaction."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table=context.config.attributes["version_table"])
context.run_migrations()
