"""Messages to a run whose turn is running, over real HTTP; and messages that are edited or answered anew in a fork."""

import asyncio

from server.running import Serving
from server.runs.asking import Gate, names, rivers, run_limiter, with_server
from server.runs.test_routes import DAMMING, begun, serving, write
from treadle.core.entries import Opened, Said, Steered
from treadle.home import open_home
from treadle.models.scripted import Scripted, calls


def said_by_user(request) -> list[str]:
    return [message.text for message in request.history if message.role == "person"]


def kinds(run) -> list[str]:
    return [entry["kind"] for entry in run["entries"]]


async def send(ask, run_id: str, message: str = "And the Rhine?", **more):
    return await ask("POST", f"/api/runs/{run_id}/messages", {"message": message, **more})


def test_a_message_is_taken_in_by_the_turn_that_is_running_once(tmp_path):
    gate, model = Gate(), Scripted(calls(("wait", {})), "Both are deep.")

    async def work(ask):
        run_id = await begun(ask)
        await ask.until(f"/api/runs/{run_id}/events", "call_started")
        taken = [await send(ask, run_id, message_id="m1") for _ in range(2)]
        reading = asyncio.ensure_future(ask.events(f"/api/runs/{run_id}/events"))
        gate.let_through()
        run = await ask.ended(run_id)
        late = await send(ask, run_id, message_id="m1")
        return run_id, taken, await reading, run, late, await ask.events(f"/api/runs/{run_id}/events")

    with Serving(tmp_path, [rivers(tools=[gate.tool])], model, around=run_limiter(1)) as server:
        run_id, taken, told, run, late, again = with_server(server, work)
    assert taken == [(202, {"run_id": run_id, "status": "open", "steering": True})] * 2
    assert late == (202, {"run_id": run_id, "status": "answered", "steering": False})
    assert said_by_user(model.requests[1]) == ["How deep?", "And the Rhine?"]
    assert (kinds(run).count("steered"), kinds(run).count("delivered"), kinds(run).count("said")) == (1, 1, 1)
    for events in (told, again):
        found = [event.data for event in events if event.name.startswith("message_")]
        assert [(data["event"], data["message_id"], data["text"]) for data in found] == [
            ("message_received", "m1", "And the Rhine?"),
            ("message_delivered", "m1", "And the Rhine?"),
        ]
        assert names(events).index("message_delivered") > names(events).index("call_returned")
        assert events[-1].data["message"] == "Both are deep."


def test_where_the_turn_is_over_it_begins_another(tmp_path):
    model = Scripted("Four.", "Five.")

    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id)
        first = await send(ask, run_id, message_id="m1")
        await ask.ended(run_id)
        return first, await send(ask, run_id, message_id="m1"), await ask.ended(run_id)

    with Serving(tmp_path, [rivers()], model) as server:
        (status, said), again, run = with_server(server, work)
    assert (status, said["status"], said["steering"]) == (202, "open", False)
    assert again[1]["status"] == "answered"
    assert kinds(run).count("said") == len(model.requests) == 2


def test_a_run_that_waits_for_a_person_takes_it_and_goes_on_with_it(tmp_path):
    model = Scripted(DAMMING, "Dammed.")

    async def work(ask):
        told = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"})
        run_id, waiting = told[0].data["run_id"], told[-1].data["approvals"][0]
        sent = await send(ask, run_id, "Quickly.")
        answered = {"approved": True, "digest": waiting["digest"]}
        return sent, await ask.events(f"/api/runs/{run_id}/approvals/{waiting['call_id']}", answered)

    with Serving(tmp_path, [rivers()], model) as server:
        (status, said), told = with_server(server, work)
    assert (status, said["status"], said["steering"]) == (202, "waiting", True)
    assert {"message_received", "message_delivered"} < set(names(told))
    assert said_by_user(model.requests[1]) == ["Dam it", "Quickly."]


def test_a_turn_that_no_process_or_another_one_works_on_is_left_alone(tmp_path):
    async def work(ask):
        home = open_home(tmp_path / "data")
        opened = Opened(agent="rivers", origin={"face": "server", "assistant": "rivers"})
        await home.journal.append("elsewhere", 0, [opened, Said(text="How deep?")])
        elsewhere = await send(ask, "elsewhere")
        return (
            elsewhere,
            await send(ask, "nowhere"),
            await send(ask, "elsewhere", " "),
            await send(ask, "elsewhere", message_id="x" * 201),
        )

    with serving(tmp_path) as server:
        elsewhere, nowhere, empty, long = with_server(server, work)
    assert (elsewhere[0], "resume the run first" in elsewhere[1]["error"]) == (409, True)
    assert (nowhere[0], empty[0], long[0]) == (404, 422, 400)


def test_a_message_that_no_request_has_come_to_is_delivered_by_the_next_server(tmp_path):
    model = Scripted("Both are deep.")
    origin = {"face": "server", "assistant": "rivers"}
    entries = [Opened(agent="rivers", origin=origin), Said(text="How deep?"), Steered(id="m1", text="And the Rhine?")]
    write(tmp_path, "left", entries)
    with Serving(tmp_path, [rivers()], model) as server:
        run, sent = with_server(server, lambda ask: asyncio.gather(ask.ended("left"), send(ask, "left", message_id="m1")))
    assert sent[0] == 202
    assert said_by_user(model.requests[0]) == ["How deep?", "And the Rhine?"]
    assert (kinds(run).count("steered"), kinds(run).count("delivered")) == (1, 1)


def test_a_message_is_edited_or_answered_anew_in_a_fork(tmp_path):
    gate = Gate()
    model = Scripted("Four.", calls(("wait", {})), "Five.", "Six.", "Seven.", "Eight.")

    async def fork(ask, run_id, **body):
        status, said = await ask("POST", f"/api/runs/{run_id}/fork", body)
        return (await ask.ended(said["run_id"])) if status == 201 else (status, said["error"])

    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id)
        await send(ask, run_id)
        await ask.until(f"/api/runs/{run_id}/events", "call_started")
        await send(ask, run_id, "And the Elbe?")
        gate.let_through()
        whole = await ask.ended(run_id)
        again = await fork(ask, run_id, before_message=2)
        first = await fork(ask, run_id, before_message=1, message="How wide?")
        steered = await fork(ask, run_id, before_message=-1, message="And the Oder?")
        assert (await ask("GET", f"/api/runs/{run_id}"))[1]["entries"] == whole["entries"]
        return [await fork(ask, run_id, before_message=9), await fork(ask, run_id, before_message=1, at=2)], again, first, steered

    with Serving(tmp_path, [rivers(tools=[gate.tool])], model) as server:
        refused, again, first, steered = with_server(server, work)
    assert [status for status, _ in refused] == [422, 422]
    assert "no message 9" in refused[0][1]
    assert [said_by_user(request) for request in model.requests[3:]] == [
        ["How deep?", "And the Rhine?"],
        ["How wide?"],
        ["How deep?", "And the Rhine?", "And the Oder?"],
    ]
    assert [run["entries"][-1]["text"] for run in (again, first, steered)] == ["Six.", "Seven.", "Eight."]
    assert first["run"]["title"] == "How wide?"
