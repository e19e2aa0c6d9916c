"""Runs over real HTTP, with scripted models."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from server.running import Serving, assistant, host
from server.runs.asking import Echo, Gate, dam, depth, names, rivers, run_limiter, with_server, words
from treadle import Agent, FunctionToolset, RunContext, ask, tool
from treadle.core.calls import Call, Written
from treadle.core.entries import Approved, Finished, Opened, Replied, Said
from treadle.core.errors import ModelRefused, UnknownModel
from treadle.core.messages import Message
from treadle.home import open_home
from treadle.jobs.store import Jobs
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply, calls
from treadle.server.runs.schemas import MAX_TEXT

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
DAMMING = calls(("dam", {"river": "Elbe", "token": SECRET}), text="I'll dam it.")


def serving(tmp_path, *replies, assistants=None, **more):
    return Serving(tmp_path, [rivers()] if assistants is None else assistants, Scripted(*replies, **more))


async def begun(ask, message="How deep?", **more):
    status, said = await ask("POST", "/api/runs", {"assistant": "rivers", "message": message, **more})
    assert (status, said["status"]) == (202, "open")
    return said["run_id"]


# asking


def test_a_run_goes_on_by_itself_and_can_be_looked_at(tmp_path):
    async def work(ask):
        run_id = await begun(ask, instructions="Be brief.")
        return run_id, await ask.ended(run_id)

    with serving(tmp_path, calls(("depth", {"river": "Elbe"})), "Four.") as server:
        run_id, said = with_server(server, work)
    assert said["run"]["title"] == "How deep?"
    assert said["origin"] == {"face": "server", "assistant": "rivers", "model": "", "instructions": "Be brief."}
    assert [entry["position"] for entry in said["entries"]] == [*range(1, 8)]
    kinds = ["opened", "said", "replied", "judged", "returned", "replied", "finished"]
    assert [entry["kind"] for entry in said["entries"]] == kinds
    assert (said["usage"]["requests"], said["usage"]["calls"], said["approvals"]) == (2, 1, [])
    assert run_id == said["run"]["run_id"]


def test_the_events_of_a_turn_come_instead_where_they_are_wanted(tmp_path):
    with serving(tmp_path, calls(("depth", {"river": "Elbe"})), "It is four deep.", chunk=3) as server:
        told = with_server(server, lambda ask: ask.events("/api/runs", {"assistant": "rivers", "message": "How deep?"}))
    assert names(told)[:3] == ["run_started", "said", "model_asked"]
    assert words(told) == "It is four deep."
    reply = told[-1].data
    assert names(told).count("reply") == 1
    assert (reply["event"], reply["message"], reply["stopped"], reply["approvals"]) == ("reply", "It is four deep.", "answered", [])
    assert sorted(reply) == sorted(
        ["event", "run_id", "message", "stopped", "reason", "ungrounded", "approvals", "tokens_used", "cost", "seconds", "data"]
    )


def test_what_a_person_adds_is_told_to_the_model_after_what_the_assistant_says(tmp_path):
    model = Scripted("Yes.", "Yes.")

    async def told(context: RunContext) -> str:
        return "You know seas."

    known = [rivers(instructions="You know rivers."), assistant("seas", instructions=told)]

    async def work(ask):
        for name in ("rivers", "seas"):
            await ask.events("/api/runs", {"assistant": name, "message": "Hello", "instructions": "Rhyme."})

    with Serving(tmp_path, known, model) as server:
        with_server(server, work)
    assert [request.instructions for request in model.requests] == ["You know rivers.\n\nRhyme.", "You know seas.\n\nRhyme."]


def test_a_run_is_gone_on_with_as_it_was_begun(tmp_path):
    model = Scripted("One.", "Two.", "Three.")

    async def work(ask):
        run_id = await begun(ask, instructions="Rhyme.")
        await ask.ended(run_id)
        second = await ask.events("/api/runs", {"run_id": run_id, "message": "And?"})
        third = await ask.events("/api/runs", {"run_id": run_id, "assistant": "rivers", "message": "And?", "instructions": ""})
        return second, third, await ask.events(f"/api/runs/{run_id}/events")

    with Serving(tmp_path, [rivers()], model) as server:
        second, third, whole = with_server(server, work)
    assert [request.instructions for request in model.requests] == ["Rhyme.", "Rhyme.", ""]
    assert len(model.requests[2].history) == 5
    assert (words(second), words(third)) == ("Two.", "Three.")
    assert names(whole).count("reply") == 1
    assert [event.data["message"] for event in whole if event.name in ("run_ended", "reply")] == ["One.", "Two.", "Three."]
    assert [event.data["text"] for event in whole if event.name == "said"] == ["How deep?", "And?", "And?"]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"assistant": "seas", "message": "x"}, 404, "There is no assistant 'seas'"),
        ({"message": "x"}, 404, "There is no assistant ''"),
        ({"assistant": "rivers", "message": "x", "run_id": "nothing"}, 404, "There is no run nothing here"),
        ({"assistant": "rivers", "message": " \n"}, 422, "The message is empty"),
        ({"assistant": "rivers", "message": "x" * (MAX_TEXT + 1)}, 413, "100,001 characters"),
        ({"assistant": "rivers", "message": "x", "instructions": "x" * (MAX_TEXT + 1)}, 413, "100,000 are taken"),
        ({"assistant": "rivers", "message": "x", "model": "command:rm -rf ~"}, 422, "isn't offered here"),
        ({"assistant": "rivers"}, 400, "missing required field"),
        ({"assistant": "rivers", "message": "x", "colour": "red"}, 400, "unknown field"),
        ([], 400, "JSON object"),
    ],
)
def test_what_cannot_be_asked_is_answered_with_a_sentence(tmp_path, body, status, sentence):
    with serving(tmp_path) as server:
        found, said = with_server(server, lambda ask: ask("POST", "/api/runs", body))
    assert (found, said["success"], said["error"] == said["detail"]) == (status, False, True)
    assert sentence in said["error"]
    assert not (tmp_path / "data" / "treadle.db").exists()


def test_without_a_model_the_answer_says_what_to_do(tmp_path):
    async def none():
        raise UnknownModel("There is no model here; pull one.")

    lent = replace(host(tmp_path), model=none)
    with Serving(tmp_path, [rivers()], lent=lent) as server:
        status, said = with_server(server, lambda ask: ask("POST", "/api/runs", {"assistant": "rivers", "message": "x"}))
    assert (status, said["error"]) == (503, "There is no model here; pull one.")


def test_what_fails_later_is_told_as_the_end_of_the_turn(tmp_path):
    class Broken(FunctionToolset):
        async def __aenter__(self):
            raise ValueError("The bridge is gone.")

    broken = rivers(toolsets=lambda host: [Broken([depth])])
    with serving(tmp_path, "Never.", assistants=[broken]) as server:
        told = with_server(server, lambda ask: ask.events("/api/runs", {"assistant": "rivers", "message": "x"}))
    assert names(told) == ["run_started", "said", "reply"]
    assert (told[-1].data["stopped"], told[-1].data["reason"][:20]) == ("failed", "Something went wrong")


def test_a_model_that_fails_is_a_run_that_failed_and_can_be_resumed(tmp_path):
    async def work(ask):
        told = await ask.events("/api/runs", {"assistant": "rivers", "message": "x"})
        run_id = told[0].data["run_id"]
        _, listed = await ask("GET", "/api/runs?status=failed")
        again = await ask.events(f"/api/runs/{run_id}/resume", {})
        return told[-1].data, listed["runs"], again

    with serving(tmp_path, ModelRefused("No."), "Better.") as server:
        reply, listed, again = with_server(server, work)
    assert (reply["stopped"], reply["reason"]) == ("failed", "No.")
    assert [run["run_id"] for run in listed] == [reply["run_id"]]
    assert names(again)[0] == "run_started"
    assert again[0].data["resumed"]
    assert again[-1].data["message"] == "Better."


# who leaves, and who comes back


def test_whoever_leaves_stops_nothing_and_comes_back_to_where_it_was(tmp_path):
    gate = Gate()

    async def work(ask):
        before = await ask.until("/api/runs", "call_started", {"assistant": "rivers", "message": "x"})
        run_id = before[0].data["run_id"]
        _, said = await ask("GET", f"/api/runs/{run_id}")
        gate.let_through()
        after = await ask.events(f"/api/runs/{run_id}/events", after=before[-1].id)
        again = await ask("GET", f"/api/runs/{run_id}/events?after={after[-1].id}")
        return before, said["run"]["status"], after, again

    with serving(tmp_path, calls(("wait", {})), "Done.", assistants=[rivers(tools=[gate.tool])]) as server:
        before, status, after, again = with_server(server, work)
    assert status == "open"
    numbers = [int(event.id.rpartition("-")[2]) for event in (*before, *after)]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert (names(after)[0], names(after)[-1]) == ("call_returned", "reply")
    assert again == (204, None)


def test_whoever_comes_from_another_time_is_told_everything_anew(tmp_path):
    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id)
        return await ask.events(f"/api/runs/{run_id}/events", after="0123456789ab-7")

    with serving(tmp_path, "Four.") as server:
        told = with_server(server, work)
    assert names(told) == ["reset", "run_started", "said", "model_asked", "text_arrived", "reply_arrived", "reply"]


def test_many_may_read_one_run_and_none_of_them_keeps_the_server_from_stopping(tmp_path):
    gate, heard = Gate(), []

    async def work(ask):
        run_id = await begun(ask)

        all_there = asyncio.Event()

        async def read():
            async for event in ask.stream(f"/api/runs/{run_id}/events"):
                heard.append(event)
                if sum(event.name == "call_started" for event in heard) == 20:
                    all_there.set()

        readers = [asyncio.create_task(read()) for _ in range(20)]
        await all_there.wait()
        server.stop()
        await asyncio.gather(*readers)

    with serving(tmp_path, calls(("wait", {})), assistants=[rivers(tools=[gate.tool])]) as server:
        with_server(server, work)
    assert not any(event.name == "reply" for event in heard)
    entries = asyncio.run(open_home(tmp_path / "data").journal.read(heard[0].data["run_id"]))
    assert not any(isinstance(entry, Finished) for entry in entries)  # as after a crash


def test_an_event_of_a_run_that_is_not_there_is_not_found(tmp_path):
    async def work(ask):
        return [
            (await ask(method, f"/api/runs/nothing{path}", {} if method == "POST" else None))[0]
            for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/resume"), ("POST", "/fork"))
        ]

    with serving(tmp_path) as server:
        assert with_server(server, work) == [404] * 5
    assert not (tmp_path / "data" / "treadle.db").exists()


# stopping


def test_a_run_is_cancelled_and_says_so_to_whoever_reads(tmp_path):
    gate = Gate()

    async def work(ask):
        run_id = await begun(ask)
        reader = asyncio.create_task(ask.events(f"/api/runs/{run_id}/events"))
        await ask.until(f"/api/runs/{run_id}/events", "call_started")
        cancelled = await ask("POST", f"/api/runs/{run_id}/cancel")
        again = await ask("POST", f"/api/runs/{run_id}/cancel")
        resumed = await ask("POST", f"/api/runs/{run_id}/resume")
        return cancelled, again, resumed, await reader

    with serving(tmp_path, calls(("wait", {})), assistants=[rivers(tools=[gate.tool])]) as server:
        cancelled, again, resumed, told = with_server(server, work)
    assert (cancelled[0], cancelled[1]["status"]) == (200, "cancelled")
    assert (again[0], again[1]["status"]) == (200, "cancelled")  # and it stays so
    assert (resumed[0], "is over (cancelled)" in resumed[1]["error"]) == (409, True)
    assert told[-1].data["stopped"] == "cancelled"


def test_a_run_that_waits_for_a_person_is_cancelled_and_its_call_never_runs(tmp_path):
    async def work(ask):
        run_id = await begun(ask)
        waits = await ask.ended(run_id, "waiting")
        (approval,) = (await ask("GET", "/api/approvals"))[1]["approvals"]
        cancelled = await ask("POST", f"/api/runs/{run_id}/cancel")
        said = {"approved": True, "digest": approval["digest"]}
        late = await ask("POST", f"/api/runs/{run_id}/approvals/{approval['call_id']}", said)
        return waits, cancelled, late, (await ask("GET", "/api/approvals"))[1], await ask.ended(run_id, "cancelled")

    with serving(tmp_path, calls(("dam", {"river": "Rhine"}))) as server:
        waits, cancelled, late, waiting, shown = with_server(server, work)
    assert waits["run"]["status"] == "waiting"
    assert (cancelled[0], cancelled[1]["status"]) == (200, "cancelled")
    assert late[0] == 409
    assert waiting == {"approvals": []}
    (returned,) = [entry for entry in shown["entries"] if entry["kind"] == "returned"]
    assert returned["result"]["problem"] == "cancelled"


def test_a_run_is_deleted_once_its_turn_is_over(tmp_path):
    gate = Gate()

    async def work(ask):
        run_id = await begun(ask)
        await ask.until(f"/api/runs/{run_id}/events", "call_started")
        early = await ask("DELETE", f"/api/runs/{run_id}")
        gate.let_through()
        await ask.ended(run_id)
        deleted = await ask("DELETE", f"/api/runs/{run_id}")
        looks = [await ask("GET", f"/api/runs/{run_id}"), await ask("DELETE", f"/api/runs/{run_id}")]
        return early, deleted, looks, (await ask("GET", "/api/runs"))[1]["runs"], (await ask("GET", "/api/audit"))[1]["records"]

    with serving(tmp_path, calls(("wait", {})), "Done.", assistants=[rivers(tools=[gate.tool])]) as server:
        early, deleted, looks, runs, records = with_server(server, work)
    assert (early[0], "isn't over" in early[1]["error"]) == (409, True)
    assert deleted[0] == 204
    assert [status for status, _ in looks] == [404, 404]
    assert runs == []
    assert {record["stage"] for record in records} == {"erased", "deletion"}


def test_a_run_under_way_takes_no_other_turn(tmp_path):
    gate = Gate()

    async def work(ask):
        run_id = await begun(ask)
        await ask.until(f"/api/runs/{run_id}/events", "call_started")
        refused = [
            await ask("POST", "/api/runs", {"run_id": run_id, "message": "x"}),
            await ask("POST", f"/api/runs/{run_id}/resume"),
        ]
        gate.let_through()
        await ask.ended(run_id)
        return refused

    with serving(tmp_path, calls(("wait", {})), "Done.", assistants=[rivers(tools=[gate.tool])]) as server:
        assert [(status, "is under way" in said["error"]) for status, said in with_server(server, work)] == [(409, True)] * 2


def test_two_who_go_on_at_once_are_told_apart(tmp_path):
    gate = Gate()

    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id)
        both = await asyncio.gather(*[ask("POST", "/api/runs", {"run_id": run_id, "message": "x"}) for _ in range(2)])
        gate.let_through()
        await ask.ended(run_id)
        return sorted([status for status, _ in both])

    replies = ["One.", calls(("wait", {})), "Two."]
    with serving(tmp_path, *replies, assistants=[rivers(tools=[gate.tool])]) as server:
        assert with_server(server, work) == [202, 409]


def test_as_many_runs_as_a_person_may_have_are_under_way_at_once(tmp_path):
    gate = Gate()

    async def work(ask):
        run_id = await begun(ask)
        refused = await ask("POST", "/api/runs", {"assistant": "rivers", "message": "x"})
        gate.let_through()
        await ask.ended(run_id)
        return refused, await begun(ask)

    replies = [calls(("wait", {})), "One.", "Two."]
    with Serving(tmp_path, [rivers(tools=[gate.tool])], Scripted(*replies), around=run_limiter(1)) as server:
        (status, said), _ = with_server(server, work)
    assert (status, "may have 1" in said["error"]) == (429, True)


def test_what_a_person_says_is_not_lost_where_too_many_runs_are_under_way(tmp_path):
    gate = Gate()

    async def work(ask):
        waiting = (await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"}))[-1].data
        other = await begun(ask)
        asked = waiting["approvals"][0]
        path, said = f"/api/runs/{waiting['run_id']}/approvals/{asked['call_id']}", {"approved": True, "digest": asked["digest"]}
        refused = await ask("POST", path, said)
        listed = await ask("GET", "/api/approvals")
        heard = await ask.events(f"/api/runs/{waiting['run_id']}/events")
        gate.let_through()
        await ask.ended(other)
        went_on = await ask.events(path, said)
        return refused, listed, heard, went_on

    replies = [DAMMING, calls(("wait", {})), "One.", "Dammed."]
    with Serving(tmp_path, [rivers(tools=[gate.tool, dam])], Scripted(*replies), around=run_limiter(1)) as server:
        refused, listed, heard, went_on = with_server(server, work)
    assert refused[0] == 429
    assert len(listed[1]["approvals"]) == 1
    assert names(heard)[-1] == "reply"
    assert went_on[-1].data["message"] == "Dammed."


def test_a_fork_that_cannot_go_on_leaves_nothing_behind(tmp_path):
    gate = Gate()

    async def work(ask):
        first = await begun(ask)
        await ask.ended(first)
        other = await begun(ask)
        refused = await ask("POST", f"/api/runs/{first}/fork", {"message": "And?"})
        _, listed = await ask("GET", "/api/runs")
        gate.let_through()
        await ask.ended(other)
        return refused[0], len(listed["runs"])

    replies = ["One.", calls(("wait", {})), "Two."]
    with Serving(tmp_path, [rivers(tools=[gate.tool])], Scripted(*replies), around=run_limiter(1)) as server:
        assert with_server(server, work) == (429, 2)


# approvals


def test_what_was_answered_just_before_a_server_ended_goes_on_with_the_next(tmp_path):
    async def work(ask):
        return (await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"}))[-1].data

    with serving(tmp_path, DAMMING) as server:
        waiting = with_server(server, work)

    async def answer():
        asked = waiting["approvals"][0]
        home = open_home(tmp_path / "data")
        await Agent(Scripted()).approve(waiting["run_id"], asked["call_id"], digest=asked["digest"], journal=home.services())

    asyncio.run(answer())
    with serving(tmp_path, "Dammed.") as server:
        assert with_server(server, lambda ask: ask.ended(waiting["run_id"]))["entries"][-1]["text"] == "Dammed."


def test_what_waits_is_listed_without_secrets_and_goes_on_once_approved(tmp_path):
    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"})
        run_id = first[-1].data["run_id"]
        _, waiting = await ask("GET", "/api/approvals")
        (asked,) = waiting["approvals"]
        path = f"/api/runs/{run_id}/approvals/{asked['call_id']}"
        refused = [
            await ask("POST", path, {"approved": True}),
            await ask("POST", path, {"approved": True, "digest": "another"}),
            await ask("POST", f"/api/runs/{run_id}/approvals/nothing", {"approved": False}),
            await ask("POST", "/api/runs", {"run_id": run_id, "message": "x"}),
        ]
        went_on = await ask.events(path, {"approved": True, "digest": asked["digest"]})
        _, shown = await ask("GET", f"/api/runs/{run_id}")
        return (
            first,
            asked,
            refused,
            went_on,
            await ask("GET", "/api/approvals"),
            await ask("POST", path, {"approved": False}),
            shown,
        )

    with serving(tmp_path, DAMMING, "Dammed.") as server:
        first, asked, refused, went_on, after, late, shown = with_server(server, work)
    assert first[-1].data["stopped"] == "waiting"
    assert (asked["name"], asked["arguments"]["river"], asked["assistant"]) == ("dam", "Elbe", "rivers")
    assert asked["root"] == asked["run_id"] == first[-1].data["run_id"]
    assert [status for status, _ in refused] == [422, 409, 409, 409]
    assert "waits for a person's answer" in refused[3][1]["error"]
    assert names(went_on)[:3] == ["run_started", "call_started", "call_returned"]
    assert int(went_on[0].id.rpartition("-")[2]) == int(first[-1].id.rpartition("-")[2]) + 1
    assert went_on[-1].data["message"] == "Dammed."
    assert after == (200, {"approvals": []})
    assert late[0] == 409
    told = json.dumps([event.data for event in (*first, *went_on)]) + json.dumps([asked, shown])
    assert SECRET not in told
    assert "[redacted:token]" in told


def test_a_person_may_deny_and_the_model_reads_why(tmp_path):
    model = Scripted(DAMMING, "As you like.")

    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"})
        run_id, call_id = first[-1].data["run_id"], first[-1].data["approvals"][0]["call_id"]
        status, said = await ask("POST", f"/api/runs/{run_id}/approvals/{call_id}", {"approved": False, "reason": "Fish."})
        await ask.ended(run_id)
        return (
            status,
            said,
            await ask.events(f"/api/runs/{run_id}/events"),
            await ask.events(f"/api/runs/{run_id}/events", after=first[-1].id),
        )

    with Serving(tmp_path, [rivers()], model) as server:
        status, said, told, after = with_server(server, work)
    assert (status, said["status"]) == (202, "open")
    assert "Fish." in str(model.requests[1].history)
    for events in (told, after):
        (result,) = [event.data["result"] for event in events if event.name == "call_returned"]
        assert (result["problem"], "Fish." in result["content"]) == ("denied", True)


def test_a_person_may_change_what_is_done_and_what_does_not_fit_is_refused(tmp_path):
    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"})
        (asked,) = first[-1].data["approvals"]
        path, yes = f"/api/runs/{asked['run_id']}/approvals/{asked['call_id']}", {"approved": True, "digest": asked["digest"]}
        refused = await ask("POST", path, {**yes, "arguments": {"lake": "Como"}})
        return refused, await ask.events(path, {**yes, "arguments": {"river": "Oder"}})

    with serving(tmp_path, DAMMING, "Dammed.") as server:
        (status, said), told = with_server(server, work)
    assert (status, "river" in said["error"]) == (409, True)
    assert [event.data["result"]["content"] for event in told if event.name == "call_returned"] == ["Oder is dammed"]


def test_a_run_goes_on_only_when_everything_is_answered(tmp_path):
    replies = ScriptedReply(calls=(ScriptedCall("dam", {"river": "Elbe"}), ScriptedCall("dam", {"river": "Oder"}))), "Both."

    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam them"})
        answers = []
        for asked in first[-1].data["approvals"]:
            path = f"/api/runs/{asked['run_id']}/approvals/{asked['call_id']}"
            answers.append(await ask("POST", path, {"approved": True, "digest": asked["digest"]}))
        run_id = first[-1].data["run_id"]
        return answers, (await ask.ended(run_id))["entries"][-1]["text"]

    with serving(tmp_path, *replies) as server:
        answers, text = with_server(server, work)
    assert [(status, said["status"]) for status, said in answers] == [(202, "waiting"), (202, "open")]
    assert text == "Both."


def test_two_answers_at_once_are_both_taken(tmp_path):
    replies = ScriptedReply(calls=(ScriptedCall("dam", {"river": "Elbe"}), ScriptedCall("dam", {"river": "Oder"}))), "Both."

    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam them"})
        answers = await asyncio.gather(
            *[
                ask("POST", f"/api/runs/{each['run_id']}/approvals/{each['call_id']}", {"approved": True, "digest": each["digest"]})
                for each in first[-1].data["approvals"]
            ]
        )
        await ask.ended(first[-1].data["run_id"])
        return sorted([said["status"] for _, said in answers])

    with serving(tmp_path, *replies) as server:
        assert with_server(server, work) == ["open", "waiting"]


def test_what_waits_inside_of_a_run_is_answered_there_and_the_run_goes_on(tmp_path):
    helper = Agent(Scripted(DAMMING, "It is dammed."), tools=[dam], name="helper", policy=[ask("dam")])
    nesting = rivers(toolsets=lambda host: [helper.as_tool()], policy=None)

    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"})
        (asked,) = first[-1].data["approvals"]
        _, waiting = await ask("GET", "/api/approvals")
        path = f"/api/runs/{asked['run_id']}/approvals/{asked['call_id']}"
        told = await ask.events(path, {"approved": True, "digest": asked["digest"]})
        return first, waiting["approvals"], told, await ask.events(f"/api/runs/{first[0].data['run_id']}/events")

    with serving(tmp_path, calls(("helper", {"prompt": "Dam it."})), "Done.", assistants=[nesting]) as server:
        first, waiting, told, whole = with_server(server, work)
    root = first[0].data["run_id"]
    assert [(each["root"], each["run_id"].startswith(f"{root}.")) for each in waiting] == [(root, True)]
    assert (told[-1].data["run_id"], told[-1].data["message"]) == (root, "Done.")
    assert [event.data["message"] for event in told if event.name == "run_ended"] == ["It is dammed."]
    inside = [event for event in whole if event.data["run_id"] != root]
    assert [event.data["stopped"] for event in inside if event.name == "run_ended"] == ["waiting", "answered"]
    assert SECRET not in json.dumps([event.data for event in (*first, *told, *whole)])


# forking


def test_a_run_is_forked_anywhere_and_goes_on_with_other_words(tmp_path):
    model = Scripted(calls(("depth", {"river": "Elbe"})), "Four.", *["Something else."] * 20)

    async def work(ask):
        run_id = await begun(ask, instructions="Rhyme.")
        entries = len((await ask.ended(run_id))["entries"])
        forks = []
        for at in range(1, entries + 1):
            status, said = await ask("POST", f"/api/runs/{run_id}/fork", {"at": at, "message": "And now?", "instructions": "Sing."})
            assert status == 201
            forks.append(await ask.ended(said["run_id"]))
        return entries, forks, await ask("POST", f"/api/runs/{run_id}/fork", {"at": entries + 1})

    with Serving(tmp_path, [rivers()], model) as server:
        entries, forks, beyond = with_server(server, work)
    for at, fork in enumerate(forks, 1):
        kinds = [entry["kind"] for entry in fork["entries"]]
        assert kinds[kinds.index("forked") :] == ["forked", "said", "replied", "finished"]
        assert fork["origin"]["instructions"] == "Sing."
        (mark,) = [entry for entry in fork["entries"] if entry["kind"] == "forked"]
        assert mark["entries"] == at
    assert {request.instructions for request in model.requests[2:]} == {"Sing."}
    assert (beyond[0], f"has {entries} entries" in beyond[1]["error"]) == (422, True)


def test_a_fork_without_a_message_waits_to_be_resumed(tmp_path):
    model = Scripted(calls(("depth", {"river": "Elbe"})), "Four.", "Four, again.")

    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id)
        _, made = await ask("POST", f"/api/runs/{run_id}/fork", {"at": 5})
        _, before = await ask("GET", f"/api/runs/{made['run_id']}")
        whole = await ask("POST", f"/api/runs/{run_id}/fork")
        return before, await ask.events(f"/api/runs/{made['run_id']}/resume", {}), whole

    with Serving(tmp_path, [rivers()], model) as server:
        before, told, whole = with_server(server, work)
    assert before["run"]["status"] == "open"
    assert told[-1].data["message"] == "Four, again."
    assert whole[0] == 201


def test_a_run_that_waits_is_forked_without_what_it_waits_for(tmp_path):
    async def work(ask):
        first = await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"})
        _, made = await ask("POST", f"/api/runs/{first[0].data['run_id']}/fork", {"message": "Rather not."})
        return await ask.ended(made["run_id"])

    with serving(tmp_path, DAMMING, "As you like.") as server:
        fork = with_server(server, work)
    results = [entry["result"]["problem"] for entry in fork["entries"] if entry["kind"] == "returned"]
    assert results == ["cancelled"]
    assert fork["entries"][-1]["text"] == "As you like."


# whose they are


@pytest.mark.parametrize(
    ("opened", "sentence"),
    [
        (Opened(agent="rivers", origin={"face": "cli", "assistant": "rivers"}), "treadle resume"),
        (Opened(agent="seas"), "treadle resume"),
        (Opened(agent="rivers", parent="other"), "is inside of another"),
        (Opened(agent="rivers", origin={"face": "server", "assistant": "seas"}), "isn't installed any more"),
        (Opened(agent="rivers", origin={"face": "server"}), "can't be read"),
    ],
)
def test_runs_of_others_are_theirs_to_go_on_with(tmp_path, opened, sentence):
    write(tmp_path, "theirs", [opened, Said(text="x"), Finished(stopped="failed")])

    async def work(ask):
        return [
            await ask("POST", "/api/runs", {"run_id": "theirs", "message": "x"}),
            await ask("POST", "/api/runs/theirs/resume"),
            await ask("POST", "/api/runs/theirs/fork", {"message": "x"}),
        ]

    with serving(tmp_path) as server:
        answers = with_server(server, work)
    assert [(status, sentence in said["error"]) for status, said in answers] == [(409, True)] * 3


def write(tmp_path, run_id, entries):
    async def writing():
        await open_home(tmp_path / "data").journal.append(run_id, 0, entries)

    asyncio.run(writing())


def test_runs_of_an_assistants_own_pages_can_be_gone_on_with(tmp_path):
    seen = []

    def tools(lent):
        seen.append(lent.about)
        return [FunctionToolset([depth])]

    write(
        tmp_path, "own", [Opened(agent="rivers", origin={"about": {"bank": "left"}}), Said(text="x"), Finished(stopped="answered")]
    )
    with serving(tmp_path, "Yes.", assistants=[rivers(toolsets=tools)]) as server:
        told = with_server(server, lambda ask: ask.events("/api/runs", {"run_id": "own", "message": "And?"}))
    assert told[-1].data["message"] == "Yes."
    assert seen == [{"bank": "left"}]


def test_a_run_stays_with_its_assistant(tmp_path):
    async def work(ask):
        run_id = await begun(ask)
        await ask.ended(run_id)
        return await ask("POST", "/api/runs", {"run_id": run_id, "assistant": "seas", "message": "x"})

    with serving(tmp_path, "Yes.", assistants=[rivers(), assistant("seas")]) as server:
        status, said = with_server(server, work)
    assert (status, "begin another to ask seas" in said["error"]) == (409, True)


def test_the_run_of_a_job_is_left_to_its_job(tmp_path):
    job = Jobs(tmp_path / "data").create("rivers", "dig", "Dig")
    write(tmp_path, job.id, [Opened(agent="rivers"), Said(text="x"), Finished(stopped="failed")])
    with serving(tmp_path) as server:
        status, said = with_server(server, lambda ask: ask("POST", f"/api/runs/{job.id}/resume"))
    assert (status, f"POST /api/jobs/{job.id}/resume" in said["error"]) == (409, True)


def test_what_a_turn_opened_is_closed_after_it(tmp_path):
    closed = []

    def tools(lent):
        lent.on_close(lambda: closed.append("turn"))
        return [FunctionToolset([depth])]

    async def work(ask):
        for _ in range(2):
            await ask.events("/api/runs", {"assistant": "rivers", "message": "x"})
        return list(closed)

    with serving(tmp_path, "One.", "Two.", assistants=[rivers(toolsets=tools)]) as server:
        assert len(with_server(server, work)) >= 1
    assert closed == ["turn", "turn"]


def test_what_was_opened_to_take_an_answer_is_closed_too(tmp_path):
    closed = []

    def tools(lent):
        lent.on_close(lambda: closed.append("closed"))
        return [FunctionToolset([dam])]

    async def work(ask):
        (asked,) = (await ask.events("/api/runs", {"assistant": "rivers", "message": "Dam it"}))[-1].data["approvals"]
        path = f"/api/runs/{asked['run_id']}/approvals/{asked['call_id']}"
        return await ask.events(path, {"approved": True, "digest": asked["digest"]})

    with serving(tmp_path, DAMMING, "Dammed.", assistants=[rivers(toolsets=tools)]) as server:
        assert with_server(server, work)[-1].data["message"] == "Dammed."
    assert closed == ["closed"] * 2


def test_tools_are_lent_the_model_that_was_chosen(tmp_path):
    def tools(lent):
        @tool(effect="read")
        async def model() -> str:
            """Which model it is."""
            return (await lent.model()).name

        return [FunctionToolset([model])]

    with serving(tmp_path, calls(("model", {})), "Yes.", assistants=[rivers(toolsets=tools)], name="mine") as server:
        told = with_server(server, lambda ask: ask.events("/api/runs", {"assistant": "rivers", "message": "x"}))
    assert [event.data["result"]["content"] for event in told if event.name == "call_returned"] == ["mine"]


# lists


def test_runs_are_listed_newest_first_and_page_by_page(tmp_path):
    async def work(ask):
        ids = []
        for number in range(5):
            told = await ask.events("/api/runs", {"assistant": "rivers", "message": f"Number {number} of 100%_sure"})
            ids.append(told[0].data["run_id"])
        pages, before = [], ""
        while True:
            _, said = await ask("GET", f"/api/runs?limit=2&before={before}")
            pages.append([run["run_id"] for run in said["runs"]])
            if not said["more"]:
                break
            before = said["next"]
        _, by_id = await ask("GET", f"/api/runs?before={pages[0][-1]}")
        searches = {
            query: [run["title"][7] for run in (await ask("GET", f"/api/runs?{query}"))[1]["runs"]]
            for query in (
                "search=number 3",
                "search=100%25_",
                "search=%25",
                "search=1%25",
                "search=x",
                f"search={ids[1]}",
                "assistant=seas",
            )
        }
        return ids, pages, [run["run_id"] for run in by_id["runs"]], said["next"], searches

    with Serving(tmp_path, [rivers()], Echo()) as server:
        ids, pages, by_id, following, searches = with_server(server, work)
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [each for page in pages for each in page] == ids[::-1]
    assert by_id == ids[::-1][2:]
    assert following == ""
    assert searches == {
        "search=number 3": ["3"],
        "search=100%25_": ["4", "3", "2", "1", "0"],
        "search=%25": ["4", "3", "2", "1", "0"],
        "search=1%25": [],
        "search=x": [],
        f"search={ids[1]}": ["1"],
        "assistant=seas": [],
    }


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("limit=0", ">= 1"),
        ("limit=many", "Expected `int`"),
        ("status=odd", "Invalid enum value"),
        ("colour=red", "There is no query parameter 'colour'; there are search, status, assistant, limit, before, rating."),
    ],
)
def test_lists_that_make_no_sense_are_refused(tmp_path, query, sentence):
    with serving(tmp_path) as server:
        status, said = with_server(server, lambda ask: ask("GET", f"/api/runs?{query}"))
    assert (status, sentence in said["error"]) == (400, True)


@pytest.mark.parametrize("before", ["nothing", "x,y"])
def test_a_list_goes_on_only_after_one_that_there_is(tmp_path, before):
    with serving(tmp_path) as server:
        status, said = with_server(server, lambda ask: ask("GET", f"/api/runs?before={before}"))
    assert (status, "`before` is `next` of another list" in said["error"]) == (404, True)


def test_where_nothing_was_kept_lists_are_empty_and_make_no_file(tmp_path):
    async def work(ask):
        return await ask("GET", "/api/runs"), await ask("GET", "/api/approvals")

    with serving(tmp_path) as server:
        runs, approvals = with_server(server, work)
    assert runs == (200, {"runs": [], "more": False, "next": ""})
    assert approvals == (200, {"approvals": []})
    assert not (tmp_path / "data").exists()


def test_what_is_shown_of_a_run_is_without_secrets_and_in_bounds(tmp_path):
    @tool(effect="read")
    def much(token: str = "") -> str:
        """Say much."""
        return "x" * 60_000

    replies = ScriptedReply(calls=(ScriptedCall("much", {"token": SECRET}),)), "Done."

    async def work(ask):
        told = await ask.events("/api/runs", {"assistant": "rivers", "message": "x"})
        return told, await ask("GET", f"/api/runs/{told[0].data['run_id']}")

    with serving(tmp_path, *replies, assistants=[rivers(tools=[much])]) as server:
        told, shown = with_server(server, work)
    assert SECRET not in json.dumps([event.data for event in told]) + json.dumps(shown)
    (content,) = [event.data["result"]["content"] for event in told if event.name == "call_returned"]
    assert len(content) < 30_000


def test_edited_arguments_and_told_history_are_shown_without_secrets(tmp_path):
    entries = [
        Opened(agent="rivers", history=(Message("model", (Call("c0", "dam", {"token": SECRET}),)),)),
        Said(text="x"),
        Replied(parts=(Written("c1", "dam", json.dumps({"token": SECRET})),)),
        Approved(call_id="c1", arguments={"token": SECRET}),
    ]
    write(tmp_path, "r", entries)
    with serving(tmp_path) as server:
        status, said = with_server(server, lambda ask: ask("GET", "/api/runs/r"))
    assert status == 200
    assert SECRET not in json.dumps(said)
    assert json.dumps(said).count("[redacted:token]") == 3
