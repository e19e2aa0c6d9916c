"""Starting, continuing, resuming, forking, cancelling and watching runs."""

import asyncio
import contextlib
import sqlite3

import pytest

from treadle import Agent, RunFailed, Runs, allow, open_home, tool
from treadle.core.calls import Written
from treadle.core.entries import Finished, Forked, Resumed, Returned
from treadle.core.errors import BadPrompt, JournalError, ModelRefused, ModelUnavailable, RunNotFound, RunTaken, SettingsError
from treadle.core.events import CallProgressed, CallReturned, RunEnded, RunStarted, TextArrived
from treadle.core.requests import CallDone, ReplyEnded, TextDelta
from treadle.engine.setup import Services
from treadle.loop.limits import Limits
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted


@tool(effect="read")
async def stock(item: str) -> int:
    """How many there are."""
    return 40


def test_a_question_gets_its_answer():
    result = Agent(Scripted(calls(("stock", {"item": "A"})), "40 of A"), tools=[stock]).run_sync("How many A?")
    assert (result.stopped, result.output, result.text, result.reason) == ("answered", "40 of A", "40 of A", "")
    assert [record.name for record in result.calls] == ["stock"]
    assert result.usage.requests == 2
    assert result.cost is None
    assert "answered" in repr(result)


@pytest.mark.parametrize("prompt", ["", "  \n "])
def test_an_empty_prompt_is_refused_before_there_is_a_run(prompt):
    with pytest.raises(BadPrompt, match="empty"):
        Agent(Scripted("never")).run_sync(prompt)


def test_a_failed_run_returns_what_it_has_and_its_output_raises_the_reason():
    result = Agent(Scripted(calls(("stock", {"item": "A"})), ModelRefused("The key is wrong.")), tools=[stock]).run_sync("Go.")
    assert result.stopped == "failed"
    assert len(result.calls) == 1
    with pytest.raises(RunFailed, match="The key is wrong"):
        _ = result.output


def test_run_sync_inside_of_a_running_loop_says_what_to_do():
    async def inside():
        Agent(Scripted("a")).run_sync("Go.")

    with pytest.raises(SettingsError, match="await"):
        asyncio.run(inside())


def test_a_conversation_goes_on_in_the_same_run():
    async def tale():
        journal = MemoryJournal()
        model = Scripted("Hello Ann", "You are Ann")
        agent = Agent(model)
        await agent.run("I am Ann.", run_id="r", journal=journal)
        result = await agent.run("Who am I?", run_id="r", journal=journal)
        return result, model.requests[1].history, await journal.read("r")

    result, history, entries = asyncio.run(tale())
    assert result.output == "You are Ann"
    assert [message.role for message in history] == ["person", "model", "person"]
    assert result.usage.requests == 1
    assert [entry.text for entry in entries if hasattr(entry, "text") and entry.text.endswith("?")] == ["Who am I?"]


def test_a_conversation_can_also_be_handed_in():
    model = Scripted("Hello", "You are Ann")
    first = Agent(model).run_sync("I am Ann.")
    assert Agent(model).run_sync("Who am I?", history=first.history).output == "You are Ann"
    assert len(model.requests[1].history) == 3


def test_nothing_more_can_be_said_while_a_call_waits():
    async def tale():
        @tool
        async def order() -> str:
            """Order."""
            return "ordered"

        journal = MemoryJournal()
        agent = Agent(Scripted(calls(("order", {}))), tools=[order])
        await agent.run("Go.", run_id="r", journal=journal)
        await agent.run("Hello?", run_id="r", journal=journal)

    with pytest.raises(RunTaken, match="resume it, or cancel it"):
        asyncio.run(tale())


def test_one_run_is_under_way_only_once():
    async def tale():
        agent = Agent(Scripted(slowly, slowly))
        first = asyncio.ensure_future(agent.run("Go.", run_id="r"))
        await asyncio.sleep(0)
        with pytest.raises(RunTaken, match="under way"):
            await agent.run("Go.", run_id="r")
        first.cancel()
        await asyncio.wait([first])

    async def slowly(request):
        await asyncio.sleep(30)
        yield TextDelta("late")

    asyncio.run(tale())


def test_a_failed_run_can_be_taken_up_again():
    async def tale():
        journal = MemoryJournal()
        agent = Agent(Scripted(ModelRefused("no"), calls(("stock", {"item": "A"})), "40"), tools=[stock])
        failed = await agent.run("Go.", run_id="r", journal=journal)
        return failed, await agent.resume("r", journal=journal), await agent.resume("r", journal=journal)

    failed, resumed, again = asyncio.run(tale())
    assert (failed.stopped, resumed.output, again.output) == ("failed", "40", "40")
    assert any(isinstance(entry, Resumed) for entry in resumed.entries)


def test_a_run_nobody_knows_cannot_be_resumed(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path))
    with pytest.raises(RunNotFound, match="no run nowhere"):
        Agent(Scripted("a")).resume_sync("nowhere")


def test_a_fork_goes_on_from_any_entry_and_leaves_the_first_run_alone():
    async def tale():
        journal = MemoryJournal()
        agent = Agent(Scripted("red", "blue", "green"))
        await agent.run("A colour?", run_id="r", journal=journal)
        await agent.fork("r", 2, new_id="r2", journal=journal)
        forked = await agent.resume("r2", journal=journal)
        other = await agent.fork("r", journal=journal)
        more = await agent.run("Another?", run_id=other, journal=journal)
        return forked, more, await journal.read("r"), await journal.read("r2")

    forked, more, first, second = asyncio.run(tale())
    assert (forked.output, more.output) == ("blue", "green")
    assert first[:2] == second[:2]
    assert isinstance(second[2], Forked)
    assert first[-1].text == "red"


def test_a_cancelled_run_says_so_and_every_call_has_its_result():
    async def tale():
        begun = asyncio.Event()

        @tool
        async def slow() -> str:
            """Slow."""
            begun.set()
            await asyncio.sleep(30)
            return "late"

        journal = MemoryJournal()
        agent = Agent(Scripted(calls(("slow", {}), ("slow", {})), "fine"), tools=[slow], policy=[allow("*")])
        running = asyncio.ensure_future(agent.run("Go.", run_id="r", journal=journal))
        await begun.wait()
        assert await agent.cancel("r")
        result = await running
        assert not await agent.cancel("r")
        return result, await agent.run("And now?", run_id="r", journal=journal)

    cancelled, later = asyncio.run(tale())
    assert (cancelled.stopped, cancelled.output_or_none, cancelled.text) == ("cancelled", None, "")
    assert [record.problem for record in cancelled.calls] == ["cancelled", "cancelled"]
    assert "may have taken effect" in cancelled.calls[0].result.content
    assert later.output == "fine"


def test_a_run_cancelled_during_a_reply_keeps_what_came_complete():
    async def tale():
        streaming = asyncio.Event()

        async def reply(request):
            yield CallDone(Written("c1", "stock", '{"item": "A"}'))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            streaming.set()
            await asyncio.sleep(30)

        agent = Agent(Scripted(reply), tools=[stock])
        running = asyncio.ensure_future(agent.run("Go.", run_id="r"))
        await streaming.wait()
        await agent.cancel("r")
        return await running

    result = asyncio.run(tale())
    assert result.stopped == "cancelled"
    assert [message.role for message in result.history] == ["person", "model", "tools"]


class Interrupted:
    """A run whose one call of `use` has taken five seconds, by its clock, when it is stopped."""

    def __init__(self, effect):
        self.now = 100.0
        self.calls = 0
        self.services = Services(journal=MemoryJournal(), clock=lambda: self.now)
        self.begun = asyncio.Event()

        @tool(effect=effect)
        async def use() -> str:
            """Use it."""
            self.calls += 1
            self.begun.set()
            if self.calls == 1:
                await asyncio.sleep(30)
            return "used"

        self.agent = Agent(Scripted(calls(("use", {})), "fine"), tools=[use], policy=[allow("*")])

    async def stopped(self, stop):
        running = asyncio.ensure_future(self.agent.run("Go.", run_id="r", journal=self.services))
        await self.begun.wait()
        self.now += 5
        assert await stop("r")
        return await running

    async def entries(self):
        return await self.services.journal.read("r")


def test_an_interrupted_run_goes_on_where_it_was():
    async def tale():
        site = Interrupted("read")
        stopped = await site.stopped(site.agent.interrupt)
        assert not await site.agent.interrupt("r")
        return stopped, await site.agent.resume("r", journal=site.services), site

    stopped, resumed, site = asyncio.run(tale())
    assert (stopped.stopped, stopped.interrupted, stopped.reason) == ("cancelled", True, "The run was interrupted.")
    assert [entry.running for entry in stopped.entries if isinstance(entry, Finished)] == [{"call_1_1": 5.0}]
    assert (resumed.output, resumed.interrupted, site.calls) == ("fine", False, 2)
    assert [record.result.content for record in resumed.calls] == ["used"]


def test_a_person_is_asked_about_a_writing_call_that_an_interruption_cut_off():
    async def tale():
        site = Interrupted("write")
        await site.stopped(site.agent.interrupt)
        assert [call.name for call in await Runs(site.services).interrupted_calls("r")] == ["use"]
        waiting = await site.agent.resume("r", journal=site.services)
        await site.agent.settle("r", "call_1_1", "happened", journal=site.services)
        return waiting, await site.agent.resume("r", journal=site.services), site

    waiting, resumed, site = asyncio.run(tale())
    assert (waiting.stopped, [approval.unclear for approval in waiting.approvals]) == ("waiting", [True])
    assert (resumed.output, site.calls) == ("fine", 1)


@pytest.mark.parametrize(
    ("effect", "words"),
    [("read", "Cancelled while it was running."), ("write", "Cancelled while it was running; it may have taken effect.")],
)
@pytest.mark.parametrize("way", ["cancel", "interrupt"])
def test_a_call_that_was_cut_off_has_the_time_that_it_took(effect, words, way):
    async def tale():
        site = Interrupted(effect)
        await site.stopped(getattr(site.agent, way))
        site.now += 3600  # what comes before somebody says something else isn't the tool's
        await site.agent.run("Never mind.", run_id="r", journal=site.services)
        return [entry for entry in await site.entries() if isinstance(entry, Returned)]

    (returned,) = asyncio.run(tale())
    assert (returned.result.content, returned.result.problem, returned.seconds) == (words, "cancelled", 5.0)


def test_a_caller_that_goes_away_leaves_a_run_that_can_be_resumed():
    async def tale():
        started = asyncio.Event()

        async def slowly(request):
            started.set()
            await asyncio.sleep(30)
            yield TextDelta("late")

        journal = MemoryJournal()
        agent = Agent(Scripted(slowly, "there"))
        running = asyncio.ensure_future(agent.run("Go.", run_id="r", journal=journal))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return await agent.resume("r", journal=journal)

    assert asyncio.run(tale()).output == "there"


def test_a_run_can_be_seen_as_it_happens():
    async def tale():
        agent = Agent(Scripted(calls(("stock", {"item": "A"}), text="Looking. "), "40", chunk=4), tools=[stock])
        return [event async for event in agent.stream("Go.")]

    events = asyncio.run(tale())
    assert isinstance(events[0], RunStarted)
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "Looking. 40"
    assert isinstance(events[-1], RunEnded)
    assert events[-1].result.output == "40"


def test_a_stream_raises_what_the_run_raises():
    async def tale():
        return [event async for event in Agent(Scripted("a")).stream("")]

    with pytest.raises(BadPrompt):
        asyncio.run(tale())


def test_leaving_a_stream_early_stops_the_run():
    async def tale():
        ended = asyncio.Event()

        async def slowly(request):
            try:
                yield TextDelta("a")
                await asyncio.sleep(30)
            finally:
                ended.set()

        stream = Agent(Scripted(slowly)).stream("Go.")
        async for event in stream:
            if isinstance(event, TextArrived):
                break
        await stream.aclose()
        return ended.is_set()

    assert asyncio.run(tale())


def test_others_can_watch_a_run_under_way():
    async def tale():
        go = asyncio.Event()

        async def reply(request):
            yield TextDelta("one ")
            await go.wait()
            yield TextDelta("two")
            yield ReplyEnded("done")

        agent = Agent(Scripted(reply))
        running = asyncio.ensure_future(agent.run("Go.", run_id="r"))
        await asyncio.sleep(0.01)
        watch = agent.watch("r")
        go.set()
        seen = [event async for event in watch]
        result = await running
        with pytest.raises(RunNotFound):
            agent.watch("r")
        return result, seen

    result, seen = asyncio.run(tale())
    assert [event.text for event in seen if isinstance(event, TextArrived)] == ["two"]
    assert seen[-1].result is result


def test_a_watcher_that_fails_stops_nothing(caplog):
    def broken(event):
        raise ValueError("no eyes")

    result = Agent(Scripted("fine")).run_sync("Go.", watchers=[broken])
    assert result.output == "fine"
    assert "no eyes" in caplog.text


def test_a_tool_can_say_how_far_it_is():
    from treadle import RunContext

    @tool(effect="read")
    async def slow(ctx: RunContext) -> str:
        """Slow."""
        ctx.progress("half")
        return "done"

    events = []
    Agent(Scripted(calls(("slow", {})), "ok"), tools=[slow]).run_sync("Go.", watchers=[events.append])
    assert [event.text for event in events if isinstance(event, CallProgressed)] == ["half"]


def test_instructions_may_know_who_asks():
    from treadle import RunContext

    async def told(ctx: RunContext) -> str:
        return f"You help {ctx.user}, who has {ctx.deps}."

    model = Scripted("ok", "ok")
    Agent(model, instructions=told).run_sync("Go.", user="Ann", deps="a cat")
    Agent(model, instructions=lambda ctx: f"For {ctx.user}.").run_sync("Go.", user="Bo")
    assert [request.instructions for request in model.requests] == ["You help Ann, who has a cat.", "For Bo."]


def test_retries_use_up_the_tries_and_then_fail():
    model = Scripted(*[ModelUnavailable("down")] * 3)
    result = Agent(model, limits=Limits(tries=3, backoff=0)).run_sync("Go.")
    assert (result.stopped, result.reason, len(model.requests)) == ("failed", "down", 3)
    assert result.entries[-1].usage.requests == 3


def test_a_reply_without_an_end_was_broken_off():
    model = Scripted([TextDelta("half")], [CallDone(Written("c1", "stock", '{"item": "A"}'))], "40")
    result = Agent(model, tools=[stock], limits=Limits(backoff=0)).run_sync("Go.")
    assert result.output == "40"
    assert [record.name for record in result.calls] == ["stock"]
    assert result.usage.requests == 3


def test_results_arrive_in_the_order_asked_whatever_order_they_finish_in():
    @tool(effect="read")
    async def wait(turns: int) -> int:
        """Wait."""
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    model = Scripted(calls(*[("wait", {"turns": turns}) for turns in (9, 1, 5)]), "ok")
    events = []
    Agent(model, tools=[wait]).run_sync("Go.", watchers=[events.append])
    assert [part.content for part in model.requests[1].history[-1].parts] == ["9", "1", "5"]
    assert [event.result.content for event in events if isinstance(event, CallReturned)] == ["1", "5", "9"]


def test_a_full_disk_ends_the_run_before_the_effect_and_it_can_be_begun_again(tmp_path):
    done = []

    @tool
    async def write(text: str) -> str:
        """Write."""
        done.append(text)
        return "ok"

    async def tale():
        home = open_home(tmp_path)
        model = Scripted(calls(("write", {"text": "x" * 500_000})), calls(("write", {"text": "y"})), "fine")
        agent = Agent(model, tools=[write], policy=[allow("*")])
        await home.database.submit(lambda connection: connection.execute("PRAGMA max_page_count=40"))
        with pytest.raises(JournalError, match="Make room"):
            await agent.run("Go.", run_id="r", journal=home.services())
        assert done == []
        await home.database.submit(lambda connection: connection.execute("PRAGMA max_page_count=1000000"))
        return await agent.run("Go.", run_id="r", journal=home.services())

    assert asyncio.run(tale()).stopped == "answered"
    assert done == ["y"]


def test_a_run_that_somebody_was_told_of_can_be_found_at_once(tmp_path):
    async def tale():
        home = open_home(tmp_path)
        found = []

        def watcher(event):
            if isinstance(event, RunStarted):
                with contextlib.closing(sqlite3.connect(home.database.path)) as other:
                    found.append(other.execute("SELECT status FROM runs WHERE run_id = 'r'").fetchone())

        await Agent(Scripted("fine")).run("Go.", run_id="r", journal=home.services(), watchers=[watcher])
        return found

    assert asyncio.run(tale()) == [("open",)]
