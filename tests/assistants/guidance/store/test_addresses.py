"""Where projects are kept: what a person may write, and what is meant by it."""

from pathlib import Path

import pytest

from treadle.assistants.guidance.store.addresses import PostgresServer, SqliteFile, parse_store_address
from treadle.errors import SettingsError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (Path("p.db"), SqliteFile(Path("p.db"))),
        ("p.db", SqliteFile(Path("p.db"))),
        ("~/p.db", SqliteFile(Path.home() / "p.db")),
        ("c:p.db", SqliteFile(Path("c:p.db"))),
        ("sqlite:///p.db", SqliteFile(Path("p.db"))),
        ("sqlite:////var/p%20q.db?mode=x", SqliteFile(Path("/var/p q.db"))),
        ("sqlite+aiosqlite:////var/p.db", SqliteFile(Path("/var/p.db"))),
        ("postgresql://ada@db/p", PostgresServer("postgresql+psycopg://ada@db/p")),
        ("postgres://ada:s@db:5433/p?sslmode=require", PostgresServer("postgresql+psycopg://ada:s@db:5433/p?sslmode=require")),
        ("PostgreSQL+psycopg://db/p", PostgresServer("postgresql+psycopg://db/p")),
    ],
)
def test_a_file_or_a_server_is_meant(written, meant):
    assert parse_store_address(written) == meant


@pytest.mark.parametrize(
    "written", ["mysql://ada:secret@db/p", "sqlite://", "sqlite:/p.db", "", " ", ":memory:", "sqlite:///:memory:"]
)
def test_any_other_place_is_refused_without_a_word_of_passwords(written):
    with pytest.raises(SettingsError, match=r"name a file, sqlite:///FILE, or postgresql://USER@HOST/DATABASE\.$") as refused:
        parse_store_address(written)
    assert "secret" not in str(refused.value)
