"""Conversations between two turns: kept in memory, as long as the journal says the same."""

import asyncio

import pytest

from treadle import Agent, ResultOptions, open_home, tool
from treadle.core.entries import Opened, Said
from treadle.core.errors import RunNotFound
from treadle.engine.run_cache import MAX_RUNS, RunCache, kept_runs
from treadle.home import close_homes
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted, calls


class CountingJournal(MemoryJournal):
    """Counts how often a whole run is read."""

    def __init__(self):
        super().__init__()
        self.reads = 0

    async def read(self, run_id):
        self.reads += 1
        return await super().read(run_id)

    async def read_from(self, run_id, position):
        return self._runs.get(run_id, [])[position:]


def words(result):
    return [message.text for message in result.history if message.role == "person"]


async def talk(agent, journal, *prompts, run_id="talk"):
    for prompt in prompts:
        result = await agent.run(prompt, run_id=run_id, journal=journal)
    return result


def answers(count):
    return Scripted(*[f"Answer {number}" for number in range(count)])


def test_a_conversation_is_read_at_its_beginning_only():
    journal = CountingJournal()
    result = asyncio.run(talk(Agent(answers(9)), journal, *[f"Question {number}" for number in range(9)]))
    assert words(result) == [f"Question {number}" for number in range(9)]
    assert journal.reads == 2  # a new run that isn't there yet, and one that has had its first turn
    assert result.entries == asyncio.run(journal.read("talk"))


def test_an_earlier_result_stays_as_it_was():
    async def both():
        agent, journal = Agent(answers(4)), CountingJournal()
        await talk(agent, journal, "One", "Two")
        before = await talk(agent, journal, "Three")
        count = len(before.entries)
        after = await talk(agent, journal, "Four")
        return before, count, after

    before, count, after = asyncio.run(both())
    assert (len(before.entries), words(before)[-1], words(after)[-1]) == (count, "Three", "Four")
    assert len(after.entries) > count


def test_what_another_agent_has_said_in_between_is_there():
    async def both():
        journal, one, other = CountingJournal(), Agent(answers(4)), Agent(answers(4), name="other")
        await talk(one, journal, "One", "Two")
        kept = kept_runs._runs.pop(journal)
        await talk(other, journal, "Three")
        kept_runs._runs[journal] = kept
        reads = journal.reads
        return await talk(one, journal, "Four"), journal.reads - reads

    result, reads = asyncio.run(both())
    assert (words(result), reads) == (["One", "Two", "Three", "Four"], 0)


@pytest.mark.parametrize("change", ["deleted", "another"])
def test_a_run_that_is_gone_or_is_another_one_is_not_continued_from_memory(change):
    async def both():
        journal, agent = CountingJournal(), Agent(answers(4))
        await talk(agent, journal, "One", "Two")
        count = len(journal._runs["talk"])
        await journal.forget("talk")
        if change == "another":
            journal._runs["talk"] = [Opened(agent="agent"), *[Said(text="x")] * (count - 1)]
            return await agent.run("Three", run_id="talk", journal=journal)
        return await talk(agent, journal, "Three")

    if change == "another":
        with pytest.raises(Exception, match="isn't over"):
            asyncio.run(both())
    else:
        assert words(asyncio.run(both())) == ["Three"]


def test_a_journal_that_does_not_find_the_run_is_asked_for_all_of_it():
    class Losing(CountingJournal):
        async def read_from(self, run_id, position):
            raise RunNotFound("gone")

    journal = Losing()
    assert words(asyncio.run(talk(Agent(answers(3)), journal, "One", "Two", "Three"))) == ["One", "Two", "Three"]
    assert journal.reads == 3


def test_a_conversation_whose_secrets_the_model_has_read_is_not_kept():
    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "password = hunter2hunter2"

    journal = CountingJournal()
    model = Scripted("1", calls(("look", {})), "2", "3")
    asyncio.run(talk(Agent(model, tools=[look], results=ResultOptions(show_secrets=True)), journal, "One", "Two", "Three"))
    assert journal.reads == 3


def test_a_journal_without_a_position_is_read_each_time():
    class Plain:
        def __init__(self):
            self.inner, self.reads = MemoryJournal(), 0

        def append(self, run_id, position, entries):
            return self.inner.append(run_id, position, entries)

        async def read(self, run_id):
            self.reads += 1
            return await self.inner.read(run_id)

    journal = Plain()
    assert words(asyncio.run(talk(Agent(answers(3)), journal, "One", "Two", "Three"))) == ["One", "Two", "Three"]
    assert journal.reads == 3


def test_only_the_last_conversations_are_kept():
    journal = CountingJournal()

    async def many():
        for number in range(MAX_RUNS + 2):
            await talk(Agent(answers(2)), journal, "One", "Two", run_id=f"talk-{number}")

    asyncio.run(many())
    assert len(kept_runs._runs[journal]) == MAX_RUNS
    assert RunCache()._runs == {}


def test_a_database_is_read_from_the_last_entry_on(tmp_path):
    async def both():
        services = open_home(tmp_path).services()
        try:
            agent = Agent(answers(6))
            await talk(agent, services, "One", "Two")
            entries = await services.journal.read("talk")
            parts = [await services.journal.read_from("talk", at) for at in range(len(entries) + 1)]
            result = await talk(agent, services, "Three")
            missing = await services.journal.read_from("nothing", 0)
            return entries, parts, result, missing
        finally:
            close_homes()

    entries, parts, result, missing = asyncio.run(both())
    assert parts == [entries[at:] for at in range(len(entries) + 1)]
    assert (words(result), missing) == (["One", "Two", "Three"], [])
