"""Errors over HTTP: clients that speak JSON get JSON, browsers get a page, whatever went wrong and wherever."""

import http.client
import json
import logging

import pytest
from starlette.exceptions import HTTPException

from server.running import Serving, assistant
from treadle.core.errors import MissingKey
from treadle.routes import get, post, routes_of
from treadle.stores.accounts import Allowance
from treadle.stores.users import Users

JSON = "application/json"
BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
ASKS = {"accept": JSON}
SENDS = {"content-type": JSON}


@get("/lakes/{what}")
async def fail(what: str) -> None:
    """Fail."""
    match what:
        case "key":
            raise MissingKey("Set the key.")
        case "bug":
            raise ValueError("a secret of ours")
        case _:
            raise HTTPException(int(what), "Not like this.", {"retry-after": "7"})


@post("/lakes")
async def add(body: dict[str, int]) -> None:
    """Add a lake."""


LAKES = assistant("lakes", routes=lambda host: routes_of(fail, add))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("home"), [LAKES], body_limit=1000) as running:
        yield running


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """A server with users, and the tokens of one who may ask once a minute and of one who only reads."""
    folder = tmp_path_factory.mktemp("private")
    users = Users(folder / "users.db")
    tokens = {"anna": users.add("anna", allowance=Allowance(requests=1)), "rose": users.add("rose", "reader")}
    with Serving(folder, [LAKES], users=users) as running:
        yield running, tokens


def ask(server, method, path, headers, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request(method, path, body, {"Host": server.url.removeprefix("http://"), **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


ERRORS = {
    "an unknown path": ("GET", "/nothing", None, 404),
    "an unknown file": ("GET", "/static/nothing.css", None, 404),
    "a method of a page": ("DELETE", "/runs", None, 405),
    "a method of a handler": ("PUT", "/health", None, 405),
    "too large a body": ("POST", "/lakes", b'{"x": ' + b"1" * 2000 + b"}", 413),
    "a body that does not fit": ("POST", "/lakes", b'{"x": "y"}', 400),
    "too many requests": ("GET", "/lakes/429", None, 429),
    "not now": ("GET", "/lakes/503", None, 503),
    "no model": ("GET", "/lakes/key", None, 503),
    "a bug": ("GET", "/lakes/bug", None, 500),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(("headers", "is_json"), [(ASKS, True), (SENDS, True), ({**BROWSER, **SENDS}, False), (BROWSER, False)])
def test_who_speaks_json_gets_json_and_a_browser_gets_a_page(server, error, headers, is_json, caplog):
    method, path, body, expected = ERRORS[error]
    with caplog.at_level(logging.CRITICAL, "treadle"):
        status, told, text = ask(server, method, path, headers, body)
    assert status == expected
    check(told, text, is_json=is_json)
    assert "secret" not in text
    assert told.get("retry-after") == ("7" if path in ("/lakes/429", "/lakes/503") else None)
    assert ("allow" in told) == (status == 405)


def check(headers, text, *, is_json):
    assert headers["content-type"] == (JSON if is_json else "text/html; charset=utf-8")
    if not is_json:
        assert "<h1" in text
        return
    said = json.loads(text)
    assert (set(said), said["success"]) == ({"success", "error", "detail"}, False)
    assert said["error"] == said["detail"]
    assert said["error"].endswith((".", "NAME"))


@pytest.mark.parametrize(
    ("method", "path", "headers", "expected"),
    [
        ("GET", "/api/nothing", BROWSER, 404),
        ("PATCH", "/api/runs", BROWSER, 405),
        ("POST", "/api/runs", {**BROWSER, "content-type": "text/plain"}, 415),
        ("POST", "/api/runs", {"origin": "https://elsewhere.example"}, 403),
        ("GET", "/api/runs", {"Host": "elsewhere.example"}, 400),
    ],
)
def test_at_a_path_for_programs_everybody_gets_json(server, method, path, headers, expected):
    status, told, text = ask(server, method, path, headers, b"x" if method == "POST" else None)
    assert status == expected
    check(told, text, is_json=True)


@pytest.mark.parametrize(
    ("accept", "is_json"),
    [
        ("application/json, text/html", True),
        ("text/html, application/json;q=0.9", False),
        ("application/json;q=0", False),
        ("application/json;q=nonsense", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_of_two_types_that_are_asked_for_the_one_that_is_wanted_more_counts(server, accept, is_json):
    _, told, text = ask(server, "GET", "/nothing", {"accept": accept})
    check(told, text, is_json=is_json)


def test_who_is_not_signed_in_is_told_so_in_json_and_a_browser_is_led_to_sign_in(private):
    server, _ = private
    for headers in (ASKS, {"accept": "*/*", **SENDS}):
        status, told, text = ask(server, "GET", "/runs", headers)
        assert (status, told["www-authenticate"]) == (401, "Bearer")
        check(told, text, is_json=True)
    assert ask(server, "GET", "/runs", BROWSER)[0] == 303
    assert ask(server, "GET", "/api/runs", BROWSER)[0] == 401


def test_who_may_not_is_told_so_likewise(private):
    server, tokens = private
    reader = {"authorization": f"Bearer {tokens['rose']}"}
    for headers, is_json in ((ASKS, True), (BROWSER, False)):
        status, told, text = ask(server, "POST", "/lakes", {**reader, **headers, "content-type": JSON}, b"{}")
        assert status == 403
        check(told, text, is_json=is_json)


def test_who_asks_too_often_is_told_so_likewise(private):
    server, tokens = private
    anna = {"authorization": f"Bearer {tokens['anna']}"}
    ask(server, "GET", "/nothing", anna)
    for headers, is_json in ((ASKS, True), (BROWSER, False)):
        status, told, text = ask(server, "GET", "/nothing", {**anna, **headers})
        assert (status, "retry-after" in told) == (429, True)
        check(told, text, is_json=is_json)
