"""The tables of a passages file, and their migrations. The file has had a version from the first day."""

from typing import TYPE_CHECKING

from treadle.retrieval.values import PassagesError
from treadle.stores.migration import execute_script, format_of, set_format

if TYPE_CHECKING:
    from sqlite3 import Connection

# Each brings a file from the version of its place to the next one. What is written here is never changed, only added to.
MIGRATIONS = (
    """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, title TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, number INTEGER NOT NULL,
    heading TEXT NOT NULL, text TEXT NOT NULL, rest BLOB NOT NULL
);
CREATE UNIQUE INDEX passages_by_document ON passages (document, number);
CREATE TABLE tags (
    key TEXT NOT NULL, value TEXT NOT NULL, passage INTEGER NOT NULL, PRIMARY KEY (key, value, passage)
) WITHOUT ROWID;
CREATE INDEX tags_by_passage ON tags (passage);
CREATE TABLE vectors (passage INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE signs (passage INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(heading, text, content='passages', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
    INSERT INTO words (rowid, heading, text) VALUES (new.id, new.heading, new.text);
END;
CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
    INSERT INTO words (words, rowid, heading, text) VALUES ('delete', old.id, old.heading, old.text);
    DELETE FROM tags WHERE passage = old.id;
    DELETE FROM vectors WHERE passage = old.id;
    DELETE FROM signs WHERE passage = old.id;
END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    DELETE FROM passages WHERE document = old.id;
END;
""",
    """
ALTER TABLE documents ADD COLUMN about TEXT NOT NULL DEFAULT '{}';
""",
    """
ALTER TABLE documents ADD COLUMN seen TEXT NOT NULL DEFAULT '';
""",
)

# Each connection's own: what is asked is cut into words by the very tokenizer that cut the passages.
CONNECTION_TABLES = """
CREATE VIRTUAL TABLE temp.heard USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE temp.heard_words USING fts5vocab(temp, heard, instance);
"""


def migrate_passages(connection: "Connection", path: object) -> None:
    """Migrate a file to the current version in one transaction; concurrent openers wait."""
    version = format_of(connection)
    if version > len(MIGRATIONS):
        raise PassagesError(f"{path} was made by a newer Treadle; update Treadle to use it.")
    if version < len(MIGRATIONS):
        connection.execute("BEGIN IMMEDIATE")
        version = format_of(connection)  # somebody else may have been first
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.execute("ROLLBACK")
            raise PassagesError(f"{path} holds something else; name another file for the passages.")
        for step in MIGRATIONS[version:]:
            execute_script(connection, step)
        if version < len(MIGRATIONS):
            set_format(connection, len(MIGRATIONS))
        connection.execute("COMMIT")
