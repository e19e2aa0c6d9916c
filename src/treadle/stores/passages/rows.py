"""Documents and passages as rows of the tables, and back. Each function is a part of somebody's transaction."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle.stores.passages.asked import plain
from treadle.stores.passages.nearest import signs, small
from treadle.stores.passages.values import Document, Passage, Tag

if TYPE_CHECKING:
    from sqlite3 import Connection


class Rest(Struct, omit_defaults=True):
    """What of a passage isn't searched."""

    headings: tuple[str, ...] = ()
    first_line: int = 0
    last_line: int = 0
    at: str = ""
    link: str = ""
    tags: dict[str, Tag] = {}


_rest = msgspec.json.Decoder(Rest)
_COLUMNS = "passages.id, source, title, number, text, rest"


def told(passage: Passage, title: str) -> str:
    """What a passage stands under: the title of its document and the headings, none twice."""
    return plain(" > ".join(dict.fromkeys(part for part in (title, *passage.headings) if part)))


def embedded(heading: str, text: str) -> str:
    """The text that a passage's vector is made of. Its headings say what it is about, often in words it doesn't repeat."""
    return f"{heading}\n{text}" if heading else text


def add_document(connection: "Connection", document: Document, vectors: Sequence[bytes] | None) -> None:
    """Put a document in, in place of what had its source. Vectors, if there are any, are one for each passage."""
    connection.execute("DELETE FROM documents WHERE source = ?", (plain(document.source),))
    row = tuple(map(plain, (document.source, document.collection, document.title, document.hash)))
    added = connection.execute("INSERT INTO documents (source, collection, title, hash) VALUES (?, ?, ?, ?)", row).lastrowid
    for number, passage in enumerate(document.passages):
        rest = Rest(passage.headings, passage.first_line, passage.last_line, passage.at, passage.link, passage.tags)
        written = msgspec.json.encode(_plain(rest))
        values = (added, number, told(passage, document.title), plain(passage.text), written)
        insert = "INSERT INTO passages (document, number, heading, text, rest) VALUES (?, ?, ?, ?, ?)"
        identity = connection.execute(insert, values).lastrowid
        tags = ((plain(key), plain(str(value)), identity) for key, value in passage.tags.items())
        connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
        if vectors is not None and identity is not None:
            add_vectors(connection, {identity: vectors[number]})


def _plain(rest: Rest) -> Rest:
    """The same in text that can be written."""
    tags: dict[str, Tag] = {plain(key): plain(value) if isinstance(value, str) else value for key, value in rest.tags.items()}
    return msgspec.structs.replace(
        rest, headings=tuple(map(plain, rest.headings)), at=plain(rest.at), link=plain(rest.link), tags=tags
    )


def add_vectors(connection: "Connection", vectors: Mapping[int, bytes]) -> None:
    """Keep the vectors of passages that are still there."""
    there = "WHERE EXISTS (SELECT 1 FROM passages WHERE id = ?)"
    for passage, vector in vectors.items():
        connection.execute(f"INSERT OR REPLACE INTO vectors SELECT ?, ? {there}", (passage, small(vector), passage))
        connection.execute(f"INSERT OR REPLACE INTO signs SELECT ?, ? {there}", (passage, signs(vector), passage))


def passages_by(connection: "Connection", ids: Iterable[int]) -> dict[int, Passage]:
    """Passages by their numbers in the table, in the order of these."""
    names = list(ids)
    where = f"passages.id IN ({','.join('?' * len(names))})"
    found = dict(_read(connection, where, names))
    return {name: found[name] for name in names}


def passages_of(connection: "Connection", source: str) -> list[Passage]:
    """The passages of a document, in order."""
    return [passage for _, passage in _read(connection, "source = ? ORDER BY number", [plain(source)])]


def _read(connection: "Connection", where: str, values: Sequence[int | str]) -> Iterable[tuple[int, Passage]]:
    query = f"SELECT {_COLUMNS} FROM passages JOIN documents ON documents.id = passages.document WHERE {where}"  # noqa: S608 - our own names
    for identity, source, title, number, text, rest in connection.execute(query, values):
        more = _rest.decode(rest)
        yield (
            identity,
            Passage(text, source, number, title, more.headings, more.first_line, more.last_line, more.at, more.link, more.tags),
        )


def about(connection: "Connection") -> tuple[str, int]:
    """Whose vectors the file holds, and of which dimension."""
    told = dict(connection.execute("SELECT key, value FROM about"))
    return told.get("embedder", ""), int(told.get("dimension", "0"))


def set_about(connection: "Connection", embedder: str, dimension: int) -> None:
    """Say whose vectors the file holds from now on. Those of another are gone."""
    connection.execute("DELETE FROM vectors")
    connection.execute("DELETE FROM signs")
    connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", (("embedder", embedder), ("dimension", str(dimension))))


def count(connection: "Connection", table: str) -> int:
    """How many rows a table has."""
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our own names
