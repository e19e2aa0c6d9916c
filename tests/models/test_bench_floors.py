"""The hand-written loops of the benchmark do the whole task on each wire, or their multiples would mean nothing."""

import asyncio

import pytest
from bench.contenders import WIRE_FLOORS, Setup
from bench.scenario import Scenario
from bench.server import Connection
from bench.worker import Done, run_once


async def run_on(name: str, stream: bool, scenario: Scenario) -> Done:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    async with server:
        setup = Setup(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", stream)
        async with WIRE_FLOORS[name].load()(setup) as run:
            return await run_once(run, scenario)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", WIRE_FLOORS)
@pytest.mark.parametrize("scenario", [Scenario(5, 1), Scenario(3, 4), Scenario(2, 1, events=20)], ids=lambda one: one.label)
def test_a_floor_makes_all_calls_and_returns_the_text(name: str, stream: bool, scenario: Scenario):
    done = asyncio.run(run_on(name, stream, scenario))
    assert (done.failed, done.short) == (False, False), done.problem
