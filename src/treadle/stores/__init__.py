"""Where journals, audit records, cached and large results are kept: in memory, in SQLite, or in PostgreSQL."""
