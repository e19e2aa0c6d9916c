"""Projects and courses that users share, over HTTP: what a reader, an editor and a stranger may do, and when it ends."""

import asyncio
import io
import json
import zipfile
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from assistants.courses.course_setup import ASTRONOMY, SAILING, add, write
from server.running import Serving, host
from server.test_users import House
from treadle.assistants import courses, guidance
from treadle.assistants.guidance.command import make_sample_project
from treadle.assistants.guidance.projects import open_projects, project_user_of
from treadle.home import close_homes
from treadle.models.scripted import Scripted
from treadle.server.tenants import host_for_user
from treadle.stores.accounts import User
from treadle.stores.users import USERS_FILE, Users
from treadle.testing import calls

GROUPS = {"anna": [], "ben": [], "carl": ["staff"], "dora": []}
RENAMED = {"version": 1, "title": "Renamed"}


class Team(House):
    """Users by their names."""

    def __init__(self, server, users, tokens):
        super().__init__(server, users)
        self._tokens = tokens

    def status(self, name, path, method="GET", body=None):
        return self.ask(path, method, self._tokens[name], json=body)[0]

    def read(self, name, path, method="GET", body=None):
        return self.told(path, method, self._tokens[name], json=body)

    def run(self, name, message, context, assistant):
        """Ask an assistant, and return the run when it is over."""
        begun = json.loads(
            self.ask(
                "/api/runs", "POST", self._tokens[name], json={"assistant": assistant, "message": message, "context": context}
            )[2]
        )
        return self.read(name, f"/api/runs/{begun['run_id']}?wait=20") if "run_id" in begun else begun

    def export(self, name):
        import aiohttp

        async def asking():
            async with aiohttp.ClientSession(self.server.url) as session:
                headers = {"authorization": f"Bearer {self._tokens[name]}"}
                async with session.get("/api/settings/data/export", headers=headers) as answer:
                    return await answer.read()

        with zipfile.ZipFile(io.BytesIO(asyncio.run(asking()))) as archive:
            return json.loads(archive.read("shares.json"))


@contextmanager
def team(tmp_path, monkeypatch, *replies):
    """A server with four users. `anna` has two projects and two courses."""
    settings = tmp_path / "treadle.toml"
    settings.write_text('[assistants.courses]\nembeddings = "none"\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(settings))
    users = Users(tmp_path / "data" / USERS_FILE)
    tokens = {name: users.add(name, groups=groups) for name, groups in GROUPS.items()}
    lent = host(tmp_path, Scripted(*replies) if replies else None)
    hers = host_for_user(lent, User("anna"))

    async def make():
        hers.home.folder.mkdir(parents=True)
        async with open_projects(hers) as store:
            return [(await make_sample_project(store, project_user_of(hers))).id for _ in range(2)]

    projects = asyncio.run(make())
    add(hers.home.folder, write(tmp_path / "material", sailing=SAILING, moon=ASTRONOMY))
    try:
        with Serving(tmp_path, [guidance.assistant, courses.assistant], lent=lent, users=users) as server:
            yield Team(server, users, tokens), projects
    finally:
        close_homes()


# projects


def test_a_reader_sees_a_shared_project_and_changes_nothing(tmp_path, monkeypatch):
    with team(tmp_path, monkeypatch) as (home, (shared, other)):
        path, shares = f"/projects/{shared}", {"users": ["ben"], "groups": ["staff"], "editors": [], "editor_groups": []}
        assert home.status("ben", path) == 404
        assert home.status("anna", f"{path}/shares", "PUT", {"users": ["nemo"]}) == 422
        assert home.read("anna", f"{path}/shares", "PUT", shares) == shares
        assert home.read("anna", f"{path}/shares") == shares
        session = home.read("anna", f"{path}/chat-sessions")[0]["id"]
        for name in ("ben", "carl"):
            assert [(each["id"], each["can_edit"]) for each in home.read(name, "/projects")] == [(shared, False)]
            assert home.read(name, path)["owner"] == "anna"
            for part in ("/problem-spec", "/world-model", "/workflow-state", "/provenance", "/runs", "/issues", "/candidates"):
                assert home.status(name, path + part) == 200, part
            assert home.status(name, f"/chat-sessions/{session}/messages") == 200
            refused = {
                home.status(name, path, "PUT", RENAMED),
                home.status(name, path, "DELETE"),
                home.status(name, f"{path}/problem-spec", "PUT", {"version": 1, "goals": ["x"]}),
                home.status(name, f"{path}/issues", "POST", {"type": "model", "severity": "minor", "description": "x"}),
                home.status(name, f"{path}/shares", "PUT", {"users": ["dora"]}),
                home.status(name, f"{path}/shares"),
                home.status(name, f"{path}/members", "POST", {"user": "dora"}),
                home.status(name, f"/chat-sessions/{session}/messages", "POST", {"content": "x"}),
                home.status(name, "/chat-sessions", "POST", {"project_id": shared}),
            }
            assert refused == {403}
            assert home.status(name, f"/projects/{other}") == 404
        assert home.read("anna", path)["title"] != "Renamed"
        home.users.change("carl", groups=[])
        assert home.status("carl", path) == 404


def test_an_editor_changes_a_shared_project_until_it_is_revoked(tmp_path, monkeypatch):
    with team(tmp_path, monkeypatch) as (home, (shared, _)):
        path = f"/projects/{shared}"
        assert home.read("anna", f"{path}/members", "POST", {"user": "ben"})["members"] == ["ben"]
        assert home.read("anna", f"{path}/shares")["editors"] == ["ben"]
        assert home.read("ben", path, "PUT", RENAMED)["title"] == "Renamed"
        assert home.read("anna", path)["title"] == "Renamed"
        assert home.read("anna", f"{path}/provenance")[-1]["user"] == "ben"
        assert home.status("ben", path, "DELETE") == 403  # only its owner
        assert home.status("anna", f"{path}/members/ben", "DELETE") == 204
        assert home.status("ben", path, "PUT", RENAMED) == 404


@pytest.mark.parametrize("end", ["deleted", "reader", "owner"])
def test_a_share_ends_with_the_project_the_reader_and_the_owner(tmp_path, monkeypatch, end):
    with team(tmp_path, monkeypatch) as (home, (shared, _)):
        path = f"/projects/{shared}"
        home.read("anna", f"{path}/shares", "PUT", {"users": ["ben"]})
        assert home.export("anna") == [
            {"assistant": "guidance", "item": shared, "share": {"grantee": "ben", "is_group": False, "can_edit": False}}
        ]
        if end == "deleted":
            assert home.status("anna", path, "DELETE") == 204
            assert home.users.items_shared_with("ben", "guidance") == []
        elif end == "reader":  # another may get the name later
            home.users.remove("ben")
            home._tokens["ben"] = home.users.add("ben")
        else:
            home.users.remove("anna")
        home.waits_for(404, path, "GET", home._tokens["ben"])
        assert home.read("ben", "/projects") == []


def test_a_reader_asks_about_a_shared_project_with_tools_that_only_read(tmp_path, monkeypatch):
    change = calls(("change_problem_spec", {"goals": ["x"]}))
    look = calls(("get_problem_spec", {}))
    with team(tmp_path, monkeypatch, look, "Its goals are known.", change, "I can't.") as (home, (shared, other)):
        home.read("anna", f"/projects/{shared}/shares", "PUT", {"users": ["ben"]})
        run = home.run("ben", "What are the goals?", {"project_id": shared}, "guidance")
        assert run["run"]["status"] == "answered"
        returned = [each["result"] for each in run["entries"] if "result" in each]
        assert [each.get("problem") for each in returned] == [None]
        assert "constraints" in json.dumps(returned)
        run = home.run("ben", "Change it.", {"project_id": shared}, "guidance")
        assert "unknown_tool" in json.dumps(run["entries"])
        home.read("anna", f"/projects/{shared}/shares", "PUT", {})
        for project in (shared, other):
            assert (
                home.status(
                    "ben", "/api/runs", "POST", {"assistant": "guidance", "message": "?", "context": {"project_id": project}}
                )
                == 404
            )


# courses


def keys(home):
    return {each["name"]: each["key"] for each in home.read("anna", "/api/courses")["courses"]}


def test_a_shared_course_is_read_and_nothing_else_of_its_owner(tmp_path, monkeypatch):
    with team(tmp_path, monkeypatch) as (home, _):
        names = keys(home)
        sailing, moon = names["Sailing for Beginners"], names["The Moon and Her Effects"]
        hidden = home.read("anna", f"/api/courses/lesson?course={moon}&lesson=1")["passages"][0]["id"]
        assert home.status("anna", f"/api/courses/shares?course={sailing}", "PUT", {"users": ["nemo"]}) == 422
        assert home.status("anna", "/api/courses/shares?course=nothing", "PUT", {"users": ["ben"]}) == 404
        shares = {"users": ["ben"], "groups": ["staff"]}
        assert home.read("anna", f"/api/courses/shares?course={sailing}", "PUT", shares) == shares
        assert home.read("anna", f"/api/courses/shares?course={sailing}") == shares
        for name in ("ben", "carl"):
            assert [(each["owner"], each["course"]["key"]) for each in home.read(name, "/api/courses/shared")] == [
                ("anna", sailing)
            ]
            assert home.read(name, "/api/courses")["total_courses"] == 0
            lesson = home.read(name, f"/api/courses/lesson?course={sailing}&lesson=1&owner=anna")["passages"][0]
            assert "keel" in lesson["text"]
            shown = f"/api/courses/passage?id={quote(lesson['id'])}&course={sailing}&owner=anna"
            assert home.read(name, shown)["text"] == lesson["text"]
            found = home.read(name, f"/api/courses/search?q=spring+tides&course={sailing}&owner=anna")["found"]
            assert {each["course"] for each in found} == {sailing}
            refused = (
                f"/api/courses/lesson?course={moon}&lesson=1&owner=anna",
                f"/api/courses/lesson?course={sailing}&lesson=1",
                f"/api/courses/search?q=moon&course={moon}&owner=anna",
                "/api/courses/search?q=moon&owner=anna",
                f"/api/courses/passage?id={quote(hidden)}",
                f"/api/courses/passage?id={quote(hidden)}&course={sailing}&owner=anna",
                f"/api/courses/passage?id={quote(hidden)}&course={moon}&owner=anna",
                f"/api/courses/shares?course={sailing}",
            )
            assert {home.status(name, path) for path in refused} == {404}
            assert home.status(name, f"/api/courses?course={sailing}", "DELETE") == 404
        assert home.read("dora", "/api/courses/shared") == []
        assert home.status("dora", f"/api/courses/lesson?course={sailing}&lesson=1&owner=anna") == 404
        home.read("anna", f"/api/courses/shares?course={sailing}", "PUT", {})
        assert home.status("ben", f"/api/courses/lesson?course={sailing}&lesson=1&owner=anna") == 404
        assert home.status("ben", shown) == 404


def test_a_reader_asks_about_a_shared_course(tmp_path, monkeypatch):
    search = calls(("search_course_content", {"query": "tides"}))
    with team(tmp_path, monkeypatch, search, "At new and full moon [1].") as (home, _):
        names = keys(home)
        sailing, moon = names["Sailing for Beginners"], names["The Moon and Her Effects"]
        home.read("anna", f"/api/courses/shares?course={sailing}", "PUT", {"users": ["ben"]})
        answer = home.read("ben", "/api/query", "POST", {"query": "When are spring tides?", "course": sailing, "owner": "anna"})
        assert answer["answer"].startswith("At new")
        assert {each["course"] for each in answer["sources"]} == {sailing}
        assert {passage["owner"] for each in answer["sources"] for passage in each["passages"]} == {"anna"}
        for name, course in (("ben", moon), ("dora", sailing)):
            body = {"query": "?", "course": course, "owner": "anna"}
            assert home.status(name, "/api/query", "POST", body) == 404
            context = {"course": course, "owner": "anna"}
            asked = {"assistant": "courses", "message": "?", "context": context}
            assert home.status(name, "/api/runs", "POST", asked) == 404
