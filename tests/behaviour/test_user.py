"""When the user steps in."""

import asyncio

import wire
from server.acp.editor import connected, first_only
from server.running import assistant
from treadle import FunctionToolset, open_home, tool
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


def payments(paid: list[int]):
    @tool(effect="write")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    return assistant("bank", toolsets=lambda host: [FunctionToolset([pay], "bank")])


def test_editor_session(story, tmp_path):
    """Two calls are asked about, one is approved, the editor is closed; loaded again, only the other is asked about."""
    paid: list[int] = []
    bank, folder = payments(paid), tmp_path / "shop"
    folder.mkdir()

    async def begin(server):
        model = wire.model(server, story.wire, stream=story.stream)
        async with connected(folder, model=model, choose=first_only, assistant=bank) as desk:
            await desk.open()
            turn = asyncio.create_task(desk.say("Pay 1 and 2."))
            await desk.editor.until_asked(2)
            await desk.agent.close()
            await asyncio.wait([turn])
            assert turn.exception() is not None
            return desk.session_id

    async def go_on(server, session_id):
        model = wire.model(server, story.wire, stream=story.stream)
        async with connected(folder, model=model, assistant=bank) as desk:
            await desk.agent.load_session(str(folder), session_id, mcp_servers=[])
            desk.session_id = session_id
            ended = await desk.say("And?")
            return ended.stop_reason, [asked[0].raw_input for asked in desk.editor.asked], desk.editor.text()

    with wire.WireServer([[call("pay", {"amount": 1}), call("pay", {"amount": 2})], "Both are paid.", "Goodbye."]) as server:
        session_id = asyncio.run(begin(server))
        assert paid == []
        reason, asked, text = asyncio.run(go_on(server, session_id))
    assert (reason, asked, sorted(paid)) == ("end_turn", [{"amount": 2}], [1, 2])
    assert text.endswith("Goodbye.")


def test_editor_session__that_is_cancelled_runs_nothing_that_it_asked_about(story, tmp_path):
    paid: list[int] = []
    bank, folder = payments(paid), tmp_path / "shop"
    folder.mkdir()

    async def work(server):
        model = wire.model(server, story.wire, stream=story.stream)
        async with connected(folder, model=model, choose=None, assistant=bank) as desk:
            await desk.open()
            first = await desk.say("Pay 1.")
            second = await desk.say("Never mind.")
            return first.stop_reason, second.stop_reason

    with wire.WireServer([call("pay", {"amount": 1}), "Fine."]) as server:
        assert asyncio.run(work(server)) == ("cancelled", "end_turn")
    assert paid == []
