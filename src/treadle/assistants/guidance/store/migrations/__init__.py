"""Alembic migrations: one file per migration, in `versions`, numbered from the first.

A released migration is never changed. A migration is self-contained, and doesn't import `tables`.
"""
