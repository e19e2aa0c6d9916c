"""Stores for journals, audit records, cached results and large results: in memory, in SQLite, or in PostgreSQL."""
