"""Runs answer for themselves: all that needs neither a model nor tools is done by their journal alone."""

import asyncio

import pytest

from treadle import Agent, Answer, Runs, ask, open_home, tool
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Returned, Said, Started
from treadle.core.errors import ApprovalError, RunTaken
from treadle.engine.setup import APPROVALS_EXPIRE, Services
from treadle.errors import RunNotFound, SettingsError
from treadle.guard.redaction import Redactor
from treadle.home import close_home
from treadle.jobs.store import Jobs
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

paid: list[int] = []


@tool
def pay(amount: int) -> str:
    """Pay an amount."""
    paid.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def nothing_paid():
    paid.clear()


@pytest.fixture
def home(tmp_path):
    home = open_home(tmp_path / "home")
    yield home
    close_home(home)


def clerk(*says, **how):
    return Agent(Scripted(*says), tools=[pay], policy=[ask("pay")], name="clerk", **how)


def boss(*says, inside):
    return Agent(Scripted(*says), tools=[inside.as_tool("clerk", "Pays bills.")], name="boss")


PAYS = calls(("pay", {"amount": 5}))
DIED = [
    Opened(),
    Said(text="Pay."),
    Replied(parts=(Written("c1", "pay", '{"amount": 5}'),)),
    Judged(call=Call("c1", "pay", {"amount": 5}), verdict=Allow()),
    Started(call_id="c1"),
]


async def waits(kept, run_id="r", **how):
    """A run that waits, and the one approval it waits for."""
    assert (await clerk(PAYS).run("Pay 5.", run_id=run_id, journal=kept, **how)).stopped == "waiting"
    (approval,) = await Runs(kept).approvals(run_id)
    return approval


async def goes_on(kept, run_id="r"):
    return await clerk("All done.").resume(run_id, journal=kept)


def test_an_approved_call_runs_when_its_agent_goes_on(home):
    async def story():
        asked = await waits(home.services())
        assert (await Runs(home).approve("r", asked.call_id, by="Ann", digest=asked.digest)).name == "pay"
        assert await Runs(home).approvals("r") == []
        assert paid == []
        return await goes_on(home.services())

    assert asyncio.run(story()).output == "All done."
    assert paid == [5]


def test_of_a_denied_call_the_model_reads_why_and_the_audit_who(home):
    async def story():
        asked = await waits(home.services(), user="bo")
        await Runs(home).deny("r", asked.call_id, "too much", by="Ann")
        return await goes_on(home.services()), await home.audit.records()

    result, records = asyncio.run(story())
    assert paid == []
    assert "too much" in result.calls[0].result.content
    assert [(each.record.user, each.record.verdict, each.record.verdict_by) for each in records] == [("bo", "refused", "Ann")]


def test_what_became_of_a_call_is_said_without_its_agent(home):
    async def story():
        await home.journal.append("r", 0, DIED)
        assert (await goes_on(home.services())).stopped == "waiting"
        (asked,) = await Runs(home).approvals("r")
        with pytest.raises(ApprovalError, match="can't be approved or denied"):
            await Runs(home).approve("r", asked.call_id)
        await Runs(home).settle("r", asked.call_id, "happened", "It is on the statement.", by="Ann")
        return await goes_on(home.services())

    result = asyncio.run(story())
    assert (paid, result.output) == ([], "All done.")
    assert "It is on the statement." in result.calls[0].result.content


def test_an_answer_is_bound_to_what_was_shown_and_counts_once(home):
    async def story():
        asked = await waits(home.services())
        with pytest.raises(ApprovalError, match="not those that were approved"):
            await Runs(home).approve("r", asked.call_id, digest="of something else")
        with pytest.raises(ApprovalError, match="No call c9 of run r waits"):
            await Runs(home).approve("r", "c9")
        await Runs(home).answer("r", asked.call_id, Answer(approved=True))
        with pytest.raises(ApprovalError, match="waits for an approval"):
            await Runs(home).deny("r", asked.call_id)

    asyncio.run(story())


def test_an_answer_that_comes_too_late_makes_nothing_run():
    now = [1_000.0]
    kept = Services(MemoryJournal(), clock=lambda: now[0])

    async def story():
        asked = await waits(kept)
        now[0] += APPROVALS_EXPIRE + 1
        with pytest.raises(ApprovalError, match="has expired"):
            await Runs(kept).approve("r", asked.call_id)

    asyncio.run(story())


def test_a_run_inside_of_another_is_answered_at_the_top(home):
    async def story():
        kept = home.services()
        outer = boss(calls(("clerk", {"prompt": "Pay 5."})), "Both done.", inside=clerk(PAYS, "Paid."))
        assert (await outer.run("Have 5 paid.", run_id="top", journal=kept)).stopped == "waiting"
        (asked,) = await Runs(home).approvals("top")
        assert asked.run_id != "top"
        await Runs(home).approve("top", asked.call_id, by="Ann")
        return await outer.resume("top", journal=kept)

    assert asyncio.run(story()).output == "Both done."
    assert paid == [5]


def test_arguments_that_a_person_edited_are_checked_when_the_run_goes_on(home):
    async def story():
        asked = await waits(home.services())
        await Runs(home).approve("r", asked.call_id, arguments={"amount": "a lot"})
        return await goes_on(home.services())

    assert asyncio.run(story()).calls[0].result.problem is not None
    assert paid == []


def test_what_the_redactor_knows_is_not_written_down(home):
    async def story():
        await home.journal.append("r", 0, DIED)
        await goes_on(home.services())
        runs = Runs(home, redactor=Redactor(known_secrets=["plover-9931"]))
        await runs.settle("r", "c1", "happened", "The code was plover-9931.")
        return await home.journal.read("r")

    assert "plover-9931" not in str(asyncio.run(story()))


def test_a_fork_goes_on_from_a_copy(home):
    async def story():
        kept = home.services()
        await clerk("Hello Ann.", "You are Ann.").run("I am Ann.", run_id="talk", journal=kept)
        forked = await Runs(home).fork("talk", 2)
        assert await Runs(home).fork("talk", new_id="whole") == "whole"
        with pytest.raises(RunTaken):
            await Runs(home).fork("talk", new_id="whole")
        return (await clerk("Hello Bo.").resume(forked, journal=kept)).output, len(await home.journal.read("whole"))

    output, entries = asyncio.run(story())
    assert (output, entries) == ("Hello Bo.", 5)


def test_a_run_that_waits_is_cancelled_and_can_be_told_more(home):
    async def story():
        asked = await waits(home.services())
        await Runs(home).cancel("r")
        assert await Runs(home).approvals("r") == []
        assert await Runs(home).cancel("r") == "cancelled"  # and it stays so
        entries = await home.journal.read("r")
        return asked, entries, await clerk("As you like.").run("Leave it.", run_id="r", journal=home.services())

    asked, entries, result = asyncio.run(story())
    *_, returned, finished = entries
    assert isinstance(returned, Returned)
    assert (returned.result.call_id, returned.result.problem) == (asked.call_id, "cancelled")
    assert isinstance(finished, Finished)
    assert finished.stopped == "cancelled"
    assert (paid, result.output) == ([], "As you like.")


def test_of_a_cancelled_call_that_had_begun_it_is_said_that_it_may_have_taken_effect(home):
    async def story():
        await home.journal.append("r", 0, DIED)
        await goes_on(home.services())
        await Runs(home).cancel("r")
        return await home.journal.read("r")

    assert "may have taken effect" in asyncio.run(story())[-2].result.content


def test_cancelling_reaches_the_runs_inside(home):
    async def story():
        outer = boss(calls(("clerk", {"prompt": "Pay 5."})), inside=clerk(PAYS))
        await outer.run("Have 5 paid.", run_id="top", journal=home.services())
        (inner,) = await home.journal.children("top")
        with pytest.raises(RunTaken, match="is part of run top"):
            await Runs(home).cancel(inner)
        await Runs(home).cancel("top")
        assert await Runs(home).approvals("top") == []
        return [(await home.journal.info(each)).status for each in ("top", inner)]

    assert asyncio.run(story()) == ["cancelled", "cancelled"]


def test_a_run_that_may_be_under_way_elsewhere_is_not_cancelled_here(home):
    async def story():
        await home.journal.append("r", 0, DIED)
        with pytest.raises(RunTaken, match="where it is under way"):
            await Runs(home).cancel("r")
        return await home.journal.read("r")

    assert asyncio.run(story()) == DIED


def test_a_jobs_run_is_neither_cancelled_nor_deleted_without_the_job(home):
    async def story():
        job = Jobs(home.folder).create("coding", "debug", "Find the bug")
        await waits(home.services(), job.id)
        for ends in (Runs(home).cancel, Runs(home).delete):
            with pytest.raises(RunTaken, match=f"is that of a job: treadle jobs cancel {job.id}"):
                await ends(job.id)

    asyncio.run(story())


def test_a_run_is_deleted_with_those_inside_and_the_audit_keeps_what_it_did(home):
    async def story():
        outer = boss(calls(("clerk", {"prompt": "Pay 5."})), inside=clerk(PAYS))
        await outer.run("Have 5 paid.", run_id="top", journal=home.services())
        (asked,) = await Runs(home).approvals("top")
        await Runs(home).deny("top", asked.call_id, by="Ann")
        with pytest.raises(RunTaken, match="is part of run top"):
            await Runs(home).delete(asked.run_id)
        await Runs(home).delete("top")
        for gone in ("top", asked.run_id):
            with pytest.raises(RunNotFound):
                await Runs(home).approvals(gone)
        return await Runs(home).list(), await home.audit.records()

    left, records = asyncio.run(story())
    assert left == []
    assert [(each.record.stage, each.record.tool_name, each.record.verdict_by) for each in records] == [
        ("erased", "pay", "Ann"),
        ("deletion", "", ""),
    ]


def test_a_run_that_is_not_over_is_only_deleted_by_force_and_its_writer_is_refused(home):
    async def story():
        await home.journal.append("r", 0, DIED)
        with pytest.raises(RunTaken, match="isn't over"):
            await Runs(home).delete("r")
        await Runs(home).delete("r", force=True)
        with pytest.raises(RunTaken):
            await home.journal.append("r", len(DIED), [Finished(stopped="answered")])

    asyncio.run(story())


def test_runs_are_listed_newest_first(home):
    async def story():
        await waits(home.services(), "first")
        await clerk("Hello.").run("Good morning.", run_id="second", journal=home.services())
        runs = Runs(home)
        return [
            [each.run_id for each in await runs.list()],
            [each.run_id for each in await runs.list(1)],
            [each.run_id for each in await runs.list(status="waiting")],
            [each.run_id for each in await runs.list(search="morning")],
        ]

    assert asyncio.run(story()) == [["second", "first"], ["second"], ["first"], ["second"]]


def test_stores_that_cannot_do_something_say_so():
    class Bare:
        """A journal that does what every journal does, and no more."""

        def __init__(self):
            kept = MemoryJournal()
            self.append, self.read = kept.append, kept.read

    async def story():
        kept = Services(Bare())
        await waits(kept)
        with pytest.raises(SettingsError, match="can't delete"):
            await Runs(kept).delete("r")
        with pytest.raises(SettingsError, match="can't list"):
            await Runs(kept).list()
        with pytest.raises(RunNotFound, match="keeps no journal"):
            await Runs(Services()).approvals("r")

    asyncio.run(story())


def test_looking_makes_no_file_where_nothing_was_kept(home):
    async def story():
        for look in (Runs(home).approvals, Runs(home).fork, Runs(home).cancel, Runs(home).delete):
            with pytest.raises(RunNotFound, match="nothing is stored"):
                await look("r")
        return await Runs(home).list()

    assert asyncio.run(story()) == []
    assert not home.folder.exists()


def test_without_a_home_it_is_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "mine"))

    async def story():
        asked = await waits(open_home().services())
        return asked == (await Runs().approvals("r"))[0]

    try:
        assert asyncio.run(story())
    finally:
        close_home(open_home())


def test_answers_are_rated_by_the_number_of_the_message_or_from_the_end(home):
    async def work():
        agent, runs = Agent(Scripted("One.", "Two.")), Runs(home)
        await agent.run("First?", run_id="r", journal=home.services())
        await agent.run("Second?", run_id="r", journal=home.services())
        last, first = await runs.rate("r", "bad", " No. "), await runs.rate("r", "good", message=1)
        for number in (0, 3, -3):
            with pytest.raises(RunNotFound, match=f"no message {number} of the user"):
                await runs.rate("r", "good", message=number)
        given = await runs.feedback("r", "other")
        rated = [len(await runs.list(rating=rating)) for rating in ("good", "bad", None)]
        assert await runs.rate("r", None) is None
        return last, first, given, rated, await runs.feedback("r"), await runs.list(rating="bad")

    last, first, given, rated, left, none = asyncio.run(work())
    assert (last.message, last.rating, last.comment) == (2, "bad", "No.")
    assert (first.message, first.rating, first.comment) == (1, "good", "")
    assert given == {"r": [first, last]}
    assert rated == [1, 1, 1]
    assert left == {"r": [first]}
    assert none == []


def test_where_nothing_is_stored_there_is_no_feedback(tmp_path):
    runs = Runs(open_home(tmp_path / "nothing"))
    assert asyncio.run(runs.feedback("r")) == {}
    with pytest.raises(RunNotFound, match="nothing is stored"):
        asyncio.run(runs.rate("r", "good"))
    assert not (tmp_path / "nothing" / "treadle.db").exists()
