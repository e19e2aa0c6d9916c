"""A thousand turns in one run of Treadle, journaled in SQLite: time and memory by turn, and the time to resume the run.

The process is killed in the middle of the last turn, and another one resumes it. Imports aren't counted: that process has made a
request before. `python -m bench.long_sessions.steady STEP FOLDER URL TURNS`.
"""

import asyncio
import json
import os
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.long_sessions.session import INSTRUCTIONS, depot_record, make_session
from treadle import Agent, Compaction, open_home, tool
from treadle.home import close_homes
from treadle.models.http import close_model_connections
from treadle.models.wires.openai import OpenAI

RUN = "talk"
BLOCK = 100  # turns that are measured together
WINDOW = 8_000  # tokens


def make_agent(url: str, *, dies: bool = False) -> Agent[Any, str]:
    """Return the agent; one that `dies` is killed by its tool."""

    def look_up(depot: str) -> str:
        """Return the record of a depot."""
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return depot_record(depot)

    model = OpenAI("mock", base_url=url, api_key="steady", context=WINDOW)
    notes = OpenAI("summarizer", base_url=url, api_key="steady", context=WINDOW)
    tools = [tool(effect="read", name="depot_record")(look_up)]
    return Agent(model, tools=tools, instructions=INSTRUCTIONS, compaction=Compaction(model=notes))


def memory_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def talk(folder: Path, url: str, turns: int) -> list[dict[str, float]]:
    """Hold the conversation, and measure each block of turns."""
    agent, services = make_agent(url), open_home(folder).services()
    session = [turn for turn in make_session(turns) if turn.kind != "question"]
    blocks: list[dict[str, float]] = []
    for first, last in pairwise(range(0, turns + 1, BLOCK)):
        began, cpu = time.perf_counter(), time.process_time()
        for number in range(first, last):
            prompt = session[number].prompt if number < len(session) else f"[turn {number}] {session[0].prompt}"
            result = await agent.run(prompt, run_id=RUN, journal=services)
            assert result.stopped == "answered", result.message
        spent, cpu = time.perf_counter() - began, time.process_time() - cpu
        blocks.append({"turns": last, "ms": spent / BLOCK * 1000, "cpu_ms": cpu / BLOCK * 1000, "memory_mb": memory_mb()})
    return blocks


async def die(folder: Path, url: str) -> None:
    """Begin a turn, and be killed in the call of a tool."""
    services = open_home(folder).services()
    await make_agent(url, dies=True).run("[turn 5000] Look up the record of depot KELVIN and say so.", run_id=RUN, journal=services)


async def resume(folder: Path, url: str) -> dict[str, float]:
    """Resume the run, and go on with it."""
    agent, services = make_agent(url), open_home(folder).services()
    await agent.run("[turn 0] Begin.", journal=services)  # what is loaded with the first request
    began, cpu = time.perf_counter(), time.process_time()
    result = await agent.resume(RUN, journal=services)
    resumed, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert result.stopped == "answered", result.message
    await agent.run("[turn 5001] What is the access code of depot KELVIN?", run_id=RUN, journal=services)
    next_turn = time.perf_counter() - began - resumed
    load = os.getloadavg()[0]
    return {"resume_s": resumed, "cpu_s": cpu, "next_turn_s": next_turn, "entries": len(result.entries), "load": load}


async def perform(step: str, folder: Path, url: str, turns: int) -> Any:
    """Perform one step of the measurement."""
    try:
        if step == "talk":
            return await talk(folder, url, turns)
        return await (die(folder, url) if step == "die" else resume(folder, url))
    finally:
        await close_model_connections()
        close_homes()


def main() -> None:
    """Perform the step that the command line names, and print what it found as JSON."""
    step, folder, url, turns = sys.argv[1:]
    print(json.dumps(asyncio.run(perform(step, Path(folder), url, int(turns)))))


if __name__ == "__main__":
    main()
