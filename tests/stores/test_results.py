"""All result stores keep the same promises."""

import asyncio

import pytest

from treadle.stores.memory import MemoryResults
from treadle.stores.results import DatabaseResults


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def results(request):
    if request.param == "memory":
        return MemoryResults()
    return DatabaseResults(request.getfixturevalue(f"in_{request.param}").open())


def test_a_kept_result_is_the_runs_own(results):
    async def story():
        await results.keep("r1", "x", "first")
        await results.keep("r1", "x", "second\0")
        return await results.fetch("r1", "x"), await results.fetch("r2", "x"), await results.fetch("r1", "y")

    assert asyncio.run(story()) == ("second\0", None, None)
