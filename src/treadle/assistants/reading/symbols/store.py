"""The database of the symbol index: one file in a home for all folders. A file's symbols are stored by its content.

So a renamed file, another branch and a private copy of a project are parsed only where their contents differ. Everything in
the database can be made anew from the files; one of another version is emptied.
"""

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle.assistant import open_private_sqlite
from treadle.assistants.reading.symbols.extraction import Definition, FileSymbols
from treadle.errors import SettingsError

FILE = "symbols.db"
VERSION = 1
LOCK_TIMEOUT = 30  # seconds for another process to be done with the file
EXPIRY = 60 * 86_400.0  # seconds after which a folder that isn't used is forgotten
_MAX_UNUSED = 2_000  # contents that no file has
_CACHE = "PRAGMA cache_size=-8192"  # KiB: what a connection may hold in memory
_SCHEMA = """
CREATE TABLE roots (id INTEGER PRIMARY KEY, folder BLOB NOT NULL UNIQUE, used REAL NOT NULL, generation INTEGER NOT NULL DEFAULT 0);
CREATE TABLE contents (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, language TEXT NOT NULL, problem TEXT NOT NULL);
CREATE TABLE files (
    root INTEGER NOT NULL, path BLOB NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL, content INTEGER NOT NULL,
    PRIMARY KEY (root, path)
) WITHOUT ROWID;
CREATE INDEX files_by_content ON files (content, root);
CREATE TABLE definitions (
    content INTEGER NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL,
    line INTEGER NOT NULL, start INTEGER NOT NULL, last INTEGER NOT NULL
);
CREATE INDEX definitions_by_name ON definitions (name);
CREATE INDEX definitions_by_content ON definitions (content);
CREATE TABLE uses (
    name TEXT NOT NULL, content INTEGER NOT NULL, lines BLOB NOT NULL, bare INTEGER NOT NULL, called INTEGER NOT NULL,
    owners BLOB NOT NULL, PRIMARY KEY (name, content)
) WITHOUT ROWID;
CREATE TABLE graphs (root INTEGER PRIMARY KEY, generation INTEGER NOT NULL, graph BLOB NOT NULL);
"""
_DEFINITION = "name, qualified, kind, signature, line, start, last"
_encode = msgspec.msgpack.Encoder().encode
_decode_lines = msgspec.msgpack.Decoder(list[int]).decode
_decode_owners = msgspec.msgpack.Decoder(dict[str, int]).decode


class ListedFile(Struct, frozen=True):
    """A source file as it is on disk: `changed` is its modification time in nanoseconds."""

    path: str
    size: int
    changed: int


class IndexedFile(Struct, frozen=True):
    """A file whose symbols are stored. `problem` says why it has none."""

    path: str
    content: int
    language: str
    changed: int
    problem: str


class StoredUse(Struct, frozen=True):
    """The uses of a name in a content; the fields are those of `NameUse`."""

    name: str
    content: int
    bare: int
    called: int
    owners: dict[str, int]


class SymbolStore:
    """The stored symbols of one folder. Every operation opens the database for itself, so that it may be used by any thread."""

    def __init__(self, data: Path, folder: Path) -> None:
        self._path = data / FILE
        self._folder = os.fsencode(folder)

    @contextmanager
    def stay_open(self) -> Generator[None]:
        """Keep the database open over several operations: the last connection that is closed writes its log back to the file."""
        with self._open():
            yield

    def find_stale(self, listed: Sequence[ListedFile], under: str = ".", *, complete: bool = True) -> list[ListedFile]:
        """Return the files whose symbols aren't stored. With a complete list, files below `under` that aren't in it are removed."""
        with self._connect() as (connection, root):
            query = f"SELECT path, size, changed FROM files WHERE root = ? AND {_below(under)}"  # noqa: S608 - our own text
            known = {path: (size, changed) for path, size, changed in connection.execute(query, (root, *_range(under)))}
            names = {os.fsencode(each.path): each for each in listed}
        gone = [os.fsdecode(path) for path in known if path not in names] if complete else []
        if gone:
            self.add((), (), gone)
        return [each for path, each in names.items() if known.get(path) != (each.size, each.changed)]

    def find_contents(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Return those of some keys whose symbols are stored, with their numbers."""
        with self._connect() as (connection, _):
            rows = [(key, connection.execute("SELECT id FROM contents WHERE key = ?", (key,)).fetchone()) for key in keys]
        return {key: row[0] for key, row in rows if row is not None}

    def add(
        self,
        files: Sequence[tuple[ListedFile, bytes]],
        parsed: Sequence[tuple[bytes, FileSymbols | str]],
        removed: Sequence[str] = (),
    ) -> None:
        """Store files by the keys of their contents, and contents that are new: their symbols, or why they have none."""
        with self._connect("BEGIN IMMEDIATE") as (connection, root):
            for key, symbols in parsed:
                _insert_content(connection, key, symbols)
            changed = bool(removed)
            for file, key in files:
                path = os.fsencode(file.path)
                before = connection.execute("SELECT content FROM files WHERE root = ? AND path = ?", (root, path)).fetchone()
                content = connection.execute("SELECT id FROM contents WHERE key = ?", (key,)).fetchone()
                changed = changed or before != content
                row = (root, path, file.size, file.changed, *content)
                connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", row)
            gone = [(root, os.fsencode(path)) for path in removed]
            connection.executemany("DELETE FROM files WHERE root = ? AND path = ?", gone)
            if changed:
                connection.execute("UPDATE roots SET generation = generation + 1 WHERE id = ?", (root,))

    def forget_unused(self) -> None:
        """Remove folders that are gone or weren't used for long, and contents that no file has if they are many."""
        with self._connect("BEGIN IMMEDIATE") as (connection, root):
            for number, folder, used in connection.execute("SELECT id, folder, used FROM roots").fetchall():
                if number != root and (used < time.time() - EXPIRY or not Path(os.fsdecode(folder)).is_dir()):
                    for table, column in (("files", "root"), ("graphs", "root"), ("roots", "id")):
                        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (number,))  # noqa: S608 - our own names
            unused = "SELECT id FROM contents WHERE NOT EXISTS (SELECT 1 FROM files WHERE content = contents.id)"
            if connection.execute(f"SELECT COUNT(*) FROM ({unused})").fetchone()[0] > _MAX_UNUSED:  # noqa: S608 - our own text
                for table, column in (("definitions", "content"), ("uses", "content"), ("contents", "id")):
                    connection.execute(f"DELETE FROM {table} WHERE {column} IN ({unused})")  # noqa: S608 - our own names

    def save_graph(self, generation: int, graph: bytes) -> None:
        """Store the graph of the folder as it was at a generation."""
        with self._connect("BEGIN IMMEDIATE") as (connection, root):
            connection.execute("INSERT OR REPLACE INTO graphs VALUES (?, ?, ?)", (root, generation, graph))

    @contextmanager
    def read(self) -> Generator["SymbolReader"]:
        """Open the symbols for questions, which all see the same state."""
        with self._connect() as (connection, root):
            yield SymbolReader(connection, root)

    @contextmanager
    def _connect(self, begin: str = "BEGIN") -> Generator[tuple[sqlite3.Connection, int]]:
        with self._open() as connection:
            root = self._find_root(connection)
            connection.execute(begin)
            with connection:
                yield connection, root

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            with open_private_sqlite(self._path, LOCK_TIMEOUT) as connection:
                _prepare(connection)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise SettingsError(
                f"The symbol index {self._path} can't be used ({error}); check that there is room and that you may write there, "
                "or delete it: it is made anew."
            ) from error

    def _find_root(self, connection: sqlite3.Connection) -> int:
        now, query = time.time(), "SELECT id, used FROM roots WHERE folder = ?"
        row = connection.execute(query, (self._folder,)).fetchone()
        if row is None or row[1] < now - 86_400:
            insert = "INSERT INTO roots (folder, used) VALUES (?, ?) ON CONFLICT (folder) DO UPDATE SET used = excluded.used"
            connection.execute(insert, (self._folder, now))
            row = connection.execute(query, (self._folder,)).fetchone()
        number: int = row[0]
        return number


class SymbolReader:
    """Questions to the stored symbols of a folder, in one transaction."""

    def __init__(self, connection: sqlite3.Connection, root: int) -> None:
        self._connection = connection
        self._root = root

    def files(self, under: str = ".") -> list[IndexedFile]:
        """Return the files below a folder, in order."""
        query = (
            "SELECT path, content, language, changed, problem FROM files JOIN contents ON contents.id = content "  # noqa: S608 - our own text
            f"WHERE root = ? AND {_below(under)} ORDER BY path"
        )
        rows = self._connection.execute(query, (self._root, *_range(under)))
        return [IndexedFile(os.fsdecode(path), *row) for path, *row in rows]

    def find_uses(self, name: str, under: str = ".") -> list[tuple[str, int, list[int]]]:
        """Return the files below a folder that use a name, each with its content and its lines as `NameUse` has them."""
        query = (
            "SELECT path, uses.content, lines FROM uses CROSS JOIN files ON files.content = uses.content "  # noqa: S608 - our own text
            f"WHERE name = ? AND root = ? AND {_below(under)} ORDER BY path"
        )
        rows = self._connection.execute(query, (name, self._root, *_range(under)))
        return [(os.fsdecode(path), content, _decode_lines(lines)) for path, content, lines in rows]

    def definitions_of(self, content: int) -> list[Definition]:
        """Return the definitions of a content."""
        query = f"SELECT {_DEFINITION} FROM definitions WHERE content = ? ORDER BY start, last DESC"  # noqa: S608 - our own names
        return [Definition(*row) for row in self._connection.execute(query, (content,))]

    def definitions(self) -> Iterator[tuple[int, Definition]]:
        """Yield every definition of the folder but fields, with its content."""
        query = (
            f"SELECT content, {_DEFINITION} FROM definitions "  # noqa: S608 - our own names
            "WHERE content IN (SELECT content FROM files WHERE root = ?) AND kind != 'field' ORDER BY content, line"
        )
        for content, *row in self._connection.execute(query, (self._root,)):
            yield content, Definition(*row)

    def uses_of_definitions(self) -> Iterator[StoredUse]:
        """Yield the uses of every name that the folder defines, name by name."""
        own = "SELECT content FROM files WHERE root = ?"
        self._connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS own (content INTEGER PRIMARY KEY)"
        )  # with them, every step is a look-up
        self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS defined (name TEXT PRIMARY KEY) WITHOUT ROWID")
        self._connection.execute(f"INSERT OR IGNORE INTO own {own}", (self._root,))
        self._connection.execute("INSERT OR IGNORE INTO defined SELECT name FROM own CROSS JOIN definitions USING (content)")
        query = (
            "SELECT name, content, bare, called, owners FROM defined CROSS JOIN uses USING (name) CROSS JOIN own USING (content) "
            "WHERE bare + called + length(owners) > 1"
        )
        for name, content, bare, called, owners in self._connection.execute(query):
            yield StoredUse(name, content, bare, called, _decode_owners(owners))

    @property
    def generation(self) -> int:
        """A number that is another one after every change."""
        row = self._connection.execute("SELECT generation FROM roots WHERE id = ?", (self._root,)).fetchone()
        number: int = row[0]
        return number

    def load_graph(self) -> bytes | None:
        """Return the stored graph of the folder if nothing has changed since."""
        query = "SELECT graph FROM graphs WHERE root = ? AND generation = ?"
        row = self._connection.execute(query, (self._root, self.generation)).fetchone()
        return None if row is None else row[0]


def content_key(language: str, data: bytes) -> bytes:
    """Return the key that a file's symbols are stored by."""
    return blake2b(data, digest_size=16, person=language.encode()[:16]).digest()


def _insert_content(connection: sqlite3.Connection, key: bytes, symbols: FileSymbols | str) -> None:
    language, problem = ("", symbols) if isinstance(symbols, str) else (symbols.language, "")
    added = connection.execute("INSERT OR IGNORE INTO contents (key, language, problem) VALUES (?, ?, ?)", (key, language, problem))
    if not added.rowcount or isinstance(symbols, str):  # another process was faster
        return
    content = added.lastrowid
    definitions = [(content, *msgspec.structs.astuple(each)) for each in symbols.definitions]
    connection.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", definitions)
    uses = [(use.name, content, _encode(use.lines), use.bare, use.called, _encode(use.owners)) for use in symbols.uses]
    connection.executemany("INSERT INTO uses VALUES (?, ?, ?, ?, ?, ?)", uses)


def _below(under: str) -> str:
    return "1" if under == "." else "(path = ? OR (path >= ? AND path < ?))"


def _range(under: str) -> tuple[Any, ...]:
    """Return the parameters of `_below`: paths below a folder lie between `folder/` and `folder0`, the next character."""
    return () if under == "." else (os.fsencode(under), os.fsencode(f"{under}/"), os.fsencode(f"{under}0"))


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous=NORMAL")  # what a power failure takes is parsed again
    connection.execute(_CACHE)
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:  # another process was faster
            return
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
        for statement in (*[f"DROP TABLE {name}" for (name,) in tables], *_SCHEMA.strip().split(";\n")):
            connection.execute(statement.removesuffix(";"))
        connection.execute(f"PRAGMA user_version={VERSION}")
