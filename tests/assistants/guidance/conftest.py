"""Where projects are kept in the tests of the guidance assistant: a SQLite file, and a real PostgreSQL."""

import pytest

import postgres
from assistants.guidance.table import Table


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a new store can be opened; every test that wants it runs on both."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'projects.db'}"
    else:
        with postgres.database() as found:
            yield found


@pytest.fixture
def table(address, tmp_path, monkeypatch):
    """A person at the sample project."""
    return Table(tmp_path, address, monkeypatch)
