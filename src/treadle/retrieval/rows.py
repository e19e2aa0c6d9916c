"""Documents and passages as rows of the tables, and back. Each function is part of an open transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from treadle.retrieval.query import TagFilter, clean_text
from treadle.retrieval.stored_vectors import pack_signs, quantize
from treadle.retrieval.values import DocumentVersion, Passage, SourceDocument, TagValue

if TYPE_CHECKING:
    from sqlite3 import Connection


class PassageDetails(Struct, omit_defaults=True):
    """The fields of a passage that aren't searched."""

    headings: tuple[str, ...] = ()
    first_line: int = 0
    last_line: int = 0
    at: str = ""
    link: str = ""
    tags: dict[str, TagValue] = {}


class PackedVector(Struct, frozen=True):
    """A vector as stored: small integers, one byte each, and their signs. A quarter of the embedder's output."""

    numbers: bytes
    signs: bytes


_rest = msgspec.json.Decoder(PassageDetails)
_about = msgspec.json.Decoder(dict[str, Any])
_COLUMNS = "passages.id, source, title, number, text, rest"


def format_heading(passage: Passage, title: str) -> str:
    """Return the heading of a passage: the title of its document and its headings, without repetitions."""
    return clean_text(" > ".join(dict.fromkeys(part for part in (title, *passage.headings) if part)))


def format_for_embedding(heading: str, text: str) -> str:
    """Return the text that is embedded for a passage. Its headings say what it is about, often in words it doesn't repeat."""
    return f"{heading}\n{text}" if heading else text


def pack_vectors(vectors: Sequence[bytes]) -> list[PackedVector]:
    """Pack vectors for storage."""
    return [PackedVector(quantize(vector), pack_signs(vector)) for vector in vectors]


def add_document(connection: "Connection", document: SourceDocument, vectors: Sequence[PackedVector] | None) -> None:
    """Add a document, replacing the one with its source. Vectors, if there are any, are one for each passage."""
    connection.execute("DELETE FROM documents WHERE source = ?", (clean_text(document.source),))
    row = (
        *map(clean_text, (document.source, document.collection, document.title, document.hash)),
        clean_text(json.dumps(document.about, ensure_ascii=False)),
        clean_text(document.seen),
    )
    insert = "INSERT INTO documents (source, collection, title, hash, about, seen) VALUES (?, ?, ?, ?, ?, ?)"
    added = connection.execute(insert, row).lastrowid
    for number, passage in enumerate(document.passages):
        rest = PassageDetails(passage.headings, passage.first_line, passage.last_line, passage.at, passage.link, passage.tags)
        written = msgspec.json.encode(_clean_details(rest))
        values = (added, number, format_heading(passage, document.title), clean_text(passage.text), written)
        insert = "INSERT INTO passages (document, number, heading, text, rest) VALUES (?, ?, ?, ?, ?)"
        identity = connection.execute(insert, values).lastrowid
        tags = ((clean_text(key), clean_text(str(value)), identity) for key, value in passage.tags.items())
        connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
        if vectors is not None and identity is not None:
            add_vectors(connection, {identity: vectors[number]})


def load_versions(connection: "Connection", collection: str | None) -> dict[str, DocumentVersion]:
    """Return the version of each document, by its source."""
    query = "SELECT source, hash, seen FROM documents WHERE collection = coalesce(?, collection) ORDER BY source"
    return {source: DocumentVersion(mark, seen) for source, mark, seen in connection.execute(query, (collection,))}


def update_seen_files(connection: "Connection", looks: Mapping[str, DocumentVersion]) -> None:
    """Store how the files of documents look now. One that was changed meanwhile stays as the other writer has seen it."""
    values = [(clean_text(look.seen), clean_text(source), clean_text(look.hash)) for source, look in looks.items()]
    connection.executemany("UPDATE documents SET seen = ? WHERE source = ? AND hash = ?", values)


def load_metadata(connection: "Connection", collection: str | None) -> dict[str, dict[str, Any]]:
    """Return the metadata of each document, by its source."""
    query = "SELECT source, about FROM documents WHERE collection = coalesce(?, collection) ORDER BY source"
    return {source: _about.decode(about) for source, about in connection.execute(query, (collection,))}


def _clean_details(rest: PassageDetails) -> PassageDetails:
    """Return the same details in text that can be stored."""
    tags: dict[str, TagValue] = {
        clean_text(key): clean_text(value) if isinstance(value, str) else value for key, value in rest.tags.items()
    }
    return msgspec.structs.replace(
        rest, headings=tuple(map(clean_text, rest.headings)), at=clean_text(rest.at), link=clean_text(rest.link), tags=tags
    )


def add_vectors(connection: "Connection", vectors: Mapping[int, PackedVector]) -> None:
    """Store the vectors of passages that still exist."""
    there = "WHERE EXISTS (SELECT 1 FROM passages WHERE id = ?)"
    for passage, vector in vectors.items():
        connection.execute(f"INSERT OR REPLACE INTO vectors SELECT ?, ? {there}", (passage, vector.numbers, passage))
        connection.execute(f"INSERT OR REPLACE INTO signs SELECT ?, ? {there}", (passage, vector.signs, passage))


def load_passages(connection: "Connection", ids: Iterable[int]) -> dict[int, Passage]:
    """Return passages by their row ids, in the order of these."""
    names = list(ids)
    where = f"passages.id IN ({','.join('?' * len(names))})"
    found = dict(_select_passages(connection, where, names))
    return {name: found[name] for name in names}


def load_document_passages(connection: "Connection", source: str) -> list[Passage]:
    """Return the passages of a document, in order."""
    return [passage for _, passage in _select_passages(connection, "source = ? ORDER BY number", [clean_text(source)])]


def load_passage(connection: "Connection", source: str, number: str) -> Passage | None:
    """Return the passage of a document with this number, which may be any text."""
    where = "source = ? AND CAST(number AS TEXT) = ?"
    return next((passage for _, passage in _select_passages(connection, where, [clean_text(source), clean_text(number)])), None)


def load_tagged_passages(connection: "Connection", allowed: TagFilter, limit: int, after: int) -> list[Passage]:
    """Return the passages that a filter allows, in the order of their documents."""
    where = f"1{allowed.condition('passages.id')} ORDER BY source, number LIMIT ? OFFSET ?"
    return [passage for _, passage in _select_passages(connection, where, [*allowed.filling, limit, after])]


def load_neighbour(connection: "Connection", passage: Passage, order: Literal["ASC", "DESC"]) -> Passage | None:
    """Return the next passage of the same document with the same tags, or (DESC) the previous one."""
    has = " AND EXISTS (SELECT 1 FROM tags WHERE passage = passages.id AND key = ? AND value = ?)" * len(passage.tags)
    beyond, only = ">" if order == "ASC" else "<", "(SELECT count(*) FROM tags WHERE passage = passages.id) = ?"
    where = f"source = ? AND number {beyond} ?{has} AND {only} ORDER BY number {order} LIMIT 1"
    tags = [clean_text(str(part)) for tag in passage.tags.items() for part in tag]
    values = [clean_text(passage.source), passage.number, *tags, len(passage.tags)]
    return next((found for _, found in _select_passages(connection, where, values)), None)


def _select_passages(connection: "Connection", where: str, values: Sequence[int | str]) -> Iterable[tuple[int, Passage]]:
    query = f"SELECT {_COLUMNS} FROM passages JOIN documents ON documents.id = passages.document WHERE {where}"  # noqa: S608 - our own names
    for identity, source, title, number, text, rest in connection.execute(query, values):
        more = _rest.decode(rest)
        yield (
            identity,
            Passage(text, source, number, title, more.headings, more.first_line, more.last_line, more.at, more.link, more.tags),
        )


def load_embedder_info(connection: "Connection") -> tuple[str, int]:
    """Return the embedder of the vectors in the file, and their dimension."""
    told = dict(connection.execute("SELECT key, value FROM about"))
    return told.get("embedder", ""), int(told.get("dimension", "0"))


def set_embedder_info(connection: "Connection", embedder: str, dimension: int) -> None:
    """Set the embedder of the file's vectors. Those of another are removed."""
    connection.execute("DELETE FROM vectors")
    connection.execute("DELETE FROM signs")
    connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", (("embedder", embedder), ("dimension", str(dimension))))
    connection.execute("INSERT OR REPLACE INTO about VALUES ('made', hex(randomblob(8)))")  # processes with cached vectors see it


def count_rows(connection: "Connection", table: str) -> int:
    """Return the number of rows in a table."""
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our own names
