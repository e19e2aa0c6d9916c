"""Tools by which a model waits by itself."""

import asyncio

import pytest
from msgspec.structs import replace

from treadle import Agent, Runs, open_home
from treadle.home import close_home
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets import reminder_toolset

NINE = 1_800_003_600.0


def test_a_model_is_reminded_when_the_time_has_come_and_reads_an_event(tmp_path):
    now = [NINE - 3600]
    home = open_home(tmp_path)
    services = replace(home.services(), clock=lambda: now[0])
    reminded = calls(("remind", {"what": "Call Ann.", "at": "2027-01-15T10:00:00+01:00"}))
    model = Scripted(reminded, calls(("wait_for_event", {"name": "called"})), "Ann was called.")
    agent = Agent(model, tools=[reminder_toolset()])

    async def story():
        first = await agent.run("Remind me.", run_id="r", journal=services)
        now[0] = NINE
        (second,) = await agent.wake_due(journal=services)
        await Runs(services).send_event("called", "yes")
        return first, second, *await agent.wake_due(journal=services)

    first, second, last = asyncio.run(story())
    close_home(home)
    assert (first.reason, second.reason) == ("The run waits until 2027-01-15T09:00:00Z.", "The run waits for the event 'called'.")
    remind, event = [call.result.content for call in last.calls]
    assert remind == "It is 2027-01-15T10:00:00+01:00. You wanted to be reminded of this: Call Ann."
    assert (event, last.output) == ("yes", "Ann was called.")


@pytest.mark.parametrize("at", ["tomorrow", "2027-01-15T10:00:00"])
def test_a_time_that_cannot_be_read_is_a_problem(at):
    agent = Agent(Scripted(calls(("remind", {"what": "x", "at": at})), "Hm."), tools=[reminder_toolset()])
    assert "write it like 2027-01-15T09:00:00+01:00" in agent.run_sync("Go.").calls[0].result.content
