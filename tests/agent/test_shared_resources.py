"""Resources that several users share: opened once, closed by the last."""

import asyncio

import pytest

from treadle.assistant import SharedResources


class Index:
    def __init__(self, name):
        self.name, self.closed = name, 0


async def later(index):
    index.closed += 1


def sooner(index):
    index.closed += 1


@pytest.mark.parametrize("close", [later, sooner])
def test_all_who_use_it_at_the_same_time_share_it_and_the_last_closes_it(close):
    made = []

    async def make():
        await asyncio.sleep(0)
        made.append(Index("a"))
        return made[-1]

    async def use(shared, leave):
        async with shared.use("a", make) as index:
            await leave.wait()
            return index.closed

    async def main():
        shared, leave = SharedResources(close), asyncio.Event()
        users = [asyncio.create_task(use(shared, leave)) for _ in range(3)]
        await asyncio.sleep(0.01)
        leave.set()
        closed = await asyncio.gather(*users)
        async with shared.use("a", make) as again:
            return closed, again

    closed, again = asyncio.run(main())
    assert (closed, [each.closed for each in made]) == ([0, 0, 0], [1, 1])
    assert again is made[1]


def test_another_key_or_another_loop_has_another_one():
    shared = SharedResources(sooner)

    async def two():
        async with shared.use("a", lambda: Index("a")) as one, shared.use("b", lambda: Index("b")) as other:
            return one.name, other.name

    async def held(leave):
        async with shared.use("a", lambda: Index("outer")):
            return await asyncio.to_thread(asyncio.run, two())

    assert asyncio.run(held(None)) == ("a", "b")


def test_what_could_not_be_opened_is_tried_again_and_never_closed():
    tries, closed = [], []

    def make():
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no room")
        return Index("a")

    async def main():
        shared = SharedResources(closed.append)
        with pytest.raises(OSError, match="no room"):
            async with shared.use("a", make):
                pass
        assert closed == []
        async with shared.use("a", make) as index:
            return index.name

    assert (asyncio.run(main()), len(tries), len(closed)) == ("a", 2, 1)
