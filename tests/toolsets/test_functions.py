"""Functions as tools: in the loop, in threads, inline."""

import asyncio
import contextvars
import subprocess
import sys
import threading

from treadle import Agent, tool
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
