"""Evaluations and replays."""

import asyncio

import pytest

import wire
from treadle import deny, open_home, tool
from treadle.evals import Case, Dataset, Expectations, replay_run
from treadle.evals.agents import EvalOptions
from treadle.evals.runner import run_dataset
from treadle.home import close_home
from treadle.stores.memory import MemoryJournal
from wire import call

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


@tool
async def order(item: str) -> str:
    """Order."""
    done.append(f"order {item}")
    return "ordered"


def orders_tin(story, server):
    return lambda received: "all done" if "ordered" in story.results(server) else call("order", {"item": "tin"}, id="o1")


def test_replay_runs_no_effect(story):
    journal = MemoryJournal()
    with wire.WireServer(lambda received: script(received)) as server:
        script = orders_tin(story, server)
        agent = story.agent(server, [order], approver=lambda _: True)
        asyncio.run(agent.run("Go.", run_id="r", journal=journal))
        entries = asyncio.run(journal.read("r"))
        requests = len(server.requests)
        same = asyncio.run(replay_run("r", entries, agent, recorded_replies=True))
        assert (same.status, len(server.requests)) == ("same", requests)
        assert asyncio.run(replay_run("r", entries, story.agent(server, [order]))).status == "same"
        denied = asyncio.run(replay_run("r", entries, story.agent(server, [order], policy=[deny("order")]), recorded_replies=True))
        script = lambda received: call("order", {"item": "salt"}, id="o2")  # noqa: E731
        other = asyncio.run(replay_run("r", entries, story.agent(server, [order])))
    assert done == ["order tin"]
    assert [(change.before, change.now) for change in denied.verdicts] == [("ask", "deny")]
    assert denied.departure is not None
    assert denied.departure.kind == "verdict"
    assert other.departure is not None
    assert (other.departure.kind, other.departure.now) == ("call", "order(item='salt')")


def test_evaluation_resumes(story, tmp_path):
    """One attempt is left as a kill leaves it, after each of its entries; none of its effects is repeated."""
    cases = Dataset("shop", (Case(name="tin", input="Go.", approve=("order",), expected=Expectations(calls=("order",))),))
    home = open_home(tmp_path)

    def evaluate(evaluation):
        agent = story.agent(server, [order])
        options = EvalOptions(agent=agent, home=home, evaluation=evaluation, folder=tmp_path / "workspaces")
        return asyncio.run(run_dataset(cases, options)).attempts[0]

    with wire.WireServer(lambda received: orders_tin(story, server)(received)) as server:
        whole = evaluate("whole")
        entries = asyncio.run(home.journal.read(whole.run_id))
        assert (whole.passed, whole.approved, [each.tool for each in whole.asked]) == (True, 1, ["order"])
        for at in range(1, len(entries) + 1):
            began = sum(entry.__class__.__name__ == "Started" for entry in entries[:at])
            ended = any(entry.__class__.__name__ == "Returned" for entry in entries[:at])
            killed = f"killed{at}"
            journal_id = whole.run_id.replace("whole", killed)
            asyncio.run(_write(home, journal_id, entries[:at]))
            done.clear()
            again = evaluate(killed)
            assert len(done) == (0 if began else 1)
            assert again.run_id == journal_id
            assert again.passed is (ended or not began)  # a call that was cut off by the kill is unclear, and a user has to say
    close_home(home)


def test_evaluation_task(story, tmp_path):
    """A task's run is left as a kill leaves it, after each of its entries; the task is called again, and repeats no effect."""
    home = open_home(tmp_path)
    called: list[str] = []

    async def run_order(context):
        called.append(context.run_id)
        return (await context.run(story.agent(server, [order]), context.case.input)).text

    cases = Dataset(
        "shop", (Case(name="tin", input="Go.", task=run_order, approve=("order",), checks=(lambda run: run.data == "all done",)),)
    )

    def evaluate(evaluation):
        options = EvalOptions(home=home, evaluation=evaluation, folder=tmp_path / "workspaces")
        return asyncio.run(run_dataset(cases, options)).attempts[0]

    with wire.WireServer(lambda received: orders_tin(story, server)(received)) as server:
        whole = evaluate("whole")
        assert (whole.passed, [each.tool for each in whole.asked], done) == (True, ["order"], ["order tin"])
        entries = asyncio.run(home.journal.read(whole.run_id))
        for at in range(1, len(entries) + 1):
            began = sum(entry.__class__.__name__ == "Started" for entry in entries[:at])
            killed = whole.run_id.replace("whole", f"killed{at}")
            asyncio.run(_write(home, killed, entries[:at]))
            done.clear()
            evaluate(f"killed{at}")
            assert len(done) == (0 if began else 1)
            assert called[-1] == killed
    close_home(home)


async def _write(home, run_id, entries):
    await home.journal.append(run_id, 0, entries)
