"""Runs of a server that wait for a time or an event: it wakes them, also one that another server left waiting."""

import asyncio

import pytest

from server.running import Serving, host
from server.runs.asking import rivers, with_server
from server.runs.test_routes import begun
from treadle import Agent, RunContext, Runs, allow, tool
from treadle.engine import waiting
from treadle.home import close_home, open_home
from treadle.models.scripted import Scripted, calls

FLOOD = {"value": {"metres": 9}, "key": "Rhine", "sender": "gauge"}


@tool(effect="read")
async def flood(ctx: RunContext) -> str:
    """Wait for the flood."""
    return f"{(await ctx.wait_for_event('flood', 'Rhine'))['metres']} metres"


@tool(effect="write", retry="once")
async def later(ctx: RunContext) -> str:
    """Look later."""
    return ctx.defer(seconds=0.2)


def watching(*tools):
    return rivers(tools=tools, policy=[allow("*")])


def test_an_event_is_sent_by_http_and_the_run_goes_on(tmp_path):
    model = Scripted(calls(("flood", {})), "Run!")

    async def work(ask):
        run_id = await begun(ask)
        waiting = await ask.ended(run_id, "waiting")
        early = await ask("POST", "/api/events/flood", {"key": "Elbe"})
        said = await ask("POST", "/api/runs", {"assistant": "rivers", "message": "And?", "run_id": run_id})
        approvals = await ask("GET", "/api/approvals")
        sent = await ask("POST", "/api/events/flood", FLOOD)
        run = await ask.ended(run_id)
        return run_id, waiting, early, said, approvals, sent, run, await ask("POST", "/api/events/flood", FLOOD)

    with Serving(tmp_path, [watching(flood)], model) as server:
        run_id, waiting, early, said, approvals, sent, run, again = with_server(server, work)
    assert waiting["entries"][-1]["reason"] == "The run waits for the event 'flood' of 'Rhine'."
    assert early[0] == again[0] == 404
    assert (said[0], approvals) == (409, (200, {"approvals": []}))
    assert "waits for a time or an event" in said[1]["error"]
    assert sent == (202, {"run_ids": [run_id]})
    result = next(entry["result"] for entry in run["entries"] if entry["kind"] == "returned")
    assert (result["content"], result["untrusted"]) == ("9 metres", True)


def test_what_is_due_is_woken_once(tmp_path, monkeypatch):
    monkeypatch.setattr(waiting, "IN_PROCESS_SECONDS", 0.0)
    model = Scripted(calls(("later", {})), calls(("later", {})), "Seen.")

    async def work(ask):
        return await ask.ended(await begun(ask))

    with Serving(tmp_path, [watching(later)], model) as server:
        run = with_server(server, work)
    kinds = [entry["kind"] for entry in run["entries"]]
    assert (kinds.count("awaited"), kinds.count("resumed"), kinds.count("returned")) == (2, 2, 2)


def test_another_server_wakes_what_was_left_waiting_and_leaves_the_runs_of_programs_alone(tmp_path):
    agent = Agent(Scripted(calls(("flood", {})), "x"), tools=[flood], name="mine")

    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id, "waiting")
        return run_id

    with Serving(tmp_path, [watching(flood)], Scripted(calls(("flood", {})))) as server:
        run_id = with_server(server, work)
    folder = host(tmp_path, None).home.folder

    async def send():
        home = open_home(folder)
        await agent.run("Go.", run_id="program", journal=home.services())
        sent = await Runs(home).send_event("flood", {"metres": 3}, key="Rhine", from_user=True)
        close_home(home)
        return sent

    assert set(asyncio.run(send())) == {run_id, "program"}

    async def look(ask):
        return await ask.ended(run_id), await ask("GET", "/api/runs/program")

    with Serving(tmp_path, [watching(flood)], Scripted("Stay.")) as server:
        run, (_, program) = with_server(server, look)
    assert run["run"]["status"] == "answered"
    assert program["run"]["status"] == "waiting"


@pytest.mark.parametrize("body", [{"value": "x" * 300_000}, {"key": "k" * 300}, {"amount": 1}])
def test_an_event_that_cannot_be_is_refused(tmp_path, body):
    async def work(ask):
        return await ask("POST", "/api/events/flood", body)

    with Serving(tmp_path, [watching(flood)], Scripted()) as server:
        assert with_server(server, work)[0] in (400, 422)
