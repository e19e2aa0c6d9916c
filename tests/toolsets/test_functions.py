"""Functions as tools: in the loop, in threads, inline."""

import asyncio
import contextvars
import datetime
import subprocess
import sys
import threading

import pytest

from treadle import Agent, Limits, tool
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.functions import MAX_IDLE, ThreadPool


def run(function):
    result = Agent(Scripted(calls((function.tool.name, {})), "ok"), tools=[function]).run_sync("Go.")
    return result.calls[0].result.content


def test_where_a_function_runs():
    @tool(effect="read")
    def plain() -> str:
        """Plain."""
        return threading.current_thread().name

    @tool(effect="read", inline=True)
    def quick() -> str:
        """Quick."""
        return threading.current_thread().name

    @tool(effect="read")
    async def coroutine() -> str:
        """Coroutine."""
        return threading.current_thread().name

    assert run(plain) == "treadle-tool"
    assert run(quick) == run(coroutine) == "MainThread"


def test_context_variables_reach_the_thread():
    who = contextvars.ContextVar("who", default="nobody")

    @tool(effect="read")
    def ask() -> str:
        """Who?"""
        return who.get()

    who.set("ann")
    assert run(ask) == "ann"


def test_more_calls_at_once_than_threads_are_kept():
    count = MAX_IDLE + 8
    together = threading.Barrier(count, timeout=120)

    async def tale():
        threads = ThreadPool()
        return await asyncio.gather(*[threads.run(together.wait, (), {}) for _ in range(count)])

    assert sorted(asyncio.run(tale())) == list(range(count))


def test_threads_are_used_again():
    async def tale():
        threads = ThreadPool()
        return {await threads.run(threading.get_ident, (), {}) for _ in range(20)}

    assert len(asyncio.run(tale())) < 20


def test_a_hung_tool_does_not_keep_the_program_from_ending():
    code = """
import threading
from treadle import Agent, tool, allow
from treadle.testing import Scripted
from treadle.models.scripted import calls

@tool(effect="read", timeout=0.1)
def hang() -> str:
    "Hang."
    threading.Event().wait()

print(Agent(Scripted(calls(("hang", {})), "gave up"), tools=[hang]).run_sync("Go.").output)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "gave up"


def test_a_thread_whose_loop_is_gone_ends_quietly():
    go = threading.Event()
    threads = ThreadPool()

    async def leave():
        task = asyncio.ensure_future(threads.run(go.wait, (10,), {}))
        await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(leave())
    go.set()


def test_an_exception_a_future_cannot_carry_becomes_another():
    @tool(effect="read")
    def stop() -> str:
        """Stop."""
        raise StopIteration

    assert "StopIteration" in run(stop)


@pytest.mark.parametrize("limits", [Limits(seconds=None), Limits(seconds=60)])
def test_a_tool_whose_own_task_is_cancelled_has_failed_and_the_run_goes_on(limits, caplog):
    @tool(effect="read")
    async def fetch() -> str:
        """Fetch."""
        request = asyncio.ensure_future(asyncio.Event().wait())
        request.cancel()
        await request
        return "never"

    result = Agent(Scripted(calls(("fetch", {})), "Sorry."), tools=[fetch], limits=limits).run_sync("Go.")
    (call,) = result.calls
    assert (result.output, call.problem) == ("Sorry.", "raised")
    assert call.result.content == "RuntimeError: the tool awaited something that was cancelled"
    assert "in fetch" in caplog.text


def test_cancelling_the_task_of_a_run_still_cancels_its_call():
    async def tale():
        begun = asyncio.Event()

        @tool(effect="read")
        async def wait() -> None:
            """Wait."""
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(Agent(Scripted(calls(("wait", {})), "never"), tools=[wait]).run("Go."))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(tale())


def test_arguments_that_a_function_can_not_have_are_invalid_and_no_failure_of_it():
    @tool(effect="read")
    def book(day: datetime.date) -> str:
        """Book a day."""
        return str(day)

    result = Agent(Scripted(calls(("book", {"day": "2030-02-30"})), "Sorry."), tools=[book]).run_sync("Go.")
    assert result.calls[0].problem == "invalid"
