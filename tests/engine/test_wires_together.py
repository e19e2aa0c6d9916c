"""Conversations over every wire: begun on one, gone on with on another, taken up again by another process."""

import asyncio
import json

import pytest

import wire
from treadle import Agent, ask, tool
from treadle.core.calls import Opaque
from treadle.core.entries import Replied
from treadle.stores.journal import DatabaseJournal
from treadle.stores.sqlite import SqliteDatabase
from wire import WireServer, call, reply, say, think

WIRES = ("openai", "anthropic", "responses", "google", "bedrock", "ollama")
SEAL = "c2VhbC1vZi10aGUtZmlyc3Q="  # what only the first wire may see again


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def first_turn():
    return [reply(think("Adding.", signature=SEAL), say("One moment."), call("add", {"a": 1, "b": 2}, id="c1")), "It is 3."]


@pytest.mark.parametrize("second", WIRES)
@pytest.mark.parametrize("first", WIRES)
def test_a_conversation_begun_on_one_wire_goes_on_on_another(first, second):
    async def converse(one, other):
        begun = await Agent(one, tools=[add]).run("Add 1 and 2.")
        assert (begun.stopped, begun.text) == ("answered", "It is 3.")
        return await Agent(other, tools=[add]).run("And 3 more?", history=begun.history)

    more = [call("add", {"a": 3, "b": 3}, id="c2"), "It is 6."]
    with WireServer(first_turn()) as one, WireServer(more) as other:
        result = asyncio.run(converse(wire.model(one, first), wire.model(other, second)))
    assert (result.stopped, result.text) == ("answered", "It is 6.")
    for request in other.requests:
        text = json.dumps(request.body)
        assert all(words in text for words in ("Add 1 and 2.", "It is 3.", "And 3 more?"))
        assert (SEAL in text) == (first == second and second not in ("openai", "ollama")), text
    assert len(other.requests) == 2


@pytest.mark.parametrize("kind", ["anthropic", "responses", "google", "bedrock"])
def test_provider_data_is_journaled_and_goes_back_byte_for_byte_from_another_process(kind, tmp_path):
    """A run that waits is taken up again from the file: what is sent then is what would have been sent at once."""

    def stage(journal, script, policy):
        with WireServer(script) as server:
            agent = Agent(wire.model(server, kind), tools=[add], policy=policy)

            async def run():
                result = await agent.run("Add 1 and 2.", run_id="r1", journal=journal)
                return result.stopped

            return asyncio.run(run()), server.requests

    through = DatabaseJournal(SqliteDatabase(tmp_path / "through.db"))
    stopped, sent = stage(through, first_turn(), [])
    assert stopped == "answered"
    waits = DatabaseJournal(SqliteDatabase(tmp_path / "waits.db"))
    stopped, _ = stage(waits, first_turn()[:1], [ask("add")])
    assert stopped == "waiting"

    again = DatabaseJournal(SqliteDatabase(tmp_path / "waits.db"))
    with WireServer(["It is 3."]) as server:
        agent = Agent(wire.model(server, kind), tools=[add], policy=[ask("add")])

        async def go_on():
            (approval,) = await agent.approvals("r1", journal=again)
            await agent.approve("r1", approval.call_id, journal=again)
            return await agent.resume("r1", journal=again)

        assert asyncio.run(go_on()).text == "It is 3."
        (resumed,) = server.requests
    assert json.dumps(resumed.body) == json.dumps(sent[1].body)
    assert SEAL in json.dumps(resumed.body)
    parts = [part for entry in asyncio.run(again.read("r1")) if isinstance(entry, Replied) for part in entry.parts]
    assert any(isinstance(part, Opaque) for part in parts) or kind == "anthropic"  # whose seals are on its thinking
