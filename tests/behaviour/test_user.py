"""When the user steps in."""

import asyncio

import wire
from treadle import open_home, tool
from treadle.core.entries import Delivered, Steered
from wire import call


def sending(agents: list, message_id: str = ""):
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        await agents[-1].steer("r", "Bergen, please.", message_id=message_id)
        return "seen"

    return look


def test_steering(story):
    agents = []
    with wire.WireServer([call("look"), "Bergen it is."]) as server:
        agents.append(story.agent(server, [sending(agents)]))
        result = asyncio.run(agents[0].run("Book Oslo.", run_id="r"))
    assert result.output == "Bergen it is."
    assert story.results(server) == ["seen"]
    sent = server.requests[1].body["messages"]
    assert sent[-1]["role"] == "user"
    assert "Bergen, please." in str(sent[-1])
    assert "Bergen" not in str(sent[:-1])


def test_steering__after_the_answer(story):
    sent = []

    async def converse(server):
        agent = story.agent(server)

        def watch(event):
            if type(event).__name__ == "ModelAsked" and not sent:
                sent.append(asyncio.ensure_future(agent.steer("r", "Bergen, please.")))

        return await agent.run("Book Oslo.", run_id="r", watchers=[watch])

    with wire.WireServer(["Oslo it is.", "Bergen it is."]) as server:
        result = asyncio.run(converse(server))
    assert (result.output, sent[0].result(), len(server.requests)) == ("Bergen it is.", True, 2)


def test_steering__in_another_process_after_a_crash_at_any_entry(story, tmp_path):
    agents = []

    def home(number):
        return open_home(tmp_path / str(number))

    with wire.WireServer([call("look"), "Bergen it is."]) as server:
        agents.append(story.agent(server, [sending(agents, "m1")]))
        whole = asyncio.run(agents[-1].run("Book Oslo.", run_id="r", journal=home("whole").services()))

    async def resumed(agent, kept):
        services = home(kept).services()
        await services.journal.append("r", 0, whole.entries[:kept])
        return await agent.resume("r", journal=services)

    for kept in range(2, len(whole.entries)):
        with wire.WireServer([call("look"), "Bergen it is."] if kept == 2 else ["Bergen it is."]) as server:
            agents.append(story.agent(server, [sending(agents, "m1")]))
            result = asyncio.run(resumed(agents[-1], kept))
        assert result.output == "Bergen it is."
        assert [message.text for message in result.history if message.role == "person"] == ["Book Oslo.", "Bergen, please."], kept
        assert len([entry for entry in result.entries if isinstance(entry, Steered | Delivered)]) == 2
