"""Both result stores keep the same promises."""

import asyncio

import pytest

from treadle.stores.database import Database
from treadle.stores.results import MemoryResults, SqliteResults


@pytest.fixture(params=["memory", "sqlite"])
def results(request, tmp_path):
    database = Database(tmp_path / "t.db")
    yield MemoryResults() if request.param == "memory" else SqliteResults(database)
    database.close()


def test_a_kept_result_is_the_runs_own(results):
    async def story():
        await results.keep("r1", "x", "first")
        await results.keep("r1", "x", "second")
        return await results.fetch("r1", "x"), await results.fetch("r2", "x"), await results.fetch("r1", "y")

    assert asyncio.run(story()) == ("second", None, None)
