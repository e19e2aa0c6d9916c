"""A server with users, over real HTTP: who is let in, what each may do, and that nobody meets another's things."""

import asyncio
import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import aiohttp
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

from browser import Browser, needs_browser
from server.running import Serving, assistant, host
from treadle.agent.agent import Agent
from treadle.assistants.courses import assistant as courses
from treadle.assistants.guidance import assistant as guidance
from treadle.assistants.platform import assistant as platform
from treadle.assistants.reading import assistant as reading
from treadle.core.entries import Opened, Said
from treadle.core.errors import SettingsError
from treadle.core.requests import Usage
from treadle.home import open_home
from treadle.jobs.store import Jobs
from treadle.models.scripted import Scripted, ScriptedReply
from treadle.routes import get, post, routes_of, stream_response
from treadle.server import tenants
from treadle.server.app import create_app
from treadle.server.auth import AuthMiddleware
from treadle.server.login import COOKIE
from treadle.server.tenants import TenantRouter, user_folder
from treadle.server.uvicorn_server import check_access, listen, server_url
from treadle.stores.accounts import Allowance, User
from treadle.stores.users import USERS_FILE, Users

JSON = {"accept": "application/json"}
PAGE = {"accept": "text/html,application/xhtml+xml"}


def desk(lent):
    """Routes that do whatever an assistant may do with what it is lent."""

    async def keep(request):
        words = (await request.json())["words"]
        result = await Agent(await lent.model()).run(words, journal=lent.home.services(), user=lent.user)
        Jobs(lent.home.folder).create("desk", "work", words, user=lent.user)
        await lent.home.cache.put("key", "group", words, 4e9)
        return JSONResponse({"run_id": result.run_id, "stopped": result.stopped, "reason": result.reason, "user": lent.user})

    async def kept(request):
        runs = [run.title for run in await lent.home.journal.list_runs()]
        jobs = [job.title for job in Jobs(lent.home.folder).all()]
        cached = await lent.home.cache.get("key", 0.0)
        return JSONResponse({"runs": runs, "jobs": jobs, "cached": cached, "folder": str(lent.home.folder)})

    async def read(request):
        return JSONResponse(len(await lent.home.journal.read(request.path_params["run_id"])))

    async def seen(request):
        wanted = ("authorization", "x-api-key", "cookie", "x-token", "x-name")
        found = {name: value for name, value in request.headers.items() if name in wanted}
        return JSONResponse({"headers": found, "person": request.scope["person"].name, "turns": "run_limiter" in request.scope})

    async def fails(request):
        raise ValueError("the inside")

    async def page(request):
        return HTMLResponse('<!doctype html><title>x</title><link rel="icon" href="/static/treadle.svg"><body>a page')

    return [
        Route("/api/desk", keep, methods=["POST"]),
        Route("/api/desk", kept),
        Route("/api/desk/run/{run_id}", read),
        Route("/api/seen", seen, methods=["GET", "POST", "PUT", "DELETE"]),
        Route("/api/fails", fails),
        Route("/page", page, methods=["GET", "POST"]),
    ]


DESK = assistant("desk", routes=desk)


class House:
    """A server, its users, and what somebody asks it."""

    def __init__(self, server, users):
        self.server = server
        self.users = users

    def ask(self, path, method="GET", token="", **more):
        headers = {**({"authorization": f"Bearer {token}"} if token else {}), **more.pop("headers", {})}

        async def asking():
            async with (
                aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.request(method, f"{self.server.url}{path}", allow_redirects=False, headers=headers, **more) as answer,
            ):
                return answer.status, answer.headers, await answer.text()

        return asyncio.run(asking())

    def told(self, path, method="GET", token="", **more):
        status, _, body = self.ask(path, method, token, **more)
        assert status == 200, body
        return json.loads(body)

    def waits_for(self, status, *asked, **more):
        """Ask until that is the answer: what was changed counts within a second, as `test_knowing` says."""
        until = time.monotonic() + 120
        while self.ask(*asked, **more)[0] != status:
            assert time.monotonic() < until

    def signed_in(self, token, **headers):
        """A browser's cookie, and all that was said of it."""
        status, told, body = self.ask("/login", "POST", json={"token": token}, headers=headers)
        assert (status, body) == (204, "")
        return told["set-cookie"].partition(";")[0], told["set-cookie"]


@contextmanager
def house(folder, assistants=(DESK,), model=None, **more):
    users = Users(folder / "data" / USERS_FILE)
    with Serving(folder, assistants, model or Scripted(*["hello"] * 20), users=users, **more) as server:
        yield House(server, users)


def sentence(answer):
    return json.loads(answer[2])["error"]


# who is let in


def test_a_token_lets_its_user_in_as_a_bearer_or_as_an_api_key(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        assert home.told("/api/me", token=token) == {"name": "anna", "role": "user", "local": False}
        assert home.told("/api/me", headers={"x-api-key": token})["name"] == "anna"
        assert home.told("/api/me", headers={"authorization": f"bearer  {token} "})["name"] == "anna"


@pytest.mark.parametrize("path", ["/api/me", "/mcp", "/api/nothing"])
def test_a_program_that_says_nothing_is_told_how(tmp_path, path):
    with house(tmp_path) as home:
        status, headers, body = home.ask(path)
    told = json.loads(body)
    assert (status, headers["www-authenticate"], told["success"]) == (401, "Bearer", False)
    assert told["error"] == told["detail"]
    assert "Say who you are: send a token as `Authorization: Bearer …`" in told["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer treadle_anna_wrong"},
        {"x-api-key": "treadle_anna_wrong"},
        {"authorization": "Bearer something else"},
        {"authorization": "Basic YTpi"},
        {"cookie": f"{COOKIE}=wrong"},
    ],
)
def test_a_wrong_credential_lets_nobody_in(tmp_path, headers):
    with house(tmp_path) as home:
        home.users.add("anna")
        status, told, _ = home.ask("/api/me", headers=headers)
    assert (status, told["www-authenticate"]) == (401, "Bearer")


def test_a_program_that_speaks_anothers_wire_is_told_in_its_form(tmp_path):
    with house(tmp_path) as home:
        status, headers, body = home.ask("/v1/models")
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert "Say who you are" in json.loads(body)["error"]["message"]


def test_a_wrong_token_is_not_made_good_by_a_session(tmp_path):
    with house(tmp_path) as home:
        cookie, _ = home.signed_in(home.users.add("anna"))
        answer = home.ask("/api/me", token="treadle_anna_wrong", headers={"cookie": cookie})
        assert answer[0] == 401
        assert sentence(answer).startswith("This token isn't valid, or isn't any more.")
        strange = {"cookie": cookie, "authorization": "Bearer of-another-service"}
        assert home.told("/api/seen", headers=strange)["headers"] == {"authorization": "Bearer of-another-service", "cookie": ""}


def test_people_are_shown_where_to_sign_in_and_come_back_to_where_they_wanted(tmp_path):
    with house(tmp_path) as home:
        status, headers, _ = home.ask("/page%3F?a=b&c=%26", headers=PAGE)
        assert (status, headers["location"]) == (303, "/login?next=%2Fpage%253F%3Fa%3Db%26c%3D%2526")
        assert home.ask("/page", headers={**PAGE, "cookie": f"{COOKIE}=old"})[0] == 303
        assert home.ask("//evil.example/x", headers=PAGE)[1]["location"] == "/login?next=%2F"
        assert home.ask("/page", headers=JSON)[0] == 401
        assert home.ask("/page", "POST", headers=PAGE)[0] == 401
        assert home.ask("/page", token="treadle_x_y", headers=PAGE)[0] == 401


def test_some_paths_are_everybodys(tmp_path):
    with house(tmp_path) as home:
        assert [home.ask(path)[0] for path in ("/health", "/login", "/static/treadle.css", "/static/login.js")] == [200] * 4
        assert home.ask("/health", token="treadle_x_wrong")[0] == 200
        assert [home.ask(path)[0] for path in ("/static/../api/me", "/static/nothing", "/login/", "/healthy")] == [
            401,
            404,
            401,
            401,
        ]


@pytest.mark.parametrize("path", ["/ready", "/static/..%2f..%2fapi%2fme", "/static/%2e%2e/api/me"])
def test_an_open_path_leads_to_nobodys_things(tmp_path, path):
    with house(tmp_path) as home:
        status, _, body = home.ask(path)
    assert status in (200, 401, 404)
    assert "anna" not in body


def test_what_proves_who_somebody_is_goes_no_further(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        cookie, _ = home.signed_in(token)
        assert home.told("/api/seen", token=token) == {"headers": {}, "person": "anna", "turns": True}
        assert home.told("/api/seen", headers={"x-api-key": token})["headers"] == {}
        mixed = home.told("/api/seen", headers={"cookie": f"a=b; {cookie}; session_id=theirs"})
        assert mixed["headers"] == {"cookie": "a=b; session_id=theirs"}
        both = home.told("/api/seen", token=token, headers={"cookie": cookie, "x-api-key": "of-another"})
        assert both["headers"] == {"cookie": "", "x-api-key": "of-another"}
        assert home.told("/api/seen", token=token, headers={"x-api-key": token})["headers"] == {}
        assert home.told("/api/seen", headers={"x-api-key": token, "authorization": token})["headers"] == {}
        assert home.told("/api/seen", headers={"cookie": cookie, "x-token": token, "x-name": "treadle_box"})["headers"] == {
            "cookie": "",
            "x-name": "treadle_box",
        }


def test_what_fails_for_a_user_is_a_sentence_and_in_the_log(tmp_path, caplog):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        failed, missing = home.ask("/api/fails", token=token), home.ask("/api/nothing", token=token)
    assert (failed[0], sentence(failed)) == (500, "Something went wrong in the server; its log says what.")
    assert (missing[0], sentence(missing)) == (404, "There is nothing at /api/nothing.")
    assert "nosniff" in failed[1]["x-content-type-options"]
    assert [record.getMessage() for record in caplog.records if record.name == "treadle"] == ["GET /api/fails failed"]


def test_a_file_of_users_that_cannot_be_read_lets_nobody_in(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        (tmp_path / "damaged").write_bytes(b"damaged" * 1000)
        (tmp_path / "damaged").replace(home.users.path)  # at once: an empty file would be one without users
        assert home.ask("/api/me", token=token)[0] == 500
        assert home.ask("/health")[0] == 200


def test_what_is_wrong_with_the_assistants_is_told_before_anybody_comes(tmp_path):
    both = [assistant("one", routes=desk), assistant("two", routes=desk)]
    with pytest.raises(SettingsError, match="The assistants one and two both want"):
        create_app(both, host(tmp_path), hosts=["localhost"], users=Users(tmp_path / USERS_FILE))


def test_what_assistants_have_opened_for_each_person_is_closed_at_the_end(tmp_path):
    closed = []

    def routes(lent):
        lent.on_close(lambda: closed.append(lent.user))
        return [Route("/api/x", lambda request: JSONResponse(lent.user))]

    with house(tmp_path, [assistant("x", routes=routes)]) as home:
        tokens = [home.users.add(name) for name in ("anna", "ben")]
        assert [home.told("/api/x", token=token) for token in tokens] == ["anna", "ben"]
        assert closed == []
    assert sorted(closed) == ["", "anna", "ben"]


# nobody meets another's things


def test_two_users_have_nothing_in_common(tmp_path):
    with house(tmp_path) as home:
        anna, ben = home.users.add("anna"), home.users.add("ben")
        done = home.told("/api/desk", "POST", anna, json={"words": "Of Anna"})
        folder = tmp_path / "data" / "users" / "anna"
        mine = {"runs": ["Of Anna"], "jobs": ["Of Anna"], "cached": "Of Anna", "folder": str(folder)}
        assert (done["user"], home.told("/api/desk", token=anna)) == ("anna", mine)
        theirs = {"runs": [], "jobs": [], "cached": None, "folder": str(tmp_path / "data" / "users" / "ben")}
        assert home.told("/api/desk", token=ben) == theirs
        run = f"/api/desk/run/{done['run_id']}"
        assert home.told(run, token=anna) > 0
        assert home.ask(run, token=ben)[0] == 404
        assert home.told("/api/stats", token=anna)["total"]["spent"]["runs"] == 1
        assert home.told("/api/stats", token=ben)["total"]["spent"]["runs"] == 0


def test_conversations_about_courses_are_each_persons_own(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with house(tmp_path, [replace(courses, panel=None)]) as home:
        anna, ben = home.users.add("anna"), home.users.add("ben")
        session = home.told("/api/query", "POST", anna, json={"query": "What is a keel?"})["session_id"]
        assert [each["id"] for each in home.told("/api/courses/sessions", token=anna)["sessions"]] == [session]
        assert home.told("/api/courses/sessions", token=ben)["sessions"] == []
        assert home.ask(f"/api/courses/sessions/{session}", token=anna)[0] == 200
        assert home.ask(f"/api/courses/sessions/{session}", token=ben)[0] == 404
        assert home.told("/api/query", "POST", ben, json={"query": "And mine?", "session_id": session})["session_id"] != session


def test_projects_are_each_persons_own(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with house(tmp_path, [replace(guidance, panel=None)]) as home:
        anna, ben = home.users.add("anna"), home.users.add("ben")
        status, _, body = home.ask("/projects", "POST", anna, json={"title": "Of Anna"})
        assert status in (200, 201), body
        project = json.loads(body)["id"]
        assert "Of Anna" in home.ask("/projects", token=anna)[2]
        assert "Of Anna" not in home.ask("/projects", token=ben)[2]
        assert home.ask(f"/projects/{project}", token=anna)[0] == 200
        assert home.ask(f"/projects/{project}", token=ben)[0] in (403, 404)


def test_what_somebody_reads_is_in_a_folder_of_their_own(tmp_path, monkeypatch):
    (tmp_path / "started").mkdir()
    (tmp_path / "started" / "secret.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path / "started")
    with house(tmp_path, [replace(reading, panel=None)]) as home:
        anna, ben = home.users.add("anna"), home.users.add("ben")
        assert home.told("/api/reading/files", token=anna)["files"] == []
        mine = tmp_path / "data" / "users" / "anna" / "workspace"
        mine.mkdir(parents=True, exist_ok=True)
        (mine / "mine.py").write_text("y = 2\n")
        assert home.told("/api/reading/files", token=anna)["files"] == ["mine.py"]
        assert home.told("/api/reading/files", token=ben)["files"] == []


def test_nobody_acts_with_the_rights_of_who_runs_the_server(tmp_path, monkeypatch):
    shown = []

    class Platform(BaseHTTPRequestHandler):
        def do_GET(self):
            shown.append(self.headers["authorization"])
            self.send_error(401)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Platform) as there:
        serving = threading.Thread(target=there.serve_forever)
        serving.start()
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("TREADLE_PLATFORM_SERVER", f"http://127.0.0.1:{there.server_port}")
        monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", "of-the-owner")
        with house(tmp_path, [replace(platform, panel=None)]) as home:
            token = home.users.add("anna")
            home.told("/api/platform/me", token=token)
            home.told("/api/platform/me", headers={"x-api-key": token, "authorization": "Bearer of-anna"})
        there.shutdown()
        serving.join()
    assert "Bearer of-anna" in shown
    assert [each for each in shown if each and each != "Bearer of-anna"] == []


def test_nobody_can_be_called_like_a_path(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        for name in ("..", "../anna", "a/../b", "%2e%2e", "."):
            forged = token.replace("anna", name)
            assert home.ask("/api/me", token=forged)[0] == 401
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["users.db"]


# what each may do


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_reader_may_look_and_do_nothing_else(tmp_path, method):
    with house(tmp_path) as home:
        token = home.users.add("rita", "reader")
        assert home.told("/api/seen", token=token)["person"] == "rita"
        assert home.ask("/api/seen", "HEAD", token)[0] == 200
        answer = home.ask("/api/seen", method, token, json={})
        assert (answer[0], sentence(answer)) == (403, "You may look, but not change anything here: rita is a reader.")
        cookie, _ = home.signed_in(token)
        own = {"cookie": cookie, "origin": home.server.url}
        assert home.ask("/api/seen", method, headers=own, json={})[0] == 403
        assert home.ask("/logout", "POST", headers=own)[0] == 204


def test_another_role_and_another_allowance_count_within_a_second(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        elsewhere = Users(home.users.path)
        assert home.ask("/api/seen", "POST", token, json={})[0] == 200
        elsewhere.change("anna", role="reader")
        home.waits_for(403, "/api/seen", "POST", token, json={})
        assert home.told("/api/me", token=token)["role"] == "reader"
        elsewhere.change("anna", role="admin", allowance=Allowance(requests=1))
        home.waits_for(429, "/api/me", token=token)


def test_who_is_removed_is_out_within_a_second(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        cookie, _ = home.signed_in(token)
        assert home.told("/api/me", token=token) == home.told("/api/me", headers={"cookie": cookie})
        Users(home.users.path).remove("anna")
        home.waits_for(401, "/api/me", token=token)
        home.waits_for(401, "/api/me", headers={"cookie": cookie})


def test_an_answer_that_is_still_being_sent_ends_when_its_user_is_removed(tmp_path):
    asked, again = threading.Event(), threading.Event()
    clock = type("Clock", (), {"now": 0.0, "__call__": lambda self: self.now})()
    ended = []

    def routes(lent):
        async def told():
            try:
                for number in range(1000):
                    yield {"number": number}
                    asked.set()
                    if number == 1:
                        await asyncio.to_thread(again.wait, 20)
            finally:
                ended.append("ended")

        return [Route("/api/live", lambda request: stream_response(told()))]

    users = Users(tmp_path / "data" / USERS_FILE)
    token = users.add("anna")
    app = create_app([assistant("x", routes=routes)], host(tmp_path), hosts=["localhost"], users=users)
    door = next(each for each in app.user_middleware if each.cls is AuthMiddleware)
    door.kwargs["clock"] = clock

    async def listen():
        told = []

        async def send(message):
            told.append(message)
            if b'"number":' in message.get("body", b""):
                clock.now += 6  # long enough to look again who it is
            if b'"number":1' in message.get("body", b""):
                users.remove("anna")
                again.set()

        async def receive():
            await asyncio.Event().wait()

        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "path": "/api/live", "method": "GET", "headers": headers, "query_string": b"", "root_path": ""}
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)
        return told

    told = asyncio.run(listen())
    assert told[0]["status"] == 200
    assert told[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert b"".join(message.get("body", b"") for message in told) == b'data: {"number":0}\n\ndata: {"number":1}\n\n'
    assert ended == ["ended"]


# how much


def test_more_requests_than_one_may_are_told_when_to_come_again(tmp_path):
    with house(tmp_path) as home:
        token, other = home.users.add("anna", allowance=Allowance(requests=2)), home.users.add("ben")
        assert [home.ask("/api/me", token=token)[0] for _ in range(3)] == [200, 200, 429]
        answer = home.ask("/api/me", token=token)
        assert sentence(answer).startswith("That is more than your 2 requests a minute; try again in ")
        assert 1 <= int(answer[1]["retry-after"]) <= 30
        assert home.ask("/api/me", token=other)[0] == 200
        assert home.ask("/static/treadle.css", token=token)[0] == 200


def test_a_budget_that_is_used_up_ends_a_run_with_a_sentence_and_is_each_persons_own(tmp_path):
    reply = ScriptedReply(text="hello", usage=Usage(requests=1, input_tokens=100))
    model = Scripted(reply, reply)
    with house(tmp_path, model=model) as home:
        anna, ben = home.users.add("anna", allowance=Allowance(tokens=100)), home.users.add("ben")
        assert home.told("/api/desk", "POST", anna, json={"words": "First"})["stopped"] == "answered"
        used = home.told("/api/desk", "POST", anna, json={"words": "Second"})
        assert (used["stopped"], len(model.requests)) == ("failed", 1)
        assert used["reason"] == "Your 100 tokens of today are used up; they begin anew at midnight (UTC)."
        assert home.told("/api/desk", "POST", ben, json={"words": "Third"})["stopped"] == "answered"
    with house(tmp_path) as home:
        again = home.told("/api/desk", "POST", anna, json={"words": "After a restart"})
        assert (again["stopped"], again["reason"]) == ("failed", used["reason"])


def test_what_a_person_left_under_way_goes_on_when_the_server_starts_whether_they_come_or_not(tmp_path):
    origin = {"face": "server", "assistant": "desk", "model": "", "instructions": ""}
    Users(tmp_path / "data" / USERS_FILE).add("anna")

    async def left():
        journal = open_home(user_folder(tmp_path / "data", "anna")).journal
        await journal.append("r1", 0, [Opened(agent="desk", user="anna", origin=origin), Said(text="Go on.")])

    async def status():
        home = open_home(user_folder(tmp_path / "data", "anna"))
        while (info := await home.journal.info("r1")).status == "open":  # noqa: ASYNC110 - it is another thread's to end
            await asyncio.sleep(0.02)
        return info.status

    asyncio.run(left())
    with house(tmp_path):  # nobody asks it anything
        assert asyncio.run(asyncio.wait_for(status(), 120)) == "answered"


def test_what_the_owner_has_is_not_touched_by_a_server_for_users(tmp_path):
    seen = []

    def routes(lent):
        seen.append(lent.home.folder)
        (lent.home.folder).mkdir(parents=True, exist_ok=True)
        return []

    with house(tmp_path, [assistant("desk", routes=routes)]) as home:
        home.told("/api/me", token=home.users.add("anna"))
    assert tmp_path / "data" not in seen
    assert seen[1] == user_folder(tmp_path / "data", "anna")
    assert not seen[0].exists()  # it was made only to see whether the routes can be


def test_one_whose_things_cannot_be_opened_keeps_nobody_else_from_theirs(tmp_path, caplog):
    async def run():
        made, people = [], [User("anna"), User("ben")]

        def make(person):
            made.append(person.name)
            if person.name == "anna":
                raise ValueError("a broken file")
            return Starlette()

        async def everybody():
            return people

        async def everyone_awaited(person):
            return True

        tenants = TenantRouter(make, everybody, everyone_awaited)
        async with asyncio.timeout(120), tenants.lifespan(Starlette()):
            while len(made) < 2:  # noqa: ASYNC110 - it is a task of its own
                await asyncio.sleep(0.01)
        return made

    assert asyncio.run(run()) == ["anna", "ben"]
    assert "a broken file" in caplog.text


def test_what_somebody_has_under_way_ends_with_their_being_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tenants, "POLL_SECONDS", 0.05)
    ended = threading.Event()

    def routes(lent):
        lent.on_close(ended.set)
        return []

    with house(tmp_path, [assistant("desk", routes=routes)]) as home:
        home.told("/api/me", token=home.users.add("anna"))
        ended.clear()
        home.users.remove("anna")
        assert ended.wait(120)


def test_what_assistants_answer_with_a_run_counts_among_those_under_way(tmp_path):
    begun, gate = threading.Event(), threading.Event()

    def routes(lent):
        @post("/api/work", runs=True)
        async def work() -> str:
            """Work."""
            begun.set()
            await asyncio.to_thread(gate.wait, 20)
            return "done"

        @get("/api/look")
        async def look() -> str:
            """Look."""
            return "seen"

        return routes_of(work, look)

    with house(tmp_path, [assistant("desk", routes=routes)]) as home, ThreadPoolExecutor() as pool:
        anna = home.users.add("anna", allowance=Allowance(runs=1))
        first = pool.submit(home.ask, "/api/work", "POST", anna, json={})
        assert begun.wait(120)
        assert home.ask("/api/work", "POST", anna, json={})[0] == 429
        assert home.told("/api/look", token=anna) == "seen"
        gate.set()
        assert first.result()[0] == 200
        assert home.ask("/api/work", "POST", anna, json={})[0] == 200


def test_another_allowance_keeps_nobody_waiting_for_what_is_under_way(tmp_path):
    """What is under way ends in its own time; a request that is being sent meanwhile begins nothing in what is closed."""
    begun, gate = threading.Event(), threading.Event()

    def held(lent):
        async def hold(request):
            begun.set()
            await asyncio.to_thread(gate.wait, 20)
            return JSONResponse("held")

        return [Route("/api/hold", hold)]

    with house(tmp_path, [assistant("desk", routes=held)]) as home, ThreadPoolExecutor() as pool:
        anna = home.users.add("anna")
        first = pool.submit(home.ask, "/api/hold", token=anna)
        assert begun.wait(120)
        home.users.change("anna", allowance=Allowance(runs=3))
        assert home.told("/api/me", token=anna)["name"] == "anna"
        assert not first.done()
        gate.set()
        assert first.result()[0] == 200


# browsers


def test_signing_in_gives_a_cookie_that_no_script_and_no_other_site_can_use(tmp_path):
    with house(tmp_path) as home:
        cookie, told = home.signed_in(home.users.add("anna"))
        parts = {part.strip().lower() for part in told.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/", "max-age=2592000"} <= parts
        assert "secure" not in parts
        assert home.told("/api/me", headers={"cookie": cookie})["name"] == "anna"


def test_how_a_request_came_is_believed_of_a_proxy_only_where_there_is_one(tmp_path):
    forwarded = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9, 198.51.100.7"}
    with house(tmp_path) as home:
        token = home.users.add("anna")
        assert "secure" not in home.signed_in(token, **forwarded)[1].lower()
    with house(tmp_path, behind_proxy=True) as home:
        assert "; secure" in home.signed_in(token, **forwarded)[1].lower()
        assert "secure" not in home.signed_in(token)[1].lower()
        for number in range(10):
            mine = {"x-forwarded-for": f"192.0.2.{number}, 198.51.100.7"}
            assert home.ask("/login", "POST", json={"token": "x"}, headers=mine)[0] == 401
        assert home.ask("/login", "POST", json={"token": "x"}, headers={"x-forwarded-for": "198.51.100.7"})[0] == 429
        assert home.ask("/login", "POST", json={"token": "x"}, headers={"x-forwarded-for": "198.51.100.8"})[0] == 401


def test_signing_out_ends_the_session(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        first, second = home.signed_in(token)[0], home.signed_in(token)[0]
        own = {"origin": home.server.url}
        status, headers, _ = home.ask("/logout", "POST", headers={"cookie": first, **own})
        assert (status, 'treadle_session=""' in headers["set-cookie"]) == (204, True)
        status, headers, _ = home.ask("/logout", "POST", headers={"cookie": second, **own, **PAGE})
        assert (status, headers["location"]) == (303, "/login")
        assert [home.ask("/api/me", headers={"cookie": cookie})[0] for cookie in (first, second)] == [401, 401]
        assert home.told("/api/me", token=token)["name"] == "anna"


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "{own}", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "{own}"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "{own}", "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_a_session_changes_something_only_from_a_page_of_this_server(tmp_path, more, status):
    with house(tmp_path) as home:
        cookie, _ = home.signed_in(home.users.add("anna"))
        headers = {"cookie": cookie, **{name: value.format(own=home.server.url) for name, value in more.items()}}
        for method in ("POST", "PUT", "DELETE"):
            assert home.ask("/api/seen", method, headers=headers, json={})[0] == status
        assert home.ask("/api/seen", headers={"cookie": cookie})[0] == 200
        assert home.ask("/logout", "POST", headers=headers)[0] in (403, 204)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"json": {"token": "treadle_anna_wrong"}}, 401),
        ({"json": {"token": ""}}, 401),
        ({"json": {"token": 5}}, 400),
        ({"json": {}}, 400),
        ({"json": []}, 400),
        ({"data": b"{", "headers": {"content-type": "application/json"}}, 400),
        ({"data": b'{"token": "\xff"}', "headers": {"content-type": "application/json"}}, 400),
        ({"json": {"token": "x" * 5000}}, 413),
        ({"data": b'{"x": ' + b"[" * 4000, "headers": {"content-type": "application/json"}}, 400),
        ({"data": {"token": "x"}, "headers": {"accept": "application/json"}}, 400),
        ({"data": b'{"token": "x"}', "headers": {"content-type": "text/plain"}}, 415),
        ({"headers": {"accept": "application/json"}}, 400),
        ({"json": {"token": "x"}, "headers": {"origin": "https://evil.example"}}, 403),
    ],
)
def test_what_does_not_sign_anybody_in_is_a_sentence(tmp_path, sent, status):
    with house(tmp_path) as home:
        found, headers, body = home.ask("/login", "POST", **sent)
        assert (found, "set-cookie" in headers) == (status, False)
        if status in (400, 401):
            assert json.loads(body)["error"].endswith((".", "NAME"))


def test_too_many_wrong_tokens_have_to_wait_even_with_the_right_one(tmp_path):
    with house(tmp_path) as home:
        token = home.users.add("anna")
        tries = [home.ask("/login", "POST", json={"token": "treadle_anna_wrong"})[0] for _ in range(10)]
        assert tries == [401] * 10
        answer = home.ask("/login", "POST", json={"token": token})
        assert answer[0] == 429
        assert sentence(answer).startswith("That were too many wrong tokens from here; try again in ")
        assert 1 <= int(answer[1]["retry-after"]) <= 60
        assert home.told("/api/me", token=token)["name"] == "anna"


def test_whoever_signs_in_again_and_again_has_to_wait_and_has_twenty_sessions_at_most(tmp_path):
    with house(tmp_path) as home:
        token, other = home.users.add("anna"), home.users.add("ben")
        before = home.users.begin_session("anna")
        first, *others = [home.signed_in(token)[0] for _ in range(20)]
        answer = home.ask("/login", "POST", json={"token": token})
        assert answer[0] == 429
        assert sentence(answer).startswith("You have signed in too often within a minute; try again in ")
        assert 1 <= int(answer[1]["retry-after"]) <= 3
        assert home.users.person_of_session(before) is None
        assert all(home.users.person_of_session(each.partition("=")[2]) for each in (first, *others))
        assert home.signed_in(other)


def test_the_page_to_sign_in_on_says_whether_one_is_known_already(tmp_path):
    with house(tmp_path) as home:
        cookie, _ = home.signed_in(home.users.add("anna"))
        status, headers, body = home.ask("/login", headers=PAGE)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert '<label for="token">' in body
        assert "<script>" not in body
        assert home.told("/login", headers=JSON) == {"known": False, "owner": False, "provider": ""}
        assert home.told("/login", headers={**JSON, "cookie": cookie}) == {"known": True, "owner": False, "provider": ""}


def test_without_users_there_is_nothing_to_sign_in_to(tmp_path):
    with Serving(tmp_path, [DESK]) as server:
        home = House(server, None)
        assert [home.ask(path)[0] for path in ("/login", "/api/me")] == [404, 200]
        assert home.told("/api/me") == {"name": "", "role": "admin", "local": True}
        assert home.told("/api/seen")["turns"] is False


# pages elsewhere


CHAT = "https://chat.example"
PREFLIGHT = {
    "origin": CHAT,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
}


def cors_headers(headers):
    return {name.lower() for name in headers if name.lower().startswith("access-control-")}


def test_a_page_elsewhere_that_was_named_may_call_with_a_token(tmp_path):
    with house(tmp_path, cors=["https://Chat.example/"]) as home:
        token = home.users.add("anna")
        status, headers, _ = home.ask("/api/seen", "OPTIONS", headers=PREFLIGHT)
        assert (status, headers["access-control-allow-origin"]) == (204, CHAT)
        assert headers["access-control-allow-headers"] == "authorization,content-type,x-stainless-lang"
        assert "POST" in headers["access-control-allow-methods"]
        assert "access-control-allow-credentials" not in headers
        assert "Origin" in headers["vary"]
        status, headers, _ = home.ask("/api/seen", "POST", token, json={}, headers={"origin": CHAT})
        assert (status, headers["access-control-allow-origin"], "Origin" in headers["vary"]) == (200, CHAT, True)
        readable = {"retry-after", "www-authenticate", "x-request-id", "request-id", "x-should-retry"}
        assert set(headers["access-control-expose-headers"].split(", ")) == readable
        refused = home.ask("/api/seen", "POST", json={}, headers={"origin": CHAT})
        assert (refused[0], refused[1]["access-control-allow-origin"]) == (401, CHAT)


def test_a_page_elsewhere_never_has_a_session(tmp_path):
    with house(tmp_path, cors=[CHAT]) as home:
        cookie, _ = home.signed_in(home.users.add("anna"))
        for method in ("GET", "POST"):
            assert home.ask("/api/seen", method, headers={"origin": CHAT, "cookie": cookie})[0] == 401


def test_any_other_page_and_any_other_path_may_not_be_called(tmp_path):
    with house(tmp_path, cors=[CHAT]) as home:
        token = home.users.add("anna")
        status, headers, _ = home.ask("/api/seen", "POST", token, json={}, headers={"origin": "https://evil.example"})
        assert (status, cors_headers(headers), "Origin" in headers["vary"]) == (403, set(), True)
        asked = {**PREFLIGHT, "origin": "https://chat.example.evil"}
        assert cors_headers(home.ask("/api/seen", "OPTIONS", headers=asked)[1]) == set()
        for path in ("/page", "/login", "/logout", "/apix"):
            assert cors_headers(home.ask(path, "OPTIONS", headers=PREFLIGHT)[1]) == set()
            assert home.ask(path, "POST", token, json={}, headers={"origin": CHAT})[0] == 403


def test_headers_that_nobody_could_mean_are_not_said_back(tmp_path):
    with house(tmp_path, cors=[CHAT]) as home:
        asked = {**PREFLIGHT, "access-control-request-headers": "a;b<script>"}
        assert home.ask("/api/seen", "OPTIONS", headers=asked)[1]["access-control-allow-headers"] == "authorization, content-type"


@pytest.mark.parametrize("origin", ["*", "", "null", "example.org", "https://example.org/path", "ftp://x", "https://a b"])
def test_what_is_no_origin_is_told(tmp_path, origin):
    with pytest.raises(SettingsError, match=r"is no origin; write it as https://example\.org or http://localhost:3000"):
        create_app([], host(tmp_path), hosts=["localhost"], cors=[origin])


# nothing of a token is kept anywhere


def test_a_token_is_in_no_file_and_in_no_log(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with house(tmp_path) as home:
        token = home.users.add("anna")
        cookie, _ = home.signed_in(token)
        home.told("/api/desk", "POST", token, json={"words": "Hello"})
        home.ask("/api/fails", token=token)
        home.ask("/api/fails", headers={"cookie": cookie})
        home.ask("/api/me", token=token[:-1])
    secrets = [token.removeprefix("treadle_anna_"), cookie.partition("=")[2]]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    said = "\n".join([record.getMessage() + str(record.exc_info) for record in caplog.records])
    assert b"Hello" in kept
    assert "/api/fails failed" in said
    for secret in secrets:
        assert secret[:-1].encode() not in kept
        assert secret[:-1] not in said


# websockets


def test_a_websocket_is_for_those_who_are_known(tmp_path):
    users = Users(tmp_path / USERS_FILE)
    token, reader = users.add("anna"), users.add("rita", "reader")
    session = users.begin_session("anna")

    async def told(**headers):
        said = []

        async def inside(scope, receive, send):
            said.append(scope["person"])

        async def send(message):
            said.append(message["type"])

        scope = {"type": "websocket", "path": "/live", "headers": [(k.encode(), v.encode()) for k, v in headers.items()]}
        await AuthMiddleware(inside, users=users)(scope, None, send)
        return said

    assert asyncio.run(told(authorization=f"Bearer {token}")) == [User("anna")]
    assert asyncio.run(told(cookie=f"{COOKIE}={session}", origin="http://localhost")) == [User("anna")]
    for headers in (
        {},
        {"authorization": "Bearer treadle_x"},
        {"authorization": f"Bearer {reader}"},
        {"cookie": f"{COOKIE}={session}"},
    ):
        assert asyncio.run(told(**headers)) == ["websocket.close"]


# where it can be reached


@pytest.mark.parametrize(("address", "named"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("localhost", "127.0.0.1")])
def test_it_may_listen_anywhere_and_says_how_a_browser_here_gets_to_it(address, named):
    if address == "::" and not has_ipv6():
        pytest.skip("no IPv6 on this machine")
    with listen(address, 0, anywhere=True) as listening:
        assert server_url(listening) == f"http://{named}:{listening.getsockname()[1]}/"


@pytest.mark.parametrize("address", ["example.org", "", "127.1"])
def test_what_is_no_address_is_told(address):
    with pytest.raises(SettingsError, match=r"is no IP address; write one of this machine's"):
        listen(address, 0, anywhere=True)


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("address", "how", "is_served"),
    [
        ("127.0.0.1", {}, True),
        ("localhost", {}, True),
        ("::1", {}, True),
        ("127.0.0.1", {"behind_proxy": True}, False),
        ("127.0.0.1", {"behind_proxy": True, "anyone": True}, True),
        ("0.0.0.0", {}, False),
        ("0.0.0.0", {"anyone": True}, True),
        ("::", {}, False),
        ("example.org", {}, False),
        ("", {}, False),
    ],
)
def test_without_users_only_this_machine_is_served_unless_one_says_so(tmp_path, address, how, is_served):
    users = Users(tmp_path / USERS_FILE)
    if is_served:
        assert check_access(users, address, **how) is None
    else:
        with pytest.raises(SettingsError, match=r"Others can reach .*, and there are no users yet\."):
            check_access(users, address, **how)
    users.add("anna")
    if "anyone" in how:
        with pytest.raises(SettingsError, match="There are users, so that not anyone is let in"):
            check_access(users, address, **how)
    else:
        assert check_access(users, address, **how) is users


# the page, in a real browser


@needs_browser
def test_people_sign_in_with_a_browser_come_to_where_they_wanted_and_sign_out(tmp_path):
    async def visit(home, token):
        async with Browser() as browser:
            page = await browser.open(f"{home.server.url}/page?x=1")
            assert await page.wait_for("location.pathname") == "/login"
            assert await page.wait_for("document.activeElement.id") == "token"
            await page.write(f"  {token} ")
            await page.press("Enter")
            assert await page.wait_for("location.pathname === '/page' && document.body.innerText") == "a page"
            assert await page.evaluate("location.search + document.cookie") == "?x=1"
            await page.go(f"{home.server.url}/login?next=/page")
            await page.wait_for("location.pathname === '/page'")
            posted = "fetch('/api/seen', {method: 'POST'}).then((answer) => answer.status)"
            assert await page.evaluate(f"(async () => await {posted})()") == 200
            left = "fetch('/logout', {method: 'POST'}).then((answer) => answer.status)"
            assert await page.evaluate(f"(async () => await {left})()") == 204
            await page.go(f"{home.server.url}/page")
            await page.wait_for("location.pathname === '/login'")
            page.check()

    with house(tmp_path) as home:
        asyncio.run(visit(home, home.users.add("anna")))


@needs_browser
@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "/\\evil.example", "/%09/evil.example", "javascript:alert(1)"]
)
def test_nobody_is_led_elsewhere_by_signing_in(tmp_path, wanted):
    async def visit(home, token):
        async with Browser() as browser:
            page = await browser.open(f"{home.server.url}/login?next={wanted}")
            await page.wait_for("document.activeElement.id === 'token'")
            await page.write(token)
            await page.press("Enter")
            await page.wait_for("location.pathname !== '/login'")
            assert await page.evaluate("location.origin") == home.server.url

    with house(tmp_path) as home:
        asyncio.run(visit(home, home.users.add("anna")))


@needs_browser
def test_a_wrong_token_is_said_to_be_and_the_page_is_fit_for_everybody(tmp_path):
    async def visit(home):
        async with Browser() as browser:
            page = await browser.open(f"{home.server.url}/login")
            await page.wait_for("document.activeElement.id === 'token'")
            await page.write("treadle_anna_wrong")
            await page.click("#seen")
            assert await page.evaluate("document.querySelector('#token').type") == "text"
            await page.click("#seen")
            assert await page.evaluate("document.querySelector('#token').type") == "password"
            await page.click("#enter")
            said = await page.wait_for("!document.querySelector('#said').hidden && document.querySelector('#said').innerText")
            assert said.startswith("This token isn't valid, or isn't any more.")
            assert await page.evaluate("document.activeElement.id + document.activeElement.ariaInvalid") == "tokentrue"
            for scheme, width in ((scheme, width) for scheme in ("light", "dark") for width in (1280, 390)):
                await page.prefer(scheme)
                await page.resize(width)
                assert await page.evaluate("document.documentElement.scrollWidth") == width
                await page.screenshot(tmp_path / f"login-{scheme}-{width}.png")

    with house(tmp_path) as home:
        asyncio.run(visit(home))
