"""Documents and passages as rows of the tables, and back. Each function is a part of somebody's transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from treadle.stores.passages.asked import plain
from treadle.stores.passages.filters import Filter
from treadle.stores.passages.nearest import signs, small
from treadle.stores.passages.values import Document, Kept, Passage, Tag

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


class Packed(Struct, frozen=True):
    """A vector as the file has it: small numbers, a byte each, and their signs. A quarter of what an embedder gives."""

    numbers: bytes
    signs: bytes


_rest = msgspec.json.Decoder(Rest)
_about = msgspec.json.Decoder(dict[str, Any])
_COLUMNS = "passages.id, source, title, number, text, rest"


def told(passage: Passage, title: str) -> str:
    """What a passage stands under: the title of its document and the headings, none twice."""
    return plain(" > ".join(dict.fromkeys(part for part in (title, *passage.headings) if part)))


def embedded(heading: str, text: str) -> str:
    """The text that a passage's vector is made of. Its headings say what it is about, often in words it doesn't repeat."""
    return f"{heading}\n{text}" if heading else text


def packed(vectors: Sequence[bytes]) -> list[Packed]:
    """Vectors as they are kept."""
    return [Packed(small(vector), signs(vector)) for vector in vectors]


def add_document(connection: "Connection", document: Document, vectors: Sequence[Packed] | None) -> None:
    """Put a document in, in place of what had its source. Vectors, if there are any, are one for each passage."""
    connection.execute("DELETE FROM documents WHERE source = ?", (plain(document.source),))
    row = (
        *map(plain, (document.source, document.collection, document.title, document.hash)),
        plain(json.dumps(document.about, ensure_ascii=False)),
        plain(document.seen),
    )
    insert = "INSERT INTO documents (source, collection, title, hash, about, seen) VALUES (?, ?, ?, ?, ?, ?)"
    added = connection.execute(insert, row).lastrowid
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


def kept(connection: "Connection", collection: str | None) -> dict[str, Kept]:
    """What each document is known by, by its source."""
    query = "SELECT source, hash, seen FROM documents WHERE collection = coalesce(?, collection) ORDER BY source"
    return {source: Kept(mark, seen) for source, mark, seen in connection.execute(query, (collection,))}


def see(connection: "Connection", looks: Mapping[str, Kept]) -> None:
    """Keep how the files of documents look now. One that was changed meanwhile stays as whoever changed it has seen it."""
    values = [(plain(look.seen), plain(source), plain(look.hash)) for source, look in looks.items()]
    connection.executemany("UPDATE documents SET seen = ? WHERE source = ? AND hash = ?", values)


def abouts(connection: "Connection", collection: str | None) -> dict[str, dict[str, Any]]:
    """What is known of each document, by its source."""
    query = "SELECT source, about FROM documents WHERE collection = coalesce(?, collection) ORDER BY source"
    return {source: _about.decode(about) for source, about in connection.execute(query, (collection,))}


def _plain(rest: Rest) -> Rest:
    """The same in text that can be written."""
    tags: dict[str, Tag] = {plain(key): plain(value) if isinstance(value, str) else value for key, value in rest.tags.items()}
    return msgspec.structs.replace(
        rest, headings=tuple(map(plain, rest.headings)), at=plain(rest.at), link=plain(rest.link), tags=tags
    )


def add_vectors(connection: "Connection", vectors: Mapping[int, Packed]) -> None:
    """Keep the vectors of passages that are still there."""
    there = "WHERE EXISTS (SELECT 1 FROM passages WHERE id = ?)"
    for passage, vector in vectors.items():
        connection.execute(f"INSERT OR REPLACE INTO vectors SELECT ?, ? {there}", (passage, vector.numbers, passage))
        connection.execute(f"INSERT OR REPLACE INTO signs SELECT ?, ? {there}", (passage, vector.signs, passage))


def passages_by(connection: "Connection", ids: Iterable[int]) -> dict[int, Passage]:
    """Passages by their numbers in the table, in the order of these."""
    names = list(ids)
    where = f"passages.id IN ({','.join('?' * len(names))})"
    found = dict(_read(connection, where, names))
    return {name: found[name] for name in names}


def passages_of(connection: "Connection", source: str) -> list[Passage]:
    """The passages of a document, in order."""
    return [passage for _, passage in _read(connection, "source = ? ORDER BY number", [plain(source)])]


def passage_at(connection: "Connection", source: str, number: str) -> Passage | None:
    """The passage of a document that has this number, which may be any text."""
    where = "source = ? AND CAST(number AS TEXT) = ?"
    return next((passage for _, passage in _read(connection, where, [plain(source), plain(number)])), None)


def passages_with(connection: "Connection", allowed: Filter, limit: int, after: int) -> list[Passage]:
    """Passages that are allowed, in the order of their documents."""
    where = f"1{allowed.condition('passages.id')} ORDER BY source, number LIMIT ? OFFSET ?"
    return [passage for _, passage in _read(connection, where, [*allowed.filling, limit, after])]


def beside(connection: "Connection", passage: Passage, order: Literal["ASC", "DESC"]) -> Passage | None:
    """The next passage of the same document that has the same tags, or (DESC) the one before."""
    has = " AND EXISTS (SELECT 1 FROM tags WHERE passage = passages.id AND key = ? AND value = ?)" * len(passage.tags)
    beyond, only = ">" if order == "ASC" else "<", "(SELECT count(*) FROM tags WHERE passage = passages.id) = ?"
    where = f"source = ? AND number {beyond} ?{has} AND {only} ORDER BY number {order} LIMIT 1"
    tags = [plain(str(part)) for tag in passage.tags.items() for part in tag]
    values = [plain(passage.source), passage.number, *tags, len(passage.tags)]
    return next((found for _, found in _read(connection, where, values)), None)


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
    connection.execute("INSERT OR REPLACE INTO about VALUES ('made', hex(randomblob(8)))")  # whoever holds others in memory sees it


def count(connection: "Connection", table: str) -> int:
    """How many rows a table has."""
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our own names
