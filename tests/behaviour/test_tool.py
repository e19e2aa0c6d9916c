"""When a tool misbehaves."""

import asyncio
import contextlib
import logging
import threading
import time
from datetime import date

import pytest
from msgspec.structs import replace

import wire
from treadle import ResultOptions, RunContext, Runs, ToolProblem, ToolResult, allow, open_home, tool
from treadle.core.entries import Started
from treadle.core.events import CallRetried, CallReturned, CallStarted
from treadle.core.tool import RetryPolicy
from wire import break_off, call, gate, pause, reply


def test_tool_raises(story, caplog):
    @tool(effect="read")
    def divide(a: int) -> float:
        """Divide one by a number."""
        return 1 / a

    played = story.play([call("divide", {"a": 0}), "can't be done"], [divide])
    assert played.results() == ["ZeroDivisionError: division by zero"]
    assert played.result.calls[0].problem == "raised"
    assert played.result.output == "can't be done"
    assert "Traceback" in caplog.text


def test_tool_raises__in_words_for_the_model(story, caplog):
    @tool(effect="read")
    async def find(name: str) -> str:
        """Find someone."""
        raise ToolProblem(f"Nobody is called {name}; try a family name.")

    with caplog.at_level(logging.DEBUG, "treadle"):
        played = story.play([call("find", {"name": "Bo"}), "no"], [find])
    assert played.results() == ["Nobody is called Bo; try a family name."]
    assert caplog.text == ""


def test_tool_raises__whatever_it_is(story):
    @tool(effect="read")
    async def leave() -> str:
        """Leave."""
        raise SystemExit(3)

    @tool(effect="read")
    def leave_thread() -> str:
        """Leave, in a thread."""
        raise SystemExit(3)

    played = story.play([(call("leave"), call("leave_thread")), "still here"], [leave, leave_thread])
    assert [record.problem for record in played.result.calls] == ["raised", "raised"]
    assert played.result.output == "still here"


def test_tool_raises__secrets_stay_out_of_the_words(story, caplog):
    key = "sk-" + "proj-" + "a1B2c3D4e5" * 5

    @tool(effect="read")
    async def connect() -> str:
        """Connect."""
        raise ConnectionError(f"refused with key {key}")

    played = story.play([call("connect"), "no"], [connect])
    assert "ConnectionError" in played.results()[0]
    assert key not in str(played.server.requests)
    assert key not in str(played.result.entries)
    assert "ConnectionError" in caplog.text
    assert key not in caplog.text


def test_tool_recovers(story):
    tries = []

    @tool(effect="read", retries=RetryPolicy(2, seconds=0.001))
    async def ask_server(ctx: RunContext) -> str:
        """Ask a server that is starting."""
        tries.append(ctx.attempt)
        if ctx.attempt < 3:
            raise ConnectionError("refused")
        return "ready"

    played = story.play([call("ask_server"), "It is ready."], [ask_server])
    assert played.results() == ["ready"]
    assert tries == [1, 2, 3]
    assert [event.attempt for event in played.of(CallRetried)] == [1, 2]
    assert [event.reason for event in played.of(CallRetried)] == ["ConnectionError: refused."] * 2


def test_tool_recovers__or_not(story):
    keys = []

    @tool(retry="keyed", retries=RetryPolicy(1, seconds=0.001))
    async def order(ctx: RunContext) -> str:
        """Order."""
        keys.append(ctx.key)
        raise ConnectionError("refused")

    played = story.play([call("order"), "It failed."], [order], policy=[allow("order")])
    assert played.results() == ["ConnectionError: refused"]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert [entry.attempt for entry in played.result.entries if isinstance(entry, Started)] == [1, 2]


def test_tool_waits(story, tmp_path):
    ran: list[str] = []

    @tool(effect="read")
    async def payment(ctx: RunContext) -> str:
        """Wait for the payment."""
        ran.append("payment")
        return f"paid {await ctx.wait_for_event('paid', '7')}"

    @tool(effect="write", retry="once")
    async def order(ctx: RunContext) -> str:
        """Order, and wait for the delivery."""
        ran.append("order")
        return ctx.defer(event="delivered")

    @tool(effect="write", retry="once")
    async def nap(ctx: RunContext) -> None:
        """Sleep in the middle of something."""
        await ctx.sleep(3600)

    home = open_home(tmp_path)
    services = home.services()

    async def work(server):
        agent = story.agent(server, [payment, order, nap], policy=[allow("*")])
        results = [await agent.run("Go.", run_id="r", journal=services)]
        for name, key in (("paid", "7"), ("delivered", "")):
            assert await Runs(home).send_event(name, 12, key=key, from_user=True) == ["r"]
            found = await asyncio.gather(*[agent.wake_due(journal=services) for _ in range(2)])
            results += [result for woken in found for result in woken]
        return results

    with wire.WireServer([call("payment"), call("order"), call("nap"), "Done."]) as server:
        results = asyncio.run(work(server))
    assert [result.stopped for result in results] == ["waiting", "waiting", "answered"]
    assert ran == ["payment", "payment", "order"]
    paid, delivered, refused = results[-1].calls
    assert (paid.result.content, delivered.result.content) == ("paid 12", "12")
    assert "Return `ctx.defer(…)` at its end instead" in refused.result.content


def test_tool_waits__for_an_event_that_does_not_come(story, tmp_path):
    now = [1_800_000_000.0]

    @tool(effect="read")
    async def payment(ctx: RunContext) -> str:
        """Wait for the payment."""
        return await ctx.wait_for_event("paid", timeout=3600)

    services = replace(open_home(tmp_path).services(), clock=lambda: now[0])

    async def work(server):
        agent = story.agent(server, [payment])
        await agent.run("Go.", journal=services)
        now[0] += 3600
        return await agent.wake_due(journal=services)

    with wire.WireServer([call("payment"), "Not paid."]) as server:
        (woken,) = asyncio.run(work(server))
    assert woken.output == "Not paid."
    assert woken.calls[0].result.content == "The event 'paid' hasn't come by 2027-01-15T09:00:00Z."


def test_tool_in_the_background(story):
    began, gate = asyncio.Event(), asyncio.Event()

    @tool(effect="read", background=True)
    async def build() -> str:
        """Build."""
        began.set()
        await gate.wait()
        return "a house"

    @tool(effect="read")
    async def look() -> str:
        """Look until it builds, and let it end."""
        await began.wait()
        gate.set()
        return "it builds"

    read = call("background_result", {"id": "b1"})
    played = story.play([call("build", id="b1"), call("look"), "Done?", read, "A house."], [build, look])
    assert played.result.output == "A house."
    assert played.results(2)[1:] == ["it builds"]
    assert played.results(4)[2:] == ["a house"]
    assert "background_result" in played.offered(1)
    assert "build (b1)" in str(played.server.requests[3].body)


def test_tool_hangs(story):
    cancelled = threading.Event()

    @tool(effect="read", timeout=0.05)
    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "late"

    played = story.play([call("hang"), "gave up"], [hang])
    assert played.result.calls[0].problem == "timeout"
    assert cancelled.is_set()
    assert "given up" in played.results()[0]


def test_tool_hangs__and_will_not_be_cancelled(story, monkeypatch):
    monkeypatch.setattr("treadle.engine.outcome.GRACE", 0.05)

    @tool(effect="read", timeout=0.05)
    async def stubborn() -> str:
        """Hold on."""
        for _ in range(20):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return "late"

    played = story.play([call("stubborn"), "gave up"], [stubborn])
    assert played.result.calls[0].problem == "timeout"
    assert "could not be stopped" in played.results()[0]


def test_tool_hangs__but_its_own_timeouts_are_its_own(story):
    @tool(effect="read", timeout=5)
    async def ask_far_away() -> str:
        """Ask."""
        raise TimeoutError("the far server is slow") from OSError()

    played = story.play([call("ask_far_away"), "no"], [ask_far_away])
    assert played.result.calls[0].problem == "raised"


def test_tool_hangs__in_a_thread(story):
    over = threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        """Hang in a thread."""
        over.wait(120)
        return "late"

    played = story.play([call("hang"), "gave up"], [hang], policy=[allow("hang")])
    over.set()
    assert played.result.calls[0].problem == "timeout"
    assert "may still be running" in played.results()[0]
    assert "may or may not have taken effect" in played.results()[0]


def test_tool_returns_too_much(story):
    text = "".join(f"line {number}\n" for number in range(10_000))

    @tool(effect="read")
    async def dump() -> str:
        """Everything."""
        return text

    script = [call("dump", id="c1"), call("read_result", {"id": "result_c1", "start": 50_000, "end": 50_100}), "found"]
    played = story.play(script, [dump], results=ResultOptions(limit=1000))
    shown, part = played.results()
    assert shown.startswith("line 0\n")
    assert shown.endswith("line 9999\n")
    assert len(shown) < 1500
    assert f"of {len(text)} characters left out" in shown
    assert text[50_000:50_100] in part
    assert "read_result" not in played.offered(0)
    assert "read_result" in played.offered(1)


def test_tool_returns_data(story, tmp_path):
    towns = [{"name": "Ur", "people": 65000}]

    @tool(effect="read")
    async def count() -> dict[str, int]:
        """Count."""
        return {"towns": 1}

    @tool(effect="read")
    async def towns_of() -> ToolResult:
        """Towns."""
        return ToolResult("1 town: Ur", towns)

    home = open_home(tmp_path)
    played = story.play([(call("count"), call("towns_of")), "one"], [count, towns_of], run={"journal": home.services()})
    assert played.results() == ['{"towns":1}', "1 town: Ur"]
    assert [record.result.data for record in played.result.calls] == [{"towns": 1}, towns]
    assert sorted([str(event.result.data) for event in played.of(CallReturned)]) == sorted([str({"towns": 1}), str(towns)])
    entries = asyncio.run(home.journal.read(played.result.run_id))
    assert sorted([str(entry.result.data) for entry in entries if hasattr(entry, "result")]) == sorted(
        [str({"towns": 1}), str(towns)]
    )


def test_tool_returns_data__without_secrets(story):
    key = "sk-" + "proj-" + "a1B2c3D4e5" * 5

    @tool(effect="read")
    async def keys() -> ToolResult:
        """Keys."""
        return ToolResult("One key.", [{"key": key, "password": "hunter2hunter2"}])

    data = story.play([call("keys"), "one"], [keys]).result.calls[0].result.data
    assert (key in str(data), "hunter2" in str(data), len(data)) == (False, False, 1)


def test_tool_returns_no_json(story):
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no words for it")

    values = iter([b"\xff\xfe", object(), {1: {2}}, float("nan"), date(2026, 1, 2), Odd(), None, "\ud800"])

    @tool(effect="read")
    async def thing() -> object:
        """Some thing."""
        return next(values)

    played = story.play([tuple(call("thing") for _ in range(8)), "odd"], [thing])
    assert len(played.results()) == 8
    assert "2026-01-02" in played.results()[4]
    assert played.result.output == "odd"


SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2


@tool(effect="read")
async def leak() -> dict[str, str]:
    """Leak."""
    return {"token": SECRET, "note": f"use {SECRET}"}


def test_tool_prints_secrets__and_the_agent_shows_them_to_the_model_alone(story, tmp_path, caplog):
    home = open_home(tmp_path)
    run = {"journal": home.services(), "run_id": "r"}
    played = story.play([call("leak"), "hm"], [leak], run=run, results=ResultOptions(show_secrets=True, limit=100))
    assert SECRET in str(played.server.requests[-1].body)
    assert SECRET not in str(played.result.entries)
    assert SECRET not in str(played.events)
    home.database.close()
    assert not [file for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]
    assert SECRET not in caplog.text


def test_tool_prints_secrets(story, caplog):
    played = story.play([call("leak"), "hm"], [leak])
    assert SECRET not in str(played.server.requests)
    assert SECRET not in str(played.result.entries)
    assert SECRET not in str(played.events)
    assert SECRET not in caplog.text


def test_tool_dies_with_the_process(story):
    """Here at the smallest scale: a run whose journal ends after `Started`. Killed processes are in tests/faults."""
    effects: list[str] = []
    lasting = asyncio.run(_interrupted(story, effects, attended=False))
    once, again, keyed, checked = lasting
    assert "interrupted" in once
    assert effects == ["again k", "keyed k"]
    assert again == "again"
    assert keyed == "keyed"
    assert checked == "it happened"


@pytest.mark.parametrize(
    ("said", "words", "more"),
    [("happened", "says that it took effect", []), ("not_happened", "says that it did not", []), ("again", "once", ["once k"])],
)
def test_tool_dies_with_the_process__a_person_says_what_became_of_it(story, said, words, more):
    effects: list[str] = []
    once, *_ = asyncio.run(_interrupted(story, effects, said))
    assert words in once
    assert effects == ["again k", "keyed k", *more]


async def _interrupted(story, effects, said="", **how) -> list[str]:
    from treadle.core.calls import Allow, Call, Written
    from treadle.core.entries import Judged, Opened, Replied, Said, Started
    from treadle.stores.memory import MemoryJournal

    def made(name, **settings):
        from treadle import RunContext

        async def effect(ctx: RunContext) -> str:
            effects.append(f"{name} {ctx.key}")
            return name

        effect.__name__ = name
        effect.__doc__ = "An effect."
        return tool(effect, **settings)

    tools = [
        made("once"),
        made("again", retry="idempotent"),
        made("keyed", retry="keyed"),
        made("checked", retry="checkable", reconcile=lambda ctx: "it happened"),
    ]
    names = [made.tool.name for made in tools]
    journal = MemoryJournal()
    calls = tuple(Written(name, name, "{}") for name in names)
    judged = [Judged(call=Call(name, name, {}), verdict=Allow()) for name in names]
    begun = [Started(call_id=name, key="k") for name in names]
    await journal.append("r", 0, [Opened(), Said(text="Go."), Replied(parts=calls), *judged, *begun])
    with wire.WireServer(["done"]) as server:
        agent = story.agent(server, tools, **how)
        result = await agent.resume("r", journal=journal)
        if said:
            assert [(asked.name, asked.unclear) for asked in result.approvals] == [("once", True)]
            await agent.settle("r", "once", said, by="Ann", journal=journal)
            result = await agent.resume("r", journal=journal)
        assert result.output == "done"
        return story.results(server)


def test_calls_at_the_same_time(story):
    """Each takes its time, the first the longest; `make bench` measures how long four of 100 ms take."""

    @tool(effect="read")
    def slow(number: int) -> int:
        """Take a while."""
        time.sleep(0.01 * number)
        return number

    asked = tuple(call("slow", {"number": number}) for number in (3, 1, 2, 0))
    played = story.play([asked, "done"], [slow])
    assert played.results() == ["3", "1", "2", "0"]
    assert len(played.of(CallStarted)) == 4


def test_calls_at_the_same_time__together_they_take_as_long_as_one(story):
    """All four wait for one another, which only works if they run at once."""
    together = threading.Barrier(4, timeout=120)

    @tool(effect="read")
    def meet(number: int) -> str:
        """Meet the others."""
        together.wait()
        return "met"

    played = story.play([tuple(call("meet", {"number": number}) for number in range(4)), "done"], [meet])
    assert played.results() == ["met"] * 4


def test_sequential(story):
    order: list[str] = []

    async def step(name: str) -> str:
        order.append(f"{name} begins")
        await asyncio.sleep(0.01)
        order.append(f"{name} ends")
        return name

    @tool(effect="read")
    async def any_time(name: str) -> str:
        """Any time."""
        return await step(name)

    @tool(effect="read", sequential=True)
    async def in_turn(name: str) -> str:
        """In turn."""
        return await step(name)

    asked = (
        call("any_time", {"name": "a"}),
        call("any_time", {"name": "b"}),
        call("in_turn", {"name": "c"}),
        call("any_time", {"name": "d"}),
    )
    played = story.play([asked, "done"], [any_time, in_turn])
    assert set(order[:4]) == {"a begins", "b begins", "a ends", "b ends"}
    assert order[4:] == ["c begins", "c ends", "d begins", "d ends"]
    assert played.results() == ["a", "b", "c", "d"]


def test_early_start(streamed):
    began = threading.Event()
    at: list[float] = []

    @tool(effect="read")
    async def look(place: str) -> str:
        """Look."""
        at.append(time.monotonic())
        began.set()
        return place

    here, there = call("look", {"place": "here"}), call("look", {"place": "there"})
    slow = reply(here, gate(began, seconds=120), pause(0.05), there, "and so on")
    played = streamed.play([slow, "done"], [look])
    last = max(sent.at for sent in played.server.sent if sent.request == 0)
    assert at[0] < last - 0.04
    assert played.results() == ["here", "there"]


def test_early_start__also_with_effects_and_never_before_they_may(streamed):
    began = threading.Event()
    order: list[str] = []

    @tool
    async def write(what: str) -> str:
        """Write."""
        order.append(what)
        began.set()
        return what

    policy = [allow("write", where={"what": "free"})]
    slow = reply(call("write", {"what": "free"}), call("write", {"what": "asked"}), gate(began, seconds=120), "so")
    played = streamed.play([slow], [write], policy=policy)
    assert order == ["free"]
    assert played.result.stopped == "waiting"
    assert [approval.arguments for approval in played.result.approvals] == [{"what": "asked"}]


@pytest.mark.parametrize("abort", [False, True])
def test_broken_after_a_call(streamed, abort):
    done: list[str] = []
    began = threading.Event()

    @tool
    async def write(what: str) -> str:
        """Write."""
        done.append(what)
        began.set()
        return what

    broken = reply(
        "Two things. ",
        call("write", {"what": "a"}),
        gate(began, seconds=120),
        call("write", '{"what": "b', size=99),
        break_off(abort=abort),
    )
    played = streamed.play([broken, "one thing"], [write], policy=[allow("*")])
    assert done == ["a"]
    assert played.results() == ["a"]
    assert len(played.server.requests) == 2
    assert played.result.output == "one thing"
    assert [event.result.content for event in played.of(CallReturned)] == ["a"]
