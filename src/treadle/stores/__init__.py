"""Where journals, audit records, cached and large results are kept: in memory and in SQLite."""
