"""Passages of documents in one SQLite file, found by their words (FTS5) and by what they mean (vectors).

Reading documents into passages (`split/`, `documents`, `files`, `folders`) is apart from keeping and finding them (`passages`).
"""
