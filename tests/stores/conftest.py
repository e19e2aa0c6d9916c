"""The same tests for every kind of store. PostgreSQL is a real one, started once for a process that runs tests."""

import pytest

from stores.places import place_of


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request):
    return request.param


@pytest.fixture
def place(kind, tmp_path, request):
    place = place_of(kind, tmp_path, request)
    yield place
    place.close()


@pytest.fixture
def in_postgres(tmp_path, request):
    place = place_of("postgres", tmp_path, request)
    yield place
    place.close()


@pytest.fixture
def in_sqlite(tmp_path, request):
    place = place_of("sqlite", tmp_path, request)
    yield place
    place.close()


@pytest.fixture
def database(place):
    return place.open()
