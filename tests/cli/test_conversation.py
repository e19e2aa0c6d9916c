"""A conversation at a terminal, to which messages are sent while a turn runs."""

import argparse
import asyncio

from treadle import Agent, tool
from treadle.cli.agent_options import AgentOptions
from treadle.cli.conversation import Conversation
from treadle.cli.ui.display import Display
from treadle.testing import Scripted, calls


def test_a_message_during_a_turn_is_shown_when_the_model_reads_it(capsys):
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        assert await talk.steer("Bergen, please.")
        return "seen"

    model = Scripted(calls(("look", {})), "Bergen it is.")
    talk = Conversation(Agent(model, tools=[look]), AgentOptions(), Display(argparse.Namespace()), run_id="r", kept=False)

    async def converse():
        before = await talk.steer("Too early.")
        result = await talk.ask("Book Oslo.")
        return before, result, await talk.steer("Too late.")

    before, result, after = asyncio.run(converse())
    assert (before, result.text, after) == (False, "Bergen it is.", False)
    assert "» Bergen, please." in capsys.readouterr().err
    assert [message.text for message in model.requests[1].history if message.role == "person"] == ["Book Oslo.", "Bergen, please."]
