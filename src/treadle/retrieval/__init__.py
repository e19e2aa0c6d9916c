"""Retrieval: passages of documents in one SQLite file, found by full text (FTS5) and by embeddings (vectors).

Reading documents into passages (`splitting`, `source_files`, `indexing`) is separate from storing and searching them
(`passages`).
"""
