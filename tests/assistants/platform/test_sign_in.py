"""Signing in to the platform on the page: with a token or a name and a password, for this browser alone, until signing out."""

import asyncio
import re

import aiohttp
import pytest

from assistants.platform.platform_setup import application, ask
from treadle.assistants.platform.session import MAX_SIGN_INS, SIGN_IN_SECONDS, SignInStore
from treadle.testing import calls

SIGN_IN = "/api/platform/sign-in"


def browse(server, work):
    """What a browser does, which keeps the cookies that it is given."""

    async def browsing():
        async with aiohttp.ClientSession(server.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:

            async def asks(method, path, body=None):
                async with browser.request(method, path, json=body) as answer:
                    return answer.status, await (answer.json() if "json" in answer.content_type else answer.text()), answer.headers

            return await work(asks)

    return asyncio.run(browsing())


def test_a_token_signs_in_and_everything_then_runs_with_that_users_rights(serve, demo):
    async def visit(asks):
        before = (await asks("GET", "/api/platform/me"))[1]
        signed = await asks("POST", SIGN_IN, {"token": demo.token("bob")})
        after = (await asks("GET", "/api/platform/me"))[1]
        reply = (await asks("POST", "/api/ai/chat", {"message": "My apps?"}))[1]
        return before, signed, after, (await asks("GET", f"/api/runs/{reply['run_id']}"))[1]

    with serve(calls(("list_applications", {})), "Two.") as server:
        before, (status, person, headers), after, run = browse(server, visit)
    assert (before, status) == ({"server": demo.url}, 200)
    assert person == after == {"server": demo.url, "username": "bob", "role": "developer", "team": "data", "signed_in": True}
    (listed,) = [each["result"]["content"] for each in run["entries"] if each["kind"] == "returned"]
    assert "reports" in listed
    assert "storefront" not in listed
    assert run["run"]["user"] == "bob"
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert demo.token("bob") not in headers["set-cookie"]


def test_a_name_and_a_password_sign_in(serve, demo):
    async def visit(asks):
        await asks("POST", SIGN_IN, {"username": "alice", "password": demo.password("alice")})
        return (await asks("GET", "/api/platform/me"))[1]

    with serve("x") as server:
        assert browse(server, visit)["username"] == "alice"


def test_signing_out_ends_it(serve, demo, monkeypatch):
    monkeypatch.setenv("TREADLE_PLATFORM_TOKEN", demo.token("carol"))

    async def visit(asks):
        cookie = (await asks("POST", SIGN_IN, {"token": demo.token("bob")}))[2]["set-cookie"]
        signed_in = (await asks("GET", "/api/platform/me"))[1]
        status = (await asks("POST", "/api/platform/sign-out"))[0]
        return cookie, signed_in, status, (await asks("GET", "/api/platform/me"))[1]

    with serve("x") as server:
        cookie, signed_in, status, after = browse(server, visit)
        kept = re.match(r"treadle_platform=[^;]+", cookie)[0]
        again = ask(server, "GET", "/api/platform/me", headers={"cookie": kept})[1]
    assert (signed_in["username"], status, after["username"]) == ("bob", 204, "carol")
    assert again == {
        "server": demo.url,
        "signed_in": True,
    }  # a cookie that was kept is good for nothing, not even for the server's owner


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"token": "wrong"}, 401, "doesn't accept the person's token"),
        ({"username": "alice", "password": "wrong"}, 401, "doesn't take this name with this password"),
        ({}, 400, "Send a token, or a name and a password."),
        ({"username": "alice"}, 400, "Send a token, or a name and a password."),
    ],
)
def test_who_isnt_known_isnt_signed_in(serve, body, status, said):
    with serve("x") as server:
        found, answer = ask(server, "POST", SIGN_IN, body)
    assert (found, said in answer["error"]) == (status, True)


def test_too_many_tries_are_said_to_be_that(serve):
    with serve("x") as server:
        tries = [ask(server, "POST", SIGN_IN, {"username": "alice", "password": "wrong"})[0] for _ in range(6)]
    assert tries == [401, 401, 401, 401, 401, 429]


def test_a_platform_that_isnt_there_is_said_so(serve, monkeypatch):
    monkeypatch.setenv("TREADLE_PLATFORM_SERVER", "http://127.0.0.1:9")
    with serve("x") as server:
        status, answer = ask(server, "POST", SIGN_IN, {"token": "x"})
    assert (status, "can't be reached" in answer["error"]) == (502, True)


def test_neither_token_nor_password_are_kept_in_any_file(serve, demo, tmp_path, caplog):
    caplog.set_level("DEBUG")
    token, password = demo.token("alice"), demo.password("alice")

    async def visit(asks):
        await asks("POST", SIGN_IN, {"username": "alice", "password": password})
        await asks("POST", SIGN_IN, {"token": token})
        asked = (await asks("POST", "/api/ai/chat", {"message": "Delete demo-app."}))[1]
        return await asks("POST", "/api/ai/chat", {"message": "yes", "run_id": asked["run_id"]})

    with serve(calls(("delete_application", {"app_name": "demo-app"})), "It is gone.") as server:
        assert browse(server, visit)[1]["message"] == "It is gone."
    assert application(demo, "demo-app") is None
    for secret in (token, password):
        assert secret not in caplog.text
        for path in tmp_path.rglob("*"):
            assert path.is_dir() or secret.encode() not in path.read_bytes(), path


def test_a_sign_in_counts_for_whoever_made_it_on_its_platform_and_for_some_hours():
    now = [0.0]
    kept = SignInStore(lambda: now[0])
    mine = kept.begin("t", "http://p", "ann")
    assert kept.token(mine, "http://p", "ann") == "t"
    assert [kept.token(mine, "http://q", "ann"), kept.token(mine, "http://p", "ben"), kept.token("x", "http://p", "ann")] == [
        ""
    ] * 3
    now[0] = SIGN_IN_SECONDS - 1
    assert kept.token(mine, "http://p", "ann") == "t"  # and from now on as long again
    now[0] = 2 * SIGN_IN_SECONDS - 2
    assert kept.token(mine, "http://p", "ann") == "t"
    now[0] = 4 * SIGN_IN_SECONDS
    assert kept.token(mine, "http://p", "ann") == ""


def test_of_very_many_sign_ins_the_oldest_end():
    now = [0.0]
    kept = SignInStore(lambda: now[0])
    first = kept.begin("first", "s", "u")
    now[0] = 1.0
    later = [kept.begin(str(number), "s", "u") for number in range(MAX_SIGN_INS)]
    assert (kept.token(first, "s", "u"), kept.token(later[0], "s", "u")) == ("", "0")
    kept.begin("last", "s", "u")
    assert (kept.token(later[0], "s", "u"), kept.token(later[1], "s", "u")) == ("0", "")  # what is used lasts
