"""A run under way: what was recorded is safe when `flush` returns, and not before."""

import asyncio

import pytest

from treadle import Agent, RunContext, tool
from treadle.core.entries import Said
from treadle.core.errors import JournalError
from treadle.engine.catalog import Catalog
from treadle.engine.journaled import MAX_PENDING_WRITES
from treadle.engine.live import LiveRun
from treadle.engine.setup import Caller, Services
from treadle.testing import Scripted, calls


class Slow:
    """A journal whose writes are safe when the test says so."""

    def __init__(self) -> None:
        self.writes: list[asyncio.Future[None]] = []

    def append(self, run_id, position, entries):
        self.writes.append(asyncio.get_running_loop().create_future())
        return self.writes[-1]


def live(journal) -> LiveRun:
    setup = Agent(Scripted()).setup
    return LiveRun("r", setup, Services(journal), Caller(), Catalog(()))


async def soon() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_flush_waits_for_everything_that_was_recorded():
    async def tale():
        journal = Slow()
        run = live(journal)
        run.record(Said(text="a"))
        flushed = asyncio.ensure_future(run.flush())
        await soon()
        assert not flushed.done()
        journal.writes[0].set_result(None)
        await flushed

    asyncio.run(tale())


def test_two_that_wait_at_once_never_let_a_third_write_slip_through():
    """Both wait for the first write; a second one is made in between. Neither may go on before that one is safe too."""

    async def tale():
        journal = Slow()
        run = live(journal)
        run.record(Said(text="a"))
        waiting = [asyncio.ensure_future(run.flush()) for _ in range(2)]
        await soon()
        run.record(Said(text="b"))
        await soon()
        journal.writes[0].set_result(None)
        await soon()
        late = asyncio.ensure_future(run.flush())
        await soon()
        assert [task.done() for task in (*waiting, late)] == [False, False, False]
        journal.writes[1].set_result(None)
        await asyncio.gather(*waiting, late)

    asyncio.run(tale())


def test_a_write_that_failed_fails_everything_after_it():
    async def tale():
        journal = Slow()
        run = live(journal)
        run.record(Said(text="a"))
        for _ in range(2):
            flushed = asyncio.ensure_future(run.flush())
            await soon()
            if not journal.writes[0].done():
                journal.writes[0].set_exception(JournalError("full"))
            with pytest.raises(JournalError, match="full"):
                await flushed

    asyncio.run(tale())


def test_a_run_waits_for_a_disk_that_has_fallen_far_behind():
    async def tale():
        journal = Slow()
        run = live(journal)
        for number in range(MAX_PENDING_WRITES + 1):
            assert not run.is_disk_behind
            run.record(Said(text=str(number)))
            await soon()
        assert run.is_disk_behind
        flushed = asyncio.ensure_future(run.flush())
        await soon()
        assert not flushed.done()
        for write in journal.writes:
            write.set_result(None)
        await flushed
        assert not run.is_disk_behind

    asyncio.run(tale())


def test_a_tool_gets_every_field_of_the_context_that_other_functions_get():
    contexts = []

    @tool(effect="read")
    async def look(ctx: RunContext[str]) -> str:
        contexts.append(ctx)
        return "there"

    def check(ctx: RunContext[str], answer: str) -> str:
        contexts.append(ctx)
        return answer

    agent = Agent(Scripted(calls(("look", {})), "Done."), tools=[look], deps_type=str, output_validators=[check])
    agent.run_sync("Look.", deps="house", user="ada")
    in_a_call, outside = contexts
    done_by_the_run = {"_call", "_progress", "_wait"}  # of which a call's context has methods of its own
    fields = set(RunContext.__slots__) - done_by_the_run
    assert {field for field in fields if hasattr(in_a_call, field)} == fields == {f for f in fields if hasattr(outside, f)}
    assert (in_a_call.deps, in_a_call.user, in_a_call.run_id) == (outside.deps, outside.user, outside.run_id) != ("", "", "")
    assert done_by_the_run - set(RunContext.__slots__) == set()
