"""Statistics about calls and requests, folded from the journal into tables beside it; the facts of a run come from `loop.facts`.

The tables are never the source of truth: they are updated when queried (`aggregation`), and can be rebuilt from the journal.
"""
