"""Runs belong to whoever they are on the platform: nobody else goes on with one, answers in it, or is shown it."""

import asyncio
import json

import pytest

from assistants.platform.platform_setup import SPEC, application, ask, run_of
from treadle import open_home
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Judged, Opened, Replied, Said
from treadle.testing import calls

DELETE = calls(("delete_application", {"app_name": "demo-app"}))


def begin(server, token, message="Delete demo-app."):
    status, said = ask(server, "POST", "/api/runs", {"assistant": "platform", "message": message}, token)
    assert status == 202, said
    run_of(server, said["run_id"], token)
    return said["run_id"]


@pytest.mark.parametrize("other", ["bob", "admin", "wrong"])
def test_a_run_of_another_user_of_the_platform_isnt_found(serve, demo, other):
    alice, theirs = demo.token("alice"), "wrong" if other == "wrong" else demo.token(other)
    with serve(DELETE, "It is gone.") as server:
        run_id = begin(server, alice)
        (approval,) = run_of(server, run_id, alice)["approvals"]
        yes = {"approved": True, "digest": approval["digest"]}
        asked = (
            ("GET", "", None),
            ("GET", "/events", None),
            ("POST", "/resume", {}),
            ("POST", "/cancel", {}),
            ("POST", "/fork", {}),
            ("POST", f"/approvals/{approval['call_id']}", yes),
        )
        assert [ask(server, "GET", path, None, theirs)[1] for path in ("/api/runs", "/api/approvals")] == [
            {"runs": [], "more": False, "next": ""},
            {"approvals": []},
        ]
        assert len(ask(server, "GET", "/api/runs", None, alice)[1]["runs"]) == 1
        for method, path, body in asked:
            assert ask(server, method, f"/api/runs/{run_id}{path}", body, theirs)[0] == 404, path
        assert application(demo, "demo-app") is not None
        assert run_of(server, run_id, alice)["run"]["status"] == "waiting"
        assert ask(server, "POST", f"/api/runs/{run_id}/approvals/{approval['call_id']}", yes, alice)[0] == 202
        assert run_of(server, run_id, alice)["run"]["status"] == "answered"
        assert ask(server, "POST", "/api/runs", {"message": "And?", "run_id": run_id}, theirs)[0] == 404
    assert application(demo, "demo-app") is None


def test_whoever_has_the_home_sees_what_is_in_it_and_goes_on_with_nothing(serve, demo):
    """They could read it in its file just as well; acting takes the token of whose it is."""
    with serve(DELETE, "It is gone.") as server:
        run_id = begin(server, demo.token("alice"))
        (approval,) = run_of(server, run_id)["approvals"]
        yes = {"approved": True, "digest": approval["digest"]}
        assert ask(server, "POST", f"/api/runs/{run_id}/approvals/{approval['call_id']}", yes)[0] == 404
        assert ask(server, "POST", f"/api/runs/{run_id}/resume", {})[0] == 404
    assert application(demo, "demo-app") is not None


async def left_behind(folder, demo):
    """A run of alice's whose server was killed before its call had begun."""
    call = Call("c1", "deploy_application", {"spec_content": SPEC})
    origin = {"face": "server", "assistant": "platform", "model": "", "instructions": "", "about": {"server": demo.url}}
    entries = [
        Opened(agent="platform", user="alice", origin=origin),
        Said(text="Deploy it."),
        Replied(parts=(Written(call.id, call.name, json.dumps(call.arguments)),)),
        Judged(call=call, verdict=Allow()),
    ]
    await open_home(folder / "data").journal.append("left", 0, entries)


@pytest.mark.parametrize("machine", ["", "carol", "alice"])
def test_after_a_restart_a_run_is_taken_up_with_no_other_token_than_its_own(serve, demo, tmp_path, monkeypatch, machine):
    asyncio.run(left_behind(tmp_path, demo))
    if machine:
        monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token(machine))
    with serve("It is deployed.") as server:
        stopped = run_of(server, "left")["run"]["status"]
        assert (stopped, application(demo, "my-app") is not None) == (("answered", True) if machine == "alice" else ("open", False))
        if machine != "alice":
            assert ask(server, "POST", "/api/runs/left/resume", {}, demo.token("alice"))[0] == 202
            assert run_of(server, "left", demo.token("alice"))["run"]["status"] == "answered"
    assert application(demo, "my-app") is not None


def test_what_is_asked_over_openais_wire_is_theirs_too_and_can_be_approved(serve, demo, monkeypatch):
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("alice"))
    asked = {"model": "platform", "messages": [{"role": "user", "content": "Delete demo-app."}]}
    with serve(DELETE, "It is gone.") as server:
        assert ask(server, "POST", "/v1/chat/completions", asked)[0] == 200
        (approval,) = ask(server, "GET", "/api/approvals")[1]["approvals"]
        path = f"/api/runs/{approval['run_id']}"
        yes = {"approved": True, "digest": approval["digest"]}
        assert ask(server, "POST", f"{path}/approvals/{approval['call_id']}", yes, demo.token("admin"))[0] == 404
        assert ask(server, "POST", f"{path}/approvals/{approval['call_id']}", yes)[0] == 202
        done = run_of(server, approval["run_id"])
    assert (done["run"]["status"], done["run"]["user"]) == ("answered", "alice")
    assert application(demo, "demo-app") is None
