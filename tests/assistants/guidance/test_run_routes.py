"""Runs, candidates, issues and members of a project, over real HTTP."""

import asyncio
import json
import time

import aiohttp
import pytest
from msgspec.structs import replace

from assistants.guidance.table import on_both_stores
from assistants.guidance.test_routes import Client, nobody, serve  # noqa: F401 - a fixture
from treadle import open_home
from treadle.assistant import Jobs
from treadle.errors import ModelError
from treadle.testing import calls

WORLD = {"resources": [{"name": "Drivers", "description": "128 a day"}], "version": 0}
SITUATIONS = json.dumps({"scenarios": [{"name": "Snow"}]})
PROPOSED = json.dumps({"candidates": [{"description": "Signals | first"}, {"description": "More drivers"}]})
GOOD = json.dumps({"judgements": [{"constraint": "Budget", "reason": "cheap", "score": 90}]})
DEAR = {"constraint": "Budget", "reason": "dear", "score": 20}
BAD = json.dumps({"judgements": [DEAR], "uses": [{"resource": "Drivers", "amount": 500}]})
RUN = (SITUATIONS, PROPOSED, GOOD, BAD)


class Runner(Client):
    """Asks a server about the runs of a project."""

    def ready(self):
        project_id, session_id = self.begun()
        self("PUT", f"/projects/{project_id}/world-model", WORLD)
        return f"/projects/{project_id}", session_id

    def until_completed(self, path, run_id):
        return self.until_over(path, run_id, over=("completed",))  # one that is resumed has failed before

    def until_over(self, path, run_id, over=("completed", "failed", "cancelled")):
        async def looking():
            async with aiohttp.ClientSession() as http:
                while True:
                    async with http.get(f"{self._server.url}{path}/runs/{run_id}") as answer:
                        run = await answer.json()
                    if run["status"] in over:
                        return run
                    await asyncio.sleep(0.05)

        return asyncio.run(asyncio.wait_for(looking(), 120))


@on_both_stores
def test_a_run_goes_on_in_the_background_and_its_candidates_are_compared(serve):  # noqa: F811
    with serve(*RUN) as server:
        ask = Runner(server)
        path, session_id = ask.ready()
        body = {"parameters": {"num_candidates": 2, "num_scenarios": 1}, "chat_session_id": session_id, "ui_trigger_id": "click"}
        status, run = ask("POST", f"{path}/runs", body)
        assert (status, run["mode"]) == (202, "full_search")
        assert ask("POST", f"{path}/runs", body)[1]["id"] == run["id"]  # one click, one run
        assert ask.until_over(path, run["id"])["status"] == "completed"
        _, found = ask("GET", f"{path}/runs/{run['id']}/comparison")
        assert [(each["label"], each["status"]) for each in found["candidates"]] == [
            ("Signals | first", "promising"),
            ("More drivers", "rejected"),
        ]
        assert found["constraints"][0] == {"name": "Budget", "weight": 90, "scores": [90, 20]}
        assert len(ask("GET", f"{path}/runs/{run['id']}/candidates")[1]) == len(ask("GET", f"{path}/candidates")[1]) == 2
        assert ask("GET", f"{path}/workflow-state")[1]["stage"] == "completed"
        assert "Drivers: 500 predicted" in ask("GET", f"{path}/issues?status=open")[1][0]["description"]
        assert ask("GET", f"/chat-sessions/{session_id}/messages")[1][-1]["content"].startswith("2 candidates were evaluated:")
        (listed,) = ask("GET", f"{path}/runs")[1]
        assert "problem_spec" not in listed["config"]
        assert ask("POST", f"{path}/runs/{run['id']}/resume")[0] == 409


def test_a_decision_record_is_downloaded_as_markdown(serve):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        path, _ = ask.ready()
        _, candidate = ask("POST", f"{path}/candidates", {"mechanism_description": "A ferry"})

        async def load():
            url = f"{server.url}{path}/candidates/{candidate['id']}/adr"
            async with aiohttp.ClientSession() as http, http.get(url) as answer:
                return answer.content_type, answer.headers["content-disposition"], await answer.text()

        kind, name, text = asyncio.run(load())
        assert (kind, name.startswith("attachment")) == ("text/markdown", True)
        assert "## Decision\n\nA ferry" in text
        other, _ = ask.ready()
        assert ask("GET", f"{other}/candidates/{candidate['id']}/adr")[0] == 404


def test_a_candidate_of_a_persons_is_scored_by_its_own_run(serve):  # noqa: F811
    with serve(SITUATIONS, GOOD) as server:
        ask = Runner(server)
        path, _ = ask.ready()
        status, candidate = ask("POST", f"{path}/candidates", {"mechanism_description": "A ferry"})
        assert (status, candidate["origin"]) == (201, "user")
        assert ask("POST", f"{path}/runs/{candidate['run_id']}/resume")[0] == 202
        ask.until_over(path, candidate["run_id"])
        (scored,) = ask("GET", f"{path}/candidates")[1]
        assert scored["scores"]["total"] == 90.0


def test_what_cant_start_says_why(serve):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        project_id, _ = ask.begun()
        status, answer = ask("POST", f"/projects/{project_id}/runs", {})
        assert (status, "no world model yet" in answer["detail"]) == (409, True)
        assert ask("GET", f"/projects/{project_id}/runs/none")[0] == 404


def test_without_a_model_no_run_starts(serve):  # noqa: F811
    with serve(lent=nobody) as server:
        ask = Runner(server)
        path, _ = ask.ready()
        assert ask("POST", f"{path}/runs", {}) == (503, {"detail": "There is no model here."})
        assert ask("GET", f"{path}/runs")[1] == []


def test_a_run_that_failed_can_be_resumed_and_its_trigger_doesnt_do_that(serve):  # noqa: F811
    down = ModelError("The server is down.")
    with serve(down, *RUN) as server:
        ask = Runner(server)
        path, _ = ask.ready()
        body = {"parameters": {"num_candidates": 2, "num_scenarios": 1}, "ui_trigger_id": "click"}
        run = ask("POST", f"{path}/runs", body)[1]["id"]
        assert ask.until_over(path, run)["status"] == "failed"
        assert ask("POST", f"{path}/runs", body)[1] == {**ask("POST", f"{path}/runs", body)[1], "id": run, "status": "failed"}
        (listed,) = ask("GET", f"{path}/runs")[1]
        assert (listed["is_under_way"], listed["can_resume"]) == (False, True)
        assert ask("POST", f"{path}/runs/{run}/resume")[0] == 202
        ask.until_completed(path, run)
        (listed,) = ask("GET", f"{path}/runs")[1]
        assert (listed["status"], listed["can_resume"]) == ("completed", False)


def test_a_run_that_ends_while_runs_are_listed_isnt_interrupted(serve, monkeypatch):  # noqa: F811
    looks = []

    async def reconcile(host, store, runs):
        looks.append(runs)
        return [replace(run, status="running") for run in runs] if len(looks) == 1 else runs  # first as it was a moment before

    with serve(ModelError("The server is down.")) as server:
        ask = Runner(server)
        path, _ = ask.ready()
        _, run = ask("POST", f"{path}/runs", {"parameters": {"num_candidates": 2, "num_scenarios": 1}})
        assert ask.until_over(path, run["id"])["status"] == "failed"
        while ask("GET", f"{path}/runs")[1][0]["is_under_way"]:
            time.sleep(0.02)
        monkeypatch.setattr("treadle.assistants.guidance.run_routes.reconcile_runs", reconcile)
        (listed,) = ask("GET", f"{path}/runs")[1]
    assert (listed["status"], listed["can_resume"], len(looks)) == ("failed", True, 2)


def test_a_run_that_a_server_left_is_taken_up_by_the_next(serve, tmp_path):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        path, _ = ask.ready()
        _, candidate = ask("POST", f"{path}/candidates", {"mechanism_description": "A ferry"})
    jobs, run_id, project_id = Jobs(open_home(tmp_path / "data").folder), candidate["run_id"], path.rpartition("/")[2]
    job = jobs.create("guidance", "evaluate", "left", given={"project_id": project_id, "mode": "eval_only"})
    jobs.save(replace(job, id=run_id, state="running"))  # as a process that was killed leaves it
    with serve(SITUATIONS, GOOD) as server:
        ask = Runner(server)
        ask("GET", f"{path}/runs")
        assert ask.until_over(path, run_id)["status"] == "completed"


def test_a_run_is_cancelled_over_http(serve):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        path, _ = ask.ready()
        _, candidate = ask("POST", f"{path}/candidates", {"mechanism_description": "A ferry"})
        assert ask("POST", f"{path}/runs/{candidate['run_id']}/cancel")[1]["status"] == "cancelled"


def test_the_agent_starts_a_run_once_the_person_has_said_yes(serve):  # noqa: F811
    start = calls(("start_run", {"num_candidates": 2, "num_scenarios": 1}))
    with serve(start, "It has started.", *RUN) as server:
        ask = Runner(server)
        path, session_id = ask.ready()
        asked = ask.says(session_id, "Start a run")
        assert "A run of 'Buses' would start: full search, 2 candidates, 1 situations" in asked["content"]
        assert ask("GET", f"{path}/runs")[1] == []
        assert ask.says(session_id, "yes")["content"] == "It has started."
        (run,) = ask("GET", f"{path}/runs")[1]
        assert ask.until_over(path, run["id"])["ui_trigger_source"] == "conversation"


@on_both_stores
def test_issues_are_made_looked_at_and_resolved(serve):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        path, _ = ask.ready()
        status, issue = ask("POST", f"{path}/issues", {"description": "No weather", "severity": "minor"})
        assert (status, issue["resolution_status"]) == (201, "open")
        assert ask("GET", f"/issues/{issue['id']}")[1] == issue
        assert ask("POST", f"/issues/{issue['id']}/resolve", {"note": "added"})[1]["resolution_status"] == "resolved"
        assert ask("GET", f"{path}/issues?status=open")[1] == []


def test_a_project_is_shared_over_http(serve):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        path, _ = ask.ready()
        assert ask("POST", f"{path}/members", {"user": "bo"})[1]["members"] == ["bo"]
        assert ask("DELETE", f"{path}/members/bo")[0] == 204
        assert ask("GET", path)[1]["members"] == []


def test_a_server_without_users_shares_with_none_of_them(serve):  # noqa: F811
    with serve() as server:
        ask = Runner(server)
        path, _ = ask.ready()
        assert ask("GET", f"{path}/shares")[1] == {"users": [], "groups": [], "editors": [], "editor_groups": []}
        status, answer = ask("PUT", f"{path}/shares", {"users": ["bo"]})
        assert (status, "treadle users add" in answer["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("reply", "suggested", "title"),
    [("Buses on time", "", "Buses on time"), ("Never asked", "Trams", "Trams"), ("x" * 500, "", "A town wants its buses on time")],
)
def test_a_project_is_begun_from_its_description(serve, reply, suggested, title):  # noqa: F811
    with serve(reply) as server:
        ask = Runner(server)
        words = "A town wants its buses on time. It has eleven lines."
        status, project = ask("POST", "/projects/from-description", {"description": words, "suggested_title": suggested})
        assert (status, project["title"]) == (201, title)
        _, (session,) = ask("GET", f"/projects/{project['id']}/chat-sessions")
        assert session["title"] == "Main Chat"
        assert [each["content"] for each in ask("GET", f"/chat-sessions/{session['id']}/messages")[1]] == [words]


def test_without_a_model_a_project_has_the_first_sentence_as_its_title(serve):  # noqa: F811
    with serve(lent=nobody) as server:
        _, project = Runner(server)("POST", "/projects/from-description", {"description": "Fewer queues. At the town hall."})
        assert project["title"] == "Fewer queues"
