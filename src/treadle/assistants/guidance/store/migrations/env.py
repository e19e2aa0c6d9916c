"""Where Alembic comes in: carries the steps out on the connection it is given, in the transaction that is open there."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table=context.config.attributes["version_table"])
context.run_migrations()
