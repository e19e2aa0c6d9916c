"""The concrete dialects, one module per grammar family, each with a `DIALECTS` table."""
