"""A warning where what requests begin with has changed: providers cache only what begins alike."""

import asyncio
import logging

import pytest

from treadle import Agent, Compaction, Discovery, tool
from treadle.core.events import ModelNoticed
from treadle.engine.catalog import Catalog
from treadle.engine.live import LiveRun
from treadle.engine.request_prefix import PrefixMonitor
from treadle.engine.setup import Caller, Services
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted


@tool(effect="read")
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: found"


@tool(effect="read")
def send(text: str) -> str:
    """Send a text."""
    return "sent"


def converse(*agents, between=lambda agent, journal: None, prompts=("One", "Two", "Three")):
    """Send the prompts to one agent, or each to its own, in one run; the notices."""
    journal, seen = MemoryJournal(), []

    async def talk():
        for number, prompt in enumerate(prompts):
            agent = agents[number % len(agents)]
            await agent.run(prompt, run_id="talk", journal=journal, watchers=[seen.append])
            done = between(agent, journal)
            if done is not None:
                await done

    asyncio.run(talk())
    return [event.text for event in seen if isinstance(event, ModelNoticed)]


def test_a_time_in_the_instructions_is_named_once(caplog):
    minutes = iter(range(10, 60))
    agent = Agent(Scripted("1", "2", "3"), instructions=lambda ctx: f"You sell tea. The time is 14:{next(minutes)}. Be brief.")
    with caplog.at_level(logging.WARNING, "treadle"):
        (notice,) = converse(agent)
    assert notice.startswith(
        "The instructions have changed since the last request, at «You sell tea. The time is 14:11. Be brief.»."
    )
    assert "cache" in notice
    assert "message" in notice
    assert [record.getMessage() for record in caplog.records] == [notice]


def test_the_warning_is_journaled_with_the_reply():
    agent, journal = Agent(Scripted("1", "2"), instructions=lambda ctx: f"{len(ctx.history)}"), MemoryJournal()

    async def talk():
        await agent.run("One", run_id="talk", journal=journal)
        return await agent.run("Two", run_id="talk", journal=journal)

    notices = [entry.notices for entry in asyncio.run(talk()).entries if hasattr(entry, "notices")]
    assert [len(each) for each in notices] == [0, 1]


def test_secrets_in_the_instructions_are_masked():
    keys = iter("abc")
    agent = Agent(Scripted("1", "2", "3"), instructions=lambda ctx: "key sk-proj-" + f"{next(keys)}1B2" * 12)
    (notice,) = converse(agent)
    assert "1B2" not in notice


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([look_up], [look_up, send], "added send."),
        ([look_up, send], [look_up], "removed send."),
        ([look_up, send], [send, look_up], "their order."),
        ([send], [look_up], "added look_up; removed send."),
    ],
)
def test_changed_tools_are_named(before, after, said):
    first, second = Agent(Scripted("1"), tools=before, name="one"), Agent(Scripted("2"), tools=after, name="one")
    (notice,) = converse(first, second, prompts=("One", "Two"))
    assert notice.startswith(f"The tools have changed since the last request: {said}")


def test_another_description_of_a_tool_is_a_change():
    @tool(name="look_up")
    def look_it_up(word: str) -> str:
        """Look it up."""
        return word

    described = [look_up, look_it_up]
    agents = [Agent(Scripted("1"), tools=[each]) for each in described]
    (notice,) = converse(*agents, prompts=("One", "Two"))
    assert "described otherwise look_up" in notice


def test_what_stays_the_same_is_no_change():
    agent = Agent(Scripted(calls(("look_up", {"word": "tea"})), "1", "2", "3"), tools=[look_up, send], instructions="Sell tea.")
    assert converse(agent) == []


def test_another_agent_or_model_and_another_run_begin_anew():
    agents = [Agent(Scripted("1", name=name), instructions=name, name=name) for name in ("one", "two", "three")]
    assert converse(*agents) == []
    for instructions in ("Sell tea.", "Sell coffee."):
        assert converse(Agent(Scripted("1", "2", "3"), instructions=instructions)) == []


def test_a_compaction_begins_anew():
    said = ["Sell tea."]
    agent = Agent(
        Scripted("1", "2", "3"),
        instructions=lambda ctx: said[0],
        compaction=Compaction(notes=lambda messages, size: "Notes."),
    )

    async def compact(agent, journal):
        if await agent.compact("talk", journal=journal):
            said[0] = "Sell coffee."

    assert converse(agent, between=compact, prompts=["word " * 300] * 3) == []
    assert said == ["Sell coffee."]


def test_discovered_tools_are_no_change():
    agent = Agent(
        Scripted(calls(("find_tools", {"query": "look up a word"})), "1", "2", "3"),
        tools=[look_up, send],
        discovery=Discovery(above=1, always=("send",)),
    )
    assert converse(agent) == []


def test_only_so_many_conversations_are_remembered():
    monitor, setup = PrefixMonitor(most=2), Agent(Scripted("1")).setup

    def check(run_id, instructions):
        run = LiveRun(run_id, setup, Services(), Caller(), Catalog(()))
        run.instructions = instructions
        return monitor.check(run)

    assert [check(run_id, "Sell tea.") for run_id in ("1", "2", "3")] == ["", "", ""]
    assert check("1", "Sell coffee.") == ""  # it was forgotten
    assert check("3", "Sell coffee.") != ""
