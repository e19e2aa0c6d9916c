"""Calls that were running when their process ended, and of which nothing here can tell whether they took effect."""

import asyncio

import pytest

from treadle import Agent, Answer, RunContext, RunWaiting, ToolProblem, ask, open_home, tool
from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Called, Judged, Opened, Replied, Returned, Said, Settled, Started, Unclear
from treadle.core.errors import ApprovalError
from treadle.core.events import ApprovalNeeded, CallReturned
from treadle.engine.engine import Engine
from treadle.engine.setup import Services
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryCache, MemoryJournal
from treadle.testing import Scripted

done: list[str] = []
ARGUMENTS = {"amount": 5}


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


@tool
async def pay(ctx: RunContext, amount: int) -> str:
    """Pay."""
    done.append(f"pay {amount} {ctx.key} {ctx.attempt}")
    return f"paid {amount}"


@tool(retry="idempotent")
async def note(text: str) -> str:
    """Note something."""
    done.append(f"note {text}")
    return "noted"


def begun(*more, name="pay", at=0.0):
    """A run whose process died during its first call."""
    parts = (Written("c1", name, '{"amount": 5}'), *[Written(call.id, call.name, "{}") for call in more])
    judged = [Judged(call=call, verdict=Allow(), at=at) for call in (Call("c1", name, ARGUMENTS), *more)]
    return [Opened(), Said(text="Go."), Replied(parts=parts), *judged, Started(call_id="c1", key="k", at=at)]


def taken_up(entries, then=None, *, words=("so",), tools=(pay, note), **how):
    """What a run is after it was taken up, and after `then(agent, journal)`."""

    async def tale():
        journal = MemoryJournal()
        await journal.append("r", 0, entries)
        agent = Agent(Scripted(*words), tools=tools, **how)
        result = await agent.resume("r", journal=journal)
        return result if then is None else await then(agent, journal)

    return asyncio.run(tale())


def settled(said, words="", **more):
    async def then(agent, journal):
        await agent.settle("r", "c1", said, words, by="Ann", journal=journal, **more)
        return await agent.resume("r", journal=journal)

    return then


def test_the_run_waits_and_says_what_is_asked():
    result = taken_up(begun(at=7.0))
    (approval,) = result.approvals
    assert (result.stopped, result.output_or_none) == ("waiting", None)
    assert result.reason == "A user must report the outcome of a call."
    with pytest.raises(
        RunWaiting, match=r"pay\(amount=5\) had begun when its process died.*`agent\.settle\('r', .*, .happened.\)`"
    ):
        _ = result.output
    assert (approval.unclear, approval.name, approval.arguments, approval.began_at) == (True, "pay", ARGUMENTS, 7.0)
    assert "may have taken effect" in approval.reason
    assert approval.expires_at == approval.asked_at + 7 * 24 * 3600
    assert done == []


def test_the_question_is_kept_and_not_made_anew():
    async def again(agent, journal):
        first = (await agent.approvals("r", journal=journal))[0]
        result = await agent.resume("r", journal=journal)
        assert result.approvals == (first,)
        return result

    result = taken_up(begun(), again)
    assert len([entry for entry in result.entries if isinstance(entry, Unclear)]) == 1


def test_what_happened_is_never_run_again_and_the_model_reads_the_persons_words():
    result = taken_up(begun(), settled("happened", "It is order 17."))
    (record,) = result.calls
    assert (result.output, record.problem, done) == ("so", None, [])
    assert record.result.content == (
        "The process ended while this call was running. Ann says that it took effect, so it was not run again."
        " Their words: It is order 17."
    )


def test_what_did_not_happen_is_not_run_again_either_but_the_model_may_ask_for_it():
    result = taken_up(begun(), settled("not_happened"))
    (record,) = result.calls
    assert (result.output, record.problem, done) == ("so", "interrupted", [])
    assert "Ann says that it did not take effect" in record.result.content


def test_what_is_tried_again_runs_once_more_with_the_same_key():
    result = taken_up(begun(), settled("again"))
    assert (result.output, done) == ("so", ["pay 5 k 2"])
    assert result.calls[0].result.content == "paid 5"
    assert [entry.attempt for entry in result.entries if isinstance(entry, Started)] == [1, 2]


@pytest.mark.parametrize(("said", "problem"), [("happened", None), ("not_happened", "interrupted")])
def test_a_process_that_dies_after_the_answer_asks_nobody_again(said, problem):
    entries = [*begun(), Unclear(call_id="c1"), Settled(call_id="c1", said=said)]
    assert taken_up(entries).calls[0].problem == problem
    assert done == []


def test_one_that_dies_before_the_second_attempt_still_makes_it():
    taken_up([*begun(), Unclear(call_id="c1"), Settled(call_id="c1", said="again", by="Ann")])
    assert done == ["pay 5 k 2"]


def test_one_that_dies_during_the_second_attempt_asks_once_more():
    again = [Unclear(call_id="c1"), Settled(call_id="c1", said="again"), Started(call_id="c1", key="k", attempt=2, at=9.0)]
    result = taken_up([*begun(), *again])
    assert (result.stopped, result.approvals[0].began_at, done) == ("waiting", 9.0, [])


def test_an_answer_is_given_once_and_only_where_there_is_a_question():
    async def tale(agent, journal):
        await agent.settle("r", "c1", "happened", journal=journal)
        for call_id in ("c1", "c9"):
            with pytest.raises(ApprovalError, match=f"No call {call_id} of run r waits for a person to report its outcome"):
                await agent.settle("r", call_id, "again", journal=journal)

    taken_up(begun(), tale)


def test_a_yes_or_no_is_no_answer():
    async def tale(agent, journal):
        for answer in (agent.approve("r", "c1", journal=journal), agent.deny("r", "c1", journal=journal)):
            with pytest.raises(ApprovalError, match="can't be approved or denied"):
                await answer
        with pytest.raises(ApprovalError, match="tried again as it was"):
            await agent.answer("r", "c1", Answer(settled="again", arguments={"amount": 1}), journal=journal)
        with pytest.raises(ApprovalError, match="not those that were approved"):
            await agent.settle("r", "c1", "again", digest="another", journal=journal)

    taken_up(begun(), tale)
    assert done == []


def test_nothing_can_have_become_of_a_call_that_waits_for_a_yes():
    async def tale():
        agent = Agent(Scripted(calls(("pay", ARGUMENTS))), tools=[pay], policy=[ask("pay")])
        waiting = await agent.run("Go.")
        with pytest.raises(ApprovalError, match="approve it or deny it"):
            await agent.settle(waiting.run_id, waiting.approvals[0].call_id, "happened")

    asyncio.run(tale())


@pytest.mark.parametrize("said", [True, False, Answer(True, by="--yes")])
def test_an_approver_that_says_only_yes_or_no_leaves_the_question_open(said):
    result = taken_up(begun(), approver=lambda approval: said)
    assert (result.stopped, done) == ("waiting", [])


def test_an_approver_can_say_on_the_spot_what_became_of_it():
    seen = []

    async def person(approval):
        seen.append(approval)
        return Answer(by="Ann", settled="again")

    assert taken_up(begun(), approver=person).output == "so"
    assert ([approval.unclear for approval in seen], done) == ([True], ["pay 5 k 2"])


def test_whoever_watches_hears_the_question_and_the_answer():
    events = []

    async def tale():
        journal = MemoryJournal()
        await journal.append("r", 0, begun(at=7.0))
        agent = Agent(Scripted("so"), tools=[pay], approver=lambda approval: Answer(settled="happened"))
        await agent.resume("r", journal=journal, watchers=[events.append])

    asyncio.run(tale())
    (needed,) = [event for event in events if isinstance(event, ApprovalNeeded)]
    assert (needed.unclear, needed.began_at) == (True, 7.0)
    assert [event.result.call_id for event in events if isinstance(event, CallReturned)] == ["c1"]


def test_where_nobody_can_be_asked_the_model_is_told():
    result = taken_up(begun(), attended=False)
    assert (result.output, result.calls[0].problem, done) == ("so", "interrupted", [])


def test_nothing_else_begins_before_it_is_answered():
    later = Call("c2", "note", {"text": "x"})

    async def then(agent, journal):
        assert done == []
        return await settled("happened")(agent, journal)

    assert taken_up(begun(later), then).output == "so"
    assert done == ["note x"]


def test_what_may_run_again_does_so_beside_it():
    entries = [*begun(Call("c2", "note", {"text": "x"})), Started(call_id="c2", key="k2")]
    result = taken_up(entries)
    assert ([approval.call_id for approval in result.approvals], done) == (["c1"], ["note x"])


def test_a_question_that_nobody_answers_in_time_is_over_and_the_model_is_told():
    async def tale():
        home, now = MemoryJournal(), [1000.0]
        agent = Agent(Scripted("so"), tools=[pay])
        engine = Engine(agent.setup, Services(home, clock=lambda: now[0]))
        await home.append("r", 0, begun())
        assert (await engine.resume("r")).stopped == "waiting"
        now[0] += agent.setup.approvals_expire + 1
        with pytest.raises(ApprovalError, match="has expired"):
            await engine.answer("r", "c1", Answer(settled="again"))
        return await engine.resume("r")

    result = asyncio.run(tale())
    assert (result.output, result.calls[0].problem, done) == ("so", "interrupted", [])


def test_that_it_happened_can_be_said_also_late():
    async def tale():
        journal, now = MemoryJournal(), [1000.0]
        agent = Agent(Scripted("so"), tools=[pay])
        engine = Engine(agent.setup, Services(journal, clock=lambda: now[0]))
        await journal.append("r", 0, begun())
        await engine.resume("r")
        now[0] += agent.setup.approvals_expire + 1
        await engine.answer("r", "c1", Answer(settled="happened"))
        return await engine.resume("r")

    assert asyncio.run(tale()).calls[0].problem is None


def test_the_audit_says_who_had_it_tried_again_and_who_said_that_it_happened(tmp_path):
    async def tale(said, run_id):
        home = open_home(tmp_path)
        await home.journal.append(run_id, 0, begun())
        agent = Agent(Scripted("so"), tools=[pay])
        await agent.resume(run_id, journal=home.services())
        await agent.settle(run_id, "c1", said, by="Ann", journal=home.services())
        await agent.resume(run_id, journal=home.services())
        return [(link.record.verdict, link.record.verdict_by, link.record.stage) for link in await home.audit.records(run_id)]

    assert asyncio.run(tale("again", "a")) == [("again", "Ann", "begins"), ("again", "Ann", "ended")]
    assert asyncio.run(tale("happened", "b")) == [("happened", "Ann", "ended")]


def test_the_persons_words_are_kept_without_secrets_and_in_bounds():
    secret = "sk-" + "a1B2c3D4" * 5
    result = taken_up(begun(), settled("happened", f"It printed {secret}. {'x' * 20_000}"))
    assert secret not in str(result.entries)
    assert len(result.calls[0].result.content) < 11_000


# the tools


def test_a_tool_that_cannot_tell_says_why_and_the_person_is_asked():
    def unsure(amount: int) -> str:
        raise ToolProblem("The bank is closed.")

    @tool(name="pay", retry="checkable", reconcile=unsure)
    async def checked(amount: int) -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    result = taken_up(begun(), tools=[checked])
    assert (result.stopped, done) == ("waiting", [])
    assert result.approvals[0].reason.endswith("The bank is closed.")


@pytest.mark.parametrize(("found", "content", "effects"), [("It is paid.", "It is paid.", []), (None, "paid", ["paid"])])
def test_a_tool_that_can_tell_is_asked_and_nobody_else(found, content, effects):
    @tool(name="pay", retry="checkable", reconcile=lambda amount: found)
    async def checked(amount: int) -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    result = taken_up(begun(), tools=[checked])
    assert (result.output, result.calls[0].result.content, done) == ("so", content, effects)


def test_a_tool_that_is_gone_is_asked_about_too_and_cannot_be_tried_again():
    result = taken_up(begun(), settled("again"), tools=[note])
    assert (result.output, result.calls[0].problem) == ("so", "interrupted")
    assert "no tool of that name" in taken_up(begun(), tools=[note]).approvals[0].reason


def test_a_toolset_that_cannot_reconcile_leaves_the_question_to_a_person():
    class Bare:
        """The tools of a toolset, and nothing else of it."""

        def __init__(self, inner):
            self.__aenter__, self.__aexit__, self.tools, self.call = inner.__aenter__, inner.__aexit__, inner.tools, inner.call

        async def __aenter__(self):
            return self

        async def __aexit__(self, *error):
            return None

    from treadle import FunctionToolset

    @tool(name="pay", retry="checkable", reconcile=lambda amount: None)
    async def checked(amount: int) -> str:
        """Pay."""
        return "paid"

    assert taken_up(begun(), tools=[Bare(FunctionToolset([checked]))]).stopped == "waiting"


def test_what_was_read_before_it_is_read_anew():
    looks = []

    @tool(effect="read", cache=600)
    async def balance() -> int:
        """What is left."""
        looks.append("look")
        return len(looks)

    async def tale():
        journal, cache = MemoryJournal(), MemoryCache()
        kept = Services(journal, cache=cache)
        before = Agent(Scripted(calls(("balance", {})), "ok"), tools=[balance, pay])
        await before.run("Look.", journal=kept)
        await journal.append("r", 0, begun())
        agent = Agent(Scripted(calls(("balance", {})), "ok"), tools=[balance, pay])
        await agent.resume("r", journal=kept)
        await agent.settle("r", "c1", "happened", journal=kept)
        return await agent.resume("r", journal=kept)

    assert [record.result.content for record in asyncio.run(tale()).calls][-1] == "2"


# calls of tools, and agents inside of agents


@tool(effect="read", retry="idempotent")
async def buy(ctx: RunContext, amount: int) -> str:
    """Pay, and say so."""
    return await ctx.call("pay", amount=amount)


@tool(name="buy")
async def buy_once(ctx: RunContext, amount: int) -> str:
    """Pay, and say so."""
    return await ctx.call("pay", amount=amount)


INNER = [
    Called(call=Call("c1.1", "pay", ARGUMENTS), within="c1"),
    Judged(call=Call("c1.1", "pay", ARGUMENTS), verdict=Allow()),
    Started(call_id="c1.1", key="k"),
]


@pytest.mark.parametrize(("said", "effects"), [("happened", []), ("not_happened", []), ("again", ["pay 5 k 2"])])
def test_a_call_of_a_tool_that_may_run_again_is_asked_about_and_the_tool_goes_on(said, effects):
    async def then(agent, journal):
        (approval,) = await agent.approvals("r", journal=journal)
        assert (approval.call_id, approval.unclear) == ("c1.1", True)
        await agent.settle("r", "c1.1", said, journal=journal)
        return await agent.resume("r", journal=journal)

    entries = [*begun(name="buy")[:-1], *INNER]
    assert taken_up(entries, then, tools=[pay, buy]).output == "so"
    assert done == effects


def test_a_call_of_a_tool_can_be_answered_on_the_spot():
    entries = [*begun(name="buy")[:-1], *INNER]
    result = taken_up(entries, tools=[pay, buy], approver=lambda approval: Answer(settled="again"))
    assert (result.output, done) == ("so", ["pay 5 k 2"])


def test_inside_of_a_tool_that_may_run_only_once_it_stays_unclear():
    entries = [*begun(name="buy"), *INNER]
    result = taken_up(entries, settled("again"), tools=[pay, buy_once])
    assert [record.problem for record in result.calls] == ["raised", "interrupted"]
    assert done == []


def test_a_question_in_an_agent_inside_surfaces_at_the_top():
    async def tale():
        journal = MemoryJournal()
        inner = Agent(Scripted("inner"), tools=[pay], name="buyer")
        outer = Agent(Scripted("outer"), tools=[inner.as_tool("buyer", "Buys.")])
        call = Call("c1", "buyer", {"prompt": "Go."})
        judged = Judged(call=call, verdict=Allow())
        await journal.append("r", 0, [Opened(), Said(text="Go."), Replied(parts=(Written("c1", "buyer", "{}"),)), judged])
        _, *rest = begun()
        await journal.append("r.c1", 0, [Opened(parent="r"), *rest])
        (approval,) = (await outer.resume("r", journal=journal)).approvals
        assert (approval.run_id, approval.unclear) == ("r.c1", True)
        await outer.settle("r.c1", "c1", "happened", journal=journal)
        return await outer.resume("r", journal=journal)

    assert asyncio.run(tale()).output == "outer"
    assert done == []


def test_an_earlier_journal_reads_as_before():
    told = Returned(result=Result("c1", "pay", "It may have happened.", "interrupted"))
    assert taken_up([*begun(), told]).calls[0].problem == "interrupted"
