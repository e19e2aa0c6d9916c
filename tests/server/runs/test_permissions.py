"""Remembered approvals over real HTTP: for the conversation, for always, several at once, listed and revoked."""

from server.running import Serving
from server.runs.asking import rivers, with_server
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply, calls


def dam(*names):
    return ScriptedReply(calls=tuple([ScriptedCall("dam", {"river": name}) for name in names]))


def serving(tmp_path, *replies):
    return Serving(tmp_path, [rivers()], Scripted(*replies))


async def waiting(ask, message="Dam it", **more):
    _, said = await ask("POST", "/api/runs", {"assistant": "rivers", "message": message, **more})
    await ask.ended(said["run_id"], "waiting")
    return (await ask("GET", "/api/approvals"))[1]["approvals"]


def path_of(asked):
    return f"/api/runs/{asked['run_id']}/approvals/{asked['call_id']}"


def yes(asked, **more):
    return {"approved": True, "digest": asked["digest"], **more}


def test_calls_like_it_go_on_unasked_in_the_same_conversation_only(tmp_path):
    async def work(ask):
        (asked,) = await waiting(ask)
        assert asked["patterns"][0] == {"river": {"kind": "equals", "value": "Elbe"}}
        await ask("POST", path_of(asked), yes(asked, scope="conversation", pattern={"river": "E*"}))
        await ask.ended(asked["run_id"])
        await ask("POST", "/api/runs", {"run_id": asked["run_id"], "message": "And another"})
        return await ask.ended(asked["run_id"]), await waiting(ask, "Elsewhere"), await ask("GET", "/api/permissions")

    with serving(tmp_path, dam("Elbe"), "Done.", dam("Ems"), "Done.", dam("Ems")) as server:
        shown, elsewhere, (status, permissions) = with_server(server, work)
    assert shown["entries"][-1]["text"] == "Done."
    assert [entry["grant"]["by"] for entry in shown["entries"] if entry["kind"] == "judged" and entry.get("grant")] != []
    assert len(elsewhere) == 1
    assert (status, permissions) == (200, {"grants": []})


def test_what_is_allowed_for_always_is_listed_and_revoked(tmp_path):
    async def work(ask):
        (asked,) = await waiting(ask)
        await ask("POST", path_of(asked), yes(asked, scope="always"))
        await ask.ended(asked["run_id"])
        _, said = await ask("POST", "/api/runs", {"assistant": "rivers", "message": "Once more"})
        await ask.ended(said["run_id"])
        _, listed = await ask("GET", "/api/permissions")
        (grant,) = listed["grants"]
        unknown = await ask("DELETE", "/api/permissions/nothing")
        revoked = await ask("DELETE", f"/api/permissions/{grant['id']}")
        return grant, unknown, revoked, await waiting(ask, "Again")

    with serving(tmp_path, dam("Elbe"), "Done.", dam("Elbe"), "Done.", dam("Elbe")) as server:
        grant, unknown, revoked, again = with_server(server, work)
    assert (grant["tool"], grant["agent"], grant["scope"]) == ("dam", "rivers", "always")
    assert unknown[0] == 404
    assert revoked[0] == 204
    assert len(again) == 1


def test_several_are_answered_at_once_or_none(tmp_path):
    async def work(ask):
        first, second, third = await waiting(ask)
        calls_of = [{"call_id": each["call_id"], "digest": each["digest"]} for each in (first, second, third)]
        path = f"/api/runs/{first['run_id']}/approvals"
        refused = [
            await ask("POST", path, {"approved": True, "calls": [calls_of[0], {**calls_of[1], "digest": "another"}]}),
            await ask("POST", path, {"approved": True, "calls": [calls_of[0], {"call_id": "nothing", "digest": "x"}]}),
            await ask("POST", path, {"approved": True, "calls": []}),
            await ask("POST", path, {"approved": False, "calls": calls_of, "scope": "always"}),
        ]
        untouched = len((await ask("GET", "/api/approvals"))[1]["approvals"])
        some = await ask("POST", path, {"approved": False, "calls": calls_of[:1], "reason": "Fish."})
        rest = await ask("POST", path, {"approved": True, "calls": calls_of[1:], "scope": "conversation"})
        shown = await ask.ended(first["run_id"])
        return refused, untouched, some, rest, [entry for entry in shown["entries"] if entry["kind"] == "returned"]

    with serving(tmp_path, dam("Elbe", "Oder", "Ems"), "Done.") as server:
        refused, untouched, some, rest, returned = with_server(server, work)
    assert [status for status, _ in refused] == [409, 409, 400, 409]
    assert untouched == 3
    assert (some[1]["status"], rest[1]["status"]) == ("waiting", "open")
    assert {entry["result"]["content"] for entry in returned} == {"Oder is dammed", "Ems is dammed"}  # they run side by side


def test_an_answer_releases_what_waits_beside_it(tmp_path):
    async def work(ask):
        first, *_ = await waiting(ask)
        status, said = await ask("POST", path_of(first), yes(first, scope="conversation", pattern={}))
        await ask.ended(first["run_id"])
        return status, said["status"]

    with serving(tmp_path, dam("Elbe", "Oder", "Ems"), "Done.") as server:
        assert with_server(server, work) == (202, "open")


def test_a_pattern_that_does_not_match_is_refused_and_the_call_still_waits(tmp_path):
    async def work(ask):
        (asked,) = await waiting(ask)
        refused = [
            await ask("POST", path_of(asked), yes(asked, scope="always", pattern=pattern))
            for pattern in ({"river": "Oder"}, {"lake": "x"}, {"river": 7})
        ]
        return refused, await ask("GET", "/api/approvals")

    with serving(tmp_path, calls(("dam", {"river": "Elbe"}))) as server:
        refused, (_, still) = with_server(server, work)
    assert [status for status, _ in refused] == [409, 409, 400]
    assert len(still["approvals"]) == 1
