"""The routes of the original that guidance touches, over real HTTP."""

import asyncio
import json

import aiohttp
import pytest
from msgspec.structs import replace

from server.running import Serving
from treadle import Scripted
from treadle.assistants.guidance import assistant
from treadle.testing import calls

SPEC = {"constraints": [{"name": "Budget", "description": "10k", "weight": 90}], "goals": ["Speed"], "version": 0}
CHANGE = calls(("change_problem_spec", {"constraints": [{"name": "Budget", "weight": 80}]}))


@pytest.fixture
def serve(address, tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_GUIDANCE_DATABASE", address)
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("")
    return lambda *replies: Serving(tmp_path, [replace(assistant, panel=None)], Scripted(*(replies or ("Fine.",))))


class Client:
    """Asks a server, and keeps what it answered."""

    def __init__(self, server):
        self._server = server

    def __call__(self, method, path, body=None):
        async def asked():
            async with aiohttp.ClientSession() as http, http.request(method, self._server.url + path, json=body) as answer:
                return answer.status, json.loads(await answer.text() or "null")

        return asyncio.run(asked())

    def events(self, path, body=None):
        async def asked():
            async with aiohttp.ClientSession() as http, http.post(self._server.url + path, json=body) as answer:
                return [json.loads(line[6:]) for line in (await answer.text()).splitlines() if line.startswith("data: ")]

        return asyncio.run(asked())

    def begun(self):
        """A project with a spec, and its conversation."""
        _, project = self("POST", "/projects", {"title": "Buses", "description": "On time"})
        self("PUT", f"/projects/{project['id']}/problem-spec", SPEC)
        _, (session,) = self("GET", f"/projects/{project['id']}/chat-sessions")
        return project["id"], session["id"]


def test_a_project_is_begun_looked_at_renamed_and_deleted(serve):
    with serve() as server:
        ask = Client(server)
        status, project = ask("POST", "/projects", {"title": "Buses"})
        assert (status, project["title"], project["version"]) == (201, "Buses", 1)
        assert [each["id"] for each in ask("GET", "/projects")[1]] == [project["id"]]
        path = f"/projects/{project['id']}"
        assert ask("PUT", path, {"title": "Trams", "version": 1})[1]["title"] == "Trams"
        late, answer = ask("PUT", path, {"title": "Boats", "version": 1})
        assert (late, answer["current"]["title"]) == (409, "Trams")
        assert ask("DELETE", path)[0] == 204
        assert ask("GET", path)[0] == 404


def test_a_spec_that_somebody_else_has_changed_is_not_overwritten(serve):
    with serve() as server:
        ask = Client(server)
        project_id, _ = ask.begun()
        path = f"/projects/{project_id}/problem-spec"
        assert ask("GET", path)[1]["version"] == 1
        assert ask("PUT", path, {**SPEC, "goals": ["Calm"], "version": 1})[1]["version"] == 2
        status, answer = ask("PUT", path, {**SPEC, "goals": ["Noise"], "version": 1})
        assert (status, answer["current"]["goals"]) == (409, ["Calm"])
        assert [each["type"] for each in ask("GET", f"/projects/{project_id}/provenance")[1]].count("spec_change") == 2


def test_a_slip_of_the_pen_wipes_nothing(serve):
    with serve() as server:
        ask = Client(server)
        project_id, _ = ask.begun()
        path = f"/projects/{project_id}/problem-spec"
        assert ask("PUT", path, {"constraint": [], "version": 1})[0] == 400
        assert ask("PUT", path, {"goals": ["Calm"], "version": 1})[1]["constraints"][0]["name"] == "Budget"


def test_the_state_and_the_look_before_a_run(serve):
    with serve() as server:
        ask = Client(server)
        project_id, _ = ask.begun()
        state = ask("GET", f"/projects/{project_id}/workflow-state")[1]
        assert (state["has_problem_spec"], state["has_world_model"], state["stage"]) == (True, False, "setup")
        look = ask("POST", f"/projects/{project_id}/runs/preflight", {"mode": "full_search", "parameters": {"num_candidates": 99}})[
            1
        ]
        assert (look["ready"], [each["code"] for each in look["blockers"]]) == (False, ["missing_world_model"])
        assert look["normalized_config"]["num_candidates"] == 50
        assert ask("GET", f"/projects/{project_id}/world-model") == (404, {"detail": "The project has no world model yet."})
        assert ask("PUT", f"/projects/{project_id}/world-model", {"actors": [{"name": "Ann"}], "version": 0})[0] == 200
        assert ask("GET", f"/projects/{project_id}/runs") == (200, [])


def test_guidance_has_the_audits_that_the_original_dropped(serve):
    with serve(calls(("get_problem_spec", {})), "Budget.\n1. Add goals") as server:
        ask = Client(server)
        _, session_id = ask.begun()
        status, answer = ask(
            "POST", f"/chat-sessions/{session_id}/guidance", {"user_query": "What constraints are in my ProblemSpec?"}
        )
    assert status == 200
    assert answer["guidance_message"] == "Budget.\n1. Add goals"
    assert answer["suggested_actions"] == ["Add goals"]
    assert answer["workflow_progress"]["current_stage"] == "setup"
    assert answer["tool_call_audits"][0]["tool_name"] == "get_problem_spec"


def test_the_architect_answers_what_was_said_last_and_that_is_kept(serve):
    with serve(calls(("get_problem_spec", {})), "Budget.") as server:
        ask = Client(server)
        _, session_id = ask.begun()
        path = f"/chat-sessions/{session_id}"
        assert ask("POST", f"{path}/architect-reply")[0] == 400
        assert ask("POST", f"{path}/messages", {"content": "Constraints?"})[0] == 201
        reply = ask("POST", f"{path}/architect-reply")[1]
        kept = ask("GET", f"{path}/messages")[1]
    assert (reply["role"], reply["content"], reply["message_metadata"]["agent_name"]) == ("agent", "Budget.", "Architect")
    assert [each["role"] for each in kept] == ["user", "agent"]
    assert kept[1]["message_metadata"]["tool_call_audits"][0]["success"]


def test_the_stream_has_the_events_that_clients_know(serve):
    with serve("In a few words.") as server:
        ask = Client(server)
        _, session_id = ask.begun()
        ask("POST", f"/chat-sessions/{session_id}/messages", {"content": "Well?"})
        events = ask.events(f"/chat-sessions/{session_id}/architect-reply-stream")
    assert "".join(each["content"] for each in events if each["type"] == "chunk") == "In a few words."
    assert (events[-1]["type"], events[-1]["message"]["content"]) == ("done", "In a few words.")


def test_the_panel_sees_a_change_wait_and_be_made(serve):
    with serve(CHANGE, "Done.") as server:
        ask = Client(server)
        project_id, session_id = ask.begun()
        asked = ask.events(f"/api/guidance/sessions/{session_id}/chat", {"message": "budget weight 80"})
        (approval,) = asked[-1]["approvals"]
        assert "weight 80" in approval["preview"]
        path = f"/api/guidance/approvals/{approval['run_id']}/{approval['call_id']}"
        assert ask.events(path, {"approved": True, "digest": "0" * 64})[-1]["event"] == "error"
        after = ask.events(path, {"approved": True, "digest": approval["digest"]})
        assert (after[-1]["event"], after[-1]["message"]) == ("reply", "Done.")
        assert ask("GET", f"/projects/{project_id}/problem-spec")[1]["constraints"][0]["weight"] == 80


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/projects", {}, 400),
        ("POST", "/projects", {"title": ""}, 422),
        ("GET", "/projects/nothing", None, 404),
        ("GET", "/projects/nothing/workflow-state", None, 404),
        ("POST", "/chat-sessions/nothing/guidance", {}, 404),
        ("POST", "/chat-sessions/nothing/messages", {"content": "x"}, 404),
        ("POST", "/api/guidance/approvals/nothing/x", {"approved": True, "digest": ""}, 400),
    ],
)
def test_what_goes_wrong_is_a_sentence_under_detail(serve, method, path, body, status):
    with serve() as server:
        found, answer = Client(server)(method, path, body)
    assert found == status
    assert answer["detail"].endswith((".", "!"))


def test_a_weight_that_is_none_is_refused_with_its_sentence(serve):
    with serve() as server:
        ask = Client(server)
        project_id, _ = ask.begun()
        bad = {**SPEC, "constraints": [{"name": "x", "weight": 500}], "version": 1}
        status, answer = ask("PUT", f"/projects/{project_id}/problem-spec", bad)
    assert status in (400, 422)
    assert "0 to 100" in answer["detail"]
