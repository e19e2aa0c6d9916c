"""Tools that work in the background: the model goes on, reads the result later, and the turn waits for them."""

import asyncio

import pytest
from msgspec.structs import replace

from treadle import Agent, Limits, ResultOptions, RunContext, allow, ask, tool
from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Called, Judged, Opened, Replied, Returned, Said, Started
from treadle.core.errors import ModelRefused
from treadle.core.events import CallReturned
from treadle.models.scripted import Scripted, calls
from treadle.stores.memory import MemoryJournal
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.wrappers import MappedToolset

READ = calls(("background_result", {"id": "call_1_1"}))
BUILD, LOOK = calls(("build", {})), calls(("look", {}))
STARTED = "Started in the background as call_1_1. Go on meanwhile; background_result returns its result once it has ended."


class Site:
    """A build that ends when it is let go."""

    def __init__(self):
        self.gate, self.began = asyncio.Event(), asyncio.Event()
        self.told = []

    @tool(retry="idempotent", background=True)
    async def build(self, ctx: RunContext) -> str:
        """Build."""
        self.told.append(f"began {ctx.key} {ctx.attempt}")
        self.began.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.told.append("cancelled")
            raise
        self.told.append("built")
        return "a house"

    @tool(effect="read")
    async def look(self) -> str:
        """Look until it builds."""
        await self.began.wait()
        return "it builds"

    @tool(effect="read")
    async def finish(self) -> str:
        """Let the build end."""
        self.gate.set()
        return "let go"


def ran(*replies, tools=(), site=None, **how):
    """The result of a run, its model and its site."""
    site, model = site or Site(), Scripted(*replies)
    agent = Agent(model, tools=[site.build, site.look, site.finish, *tools], **{"policy": [allow("*")], **how})
    return agent.run_sync("Go.", run_id="r"), model, site


def contents(result):
    return {record.call.id: record.result.content for record in result.calls}


def test_the_model_goes_on_while_the_work_does():
    result, model, site = ran(BUILD, calls(("finish", {})), READ, "Built.")
    assert (result.output, site.told) == ("Built.", ["began r:call_1_1.1 1", "built"])
    assert contents(result) == {
        "call_1_1": STARTED,
        "call_1_1.1": "a house",
        "call_2_1": "let go",
        "call_3_1": "a house",
    }
    assert [[spec.name for spec in request.tools] for request in model.requests] == [
        ["build", "look", "finish"],
        ["build", "look", "finish", "background_result"],
        ["build", "look", "finish", "background_result"],
        ["build", "look", "finish"],
    ]
    assert result.usage.calls == 3


def test_the_turn_waits_for_the_work_and_tells_the_model():
    site = Site()
    site.gate.set()
    result, model, _ = ran(BUILD, "Too early.", READ, "Built.", site=site)
    assert result.output == "Built."
    assert model.requests[2].note == (
        "These calls in the background have ended: build (call_1_1). Read their results with background_result, then answer."
    )
    assert contents(result)["call_3_1"] == "a house"


def test_a_model_that_does_not_want_the_result_is_told_of_it_once():
    site = Site()
    site.gate.set()
    result, model, _ = ran(BUILD, "Too early.", "Never mind.", site=site)
    assert (result.output, len(model.requests), site.told[-1]) == ("Never mind.", 3, "built")


def test_a_typed_answer_waits_as_well():
    site = Site()
    site.gate.set()
    first, second = calls(("give_answer", {"value": 1})), calls(("give_answer", {"value": 2}))
    result, _, _ = ran(BUILD, first, second, site=site, output_type=int, output_mode="tool")
    assert (result.output, site.told[-1]) == (2, "built")


def test_at_a_limit_the_work_is_cancelled_and_that_is_said():
    result, _, site = ran(BUILD, LOOK, "As far as I know.", limits=Limits(rounds=2))
    assert (result.stopped, site.told[-1]) == ("limit", "cancelled")
    assert contents(result)["call_1_1.1"] == "Cancelled while it was running; it may have taken effect."


def test_when_the_model_fails_the_work_is_cancelled():
    result, _, site = ran(BUILD, LOOK, ModelRefused("no"))
    assert (result.stopped, site.told[-1], result.calls[1].problem) == ("failed", "cancelled", "cancelled")


def test_work_that_had_not_begun_at_a_limit_never_does():
    result, _, site = ran(BUILD, "As far as I know.", limits=Limits(rounds=1))
    assert (site.told, contents(result)["call_1_1.1"]) == ([], "Cancelled before it ran.")


def test_work_that_ends_although_it_was_cancelled_has_one_result():
    site = Site()

    @tool(effect="read", background=True)
    async def stubborn() -> str:
        """Never give up."""
        site.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "still here"

    result, _, _ = ran(calls(("stubborn", {})), LOOK, ModelRefused("no"), site=site, tools=[stubborn])
    results = [entry.result for entry in result.entries if isinstance(entry, Returned)]
    assert [each.problem for each in results if each.call_id == "call_1_1.1"] == ["cancelled"]


def test_cancelling_the_run_cancels_the_work():
    async def cancelled():
        site = Site()
        agent = Agent(Scripted(BUILD, "Too early."), tools=[site.build], policy=[allow("*")])
        ending = []

        def watch(event):
            if isinstance(event, CallReturned):
                ending.append(asyncio.ensure_future(agent.cancel("r")))

        return await agent.run("Go.", run_id="r", watchers=[watch]), site

    result, site = asyncio.run(cancelled())
    assert (result.stopped, [record.problem for record in result.calls]) == ("cancelled", [None, "cancelled"])
    assert "built" not in site.told


def test_an_approval_is_for_the_work():
    async def approved():
        site = Site()
        site.gate.set()
        agent = Agent(Scripted(BUILD, READ, "Built."), tools=[site.build], policy=[ask("build")])
        waiting = await agent.run("Go.")
        assert (waiting.stopped, site.told) == ("waiting", [])
        await agent.approve(waiting.run_id, waiting.approvals[0].call_id)
        return await agent.resume(waiting.run_id)

    result = asyncio.run(approved())
    assert (result.output, contents(result)["call_2_1"]) == ("Built.", "a house")


def test_the_turn_waits_for_the_work_before_it_waits_for_a_person():
    @tool
    async def pay() -> str:
        """Pay."""
        return "paid"

    site = Site()
    site.gate.set()
    result, _, _ = ran(BUILD, calls(("pay", {})), site=site, tools=[pay], policy=[allow("build"), ask("pay")])
    assert (result.stopped, site.told[-1], result.calls[1].result.content) == ("waiting", "built", "a house")


def test_a_wrong_id_is_answered_with_those_there_are():
    wrong = calls(("background_result", {"id": "x"}))
    result, _, _ = ran(wrong, calls(("build", {})), wrong, calls(("finish", {})), "So.", "So.")
    assert contents(result)["call_1_1"] == "No call 'x' runs in the background. There are: none."
    assert contents(result)["call_3_1"] == "No call 'x' runs in the background. There are: call_2_1."
    assert result.calls[0].problem == "invalid"


def test_a_result_is_what_it_would_have_been():
    @tool(effect="read", trust="untrusted", background=True)
    async def page() -> str:
        """Read a page."""
        return "x" * 500

    result, _, _ = ran(calls(("page", {})), READ, "So.", tools=[page], results=ResultOptions(limit=100))
    read = next(record.result for record in result.calls if record.name == "background_result")
    assert read.untrusted
    assert "read_result" in read.content


def test_a_tool_that_calls_one_gets_its_result_at_once():
    @tool(effect="read")
    async def act(ctx: RunContext) -> str:
        """Act."""
        return "built " + await ctx.call("build")

    site = Site()
    site.gate.set()
    result, _, _ = ran(calls(("act", {})), "So.", site=site, tools=[act])
    assert contents(result)["call_1_1"] == "built a house"


def interrupted(*more, begun=True):
    """A run whose process died while it built in the background."""
    call, work = Call("c1", "build", {}), Call("c1.1", "build", {})
    start = [Started(call_id="c1.1", key="k")] if begun else []
    return [
        Opened(),
        Said(text="Go."),
        Replied(parts=(Written("c1", "build", "{}"),)),
        Judged(call=call, verdict=Allow()),
        Called(call=work, within="c1", background=True),
        Judged(call=work, verdict=Allow("background")),
        *start,
        *more,
    ]


HANDLE = Returned(result=Result("c1", "build", "Started."))


def resumed(entries, *replies, made=None, then=None):
    async def tale():
        site, journal = Site(), MemoryJournal()
        site.gate.set()
        await journal.append("r", 0, entries)
        agent = Agent(Scripted(*replies), tools=[made or site.build], policy=[allow("*")])
        result = await agent.resume("r", journal=journal)
        if then is not None:
            await agent.settle("r", "c1.1", then, journal=journal)
            result = await agent.resume("r", journal=journal)
        return result, site

    return asyncio.run(tale())


@pytest.mark.parametrize("entries", [interrupted(), interrupted(HANDLE)])
def test_work_that_was_interrupted_by_a_crash_is_recovered_by_its_retry_class(entries):
    result, site = resumed(entries, calls(("background_result", {"id": "c1"})), "Built.")
    assert (result.output, site.told) == ("Built.", ["began k 2", "built"])
    assert contents(result)["c1.1"] == "a house"


def test_work_that_had_not_begun_begins():
    result, site = resumed(interrupted(HANDLE, begun=False), "So.", "So.")
    assert site.told == ["began r:c1.1 1", "built"]
    assert result.output == "So."


@pytest.mark.parametrize(("said", "times"), [("happened", 0), ("again", 1)])
def test_work_that_must_not_happen_twice_is_asked_about(said, times):
    done = []

    @tool(background=True)
    async def build() -> str:
        """Build."""
        done.append("built")
        return "a house"

    read = calls(("background_result", {"id": "c1"}))
    result, _ = resumed(interrupted(HANDLE), "So.", made=build)
    assert (result.stopped, result.approvals[0].unclear, done) == ("waiting", True, [])
    result, _ = resumed(interrupted(HANDLE), read, "So.", read, "So.", made=build, then=said)
    assert (result.stopped, len(done)) == ("answered", times)
    first = next(record.result.content for record in result.calls if record.name == "background_result")
    assert first == "It hasn't ended: a user must be asked about it first."


def test_an_agent_in_the_background_that_waits_for_a_person_has_the_turn_wait():
    done = []

    @tool
    async def pay() -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    async def tale():
        clerk = Agent(Scripted(calls(("pay", {})), "It is paid."), tools=[pay], name="clerk", policy=[ask("pay")])
        behind = MappedToolset(clerk.as_tool(), lambda made: replace(made, background=True))
        agent = Agent(Scripted(calls(("clerk", {"prompt": "Pay."})), "So.", READ, "Paid."), toolsets=[behind], policy=[allow("*")])
        waiting = await agent.run("Go.", run_id="r")
        assert (waiting.stopped, done) == ("waiting", [])
        (approval,) = waiting.approvals
        await agent.approve("r", approval.call_id)
        return await agent.resume("r")

    result = asyncio.run(tale())
    assert (result.output, done) == ("Paid.", ["paid"])
    assert contents(result)["call_3_1"] == "It is paid."


def test_without_a_toolset_that_says_so_nothing_is_in_the_background():
    assert [made.background for made in FunctionToolset([Site().build, Site().finish]).tools()] == [True, False]
