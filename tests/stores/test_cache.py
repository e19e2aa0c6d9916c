"""All caches keep the same promises."""

import asyncio

import pytest

from treadle.stores.cache import DatabaseCache
from treadle.stores.memory import MemoryCache


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def cache(request):
    if request.param == "memory":
        return MemoryCache()
    return DatabaseCache(request.getfixturevalue(f"in_{request.param}").open())


def test_what_was_put_is_got_until_its_time_is_over(cache):
    async def story():
        await cache.put("k", "g", "value", until=10.0)
        return await cache.get("k", 9.9), await cache.get("k", 10.0), await cache.get("other", 0.0)

    assert asyncio.run(story()) == ("value", None, None)


def test_the_newest_value_counts(cache):
    async def story():
        await cache.put("k", "g", "old", until=10.0)
        await cache.put("k", "g", "new", until=20.0)
        return await cache.get("k", 15.0)

    assert asyncio.run(story()) == "new"


def test_any_text_comes_back(cache):
    async def story():
        await cache.put("k'", "g%", "\0 ' % ? \u2028 \U0001f9f5", until=10.0)
        return await cache.get("k'", 0.0)

    assert asyncio.run(story()) == "\0 ' % ? \u2028 \U0001f9f5"


def test_a_group_is_forgotten_together_and_alone(cache):
    async def story():
        await cache.put("a", "mine", "1", until=10.0)
        await cache.put("b", "mine", "2", until=10.0)
        await cache.put("c", "theirs", "3", until=10.0)
        await cache.forget("mine")
        return [await cache.get(key, 0.0) for key in "abc"]

    assert asyncio.run(story()) == [None, None, "3"]


def test_memory_drops_the_oldest_when_it_is_full():
    async def story():
        cache = MemoryCache(most=2)
        for key in "abc":
            await cache.put(key, "g", key, until=10.0)
        return [await cache.get(key, 0.0) for key in "abc"]

    assert asyncio.run(story()) == [None, "b", "c"]
