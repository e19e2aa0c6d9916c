"""Who gets in: tokens, sessions and logins, and what those hear who don't."""

import io
import socket

import pytest

from demo.platform.demo_client import ask, post
from treadle.demo.platform import ManualClock, start_demo


@pytest.fixture(scope="module")
def clock():
    return ManualClock()


@pytest.fixture(scope="module")
def demo(clock):
    with start_demo(clock=clock) as running:
        yield running


def login(demo, username="alice", password=None, **headers):
    return post(demo, "/api/login", {"username": username, "password": password or demo.password(username)}, user="", **headers)


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer nonsense", "Basic YTpi", "bearer x"])
def test_without_a_good_token_a_program_hears_unauthorized(demo, token):
    reply = ask(demo, "/api/applications", user="", Authorization=token)
    assert (reply.status, reply.text) == (401, "Unauthorized\n")
    assert ask(demo, "/api/applications", user="", Accept="*/*").status == 401


@pytest.mark.parametrize("accept", ["", "text/html,application/xhtml+xml", "application/json, text/html"])
def test_without_a_token_a_browser_is_sent_to_the_login(demo, accept):
    reply = ask(demo, "/api/applications", user="", Accept=accept)
    assert (reply.status, reply.headers["Location"]) == (303, "/login")
    assert ask(demo, "/api/applications", Accept=accept).status == 200


def test_an_expired_token_is_none(demo):
    assert len(demo.expired_token) == 64
    assert ask(demo, "/api/profile", Authorization=f"Bearer {demo.expired_token}").status == 401


def test_tokens_are_64_hex_characters_and_everybody_has_their_own(demo):
    tokens = [demo.token(name) for name in ("admin", "alice", "bob", "carol")]
    assert len(set(tokens)) == 4
    assert all(len(each) == 64 and int(each, 16) for each in tokens)
    assert ask(demo, "/api/profile", "bob").json["team"] == "data"


def test_a_token_may_be_in_a_cookie_or_in_the_address(demo):
    token = login(demo).json["token"]
    assert ask(demo, "/api/profile", user="", Cookie=f"session_id={token}").json["username"] == "alice"
    assert ask(demo, f"/api/profile?token={demo.token('bob')}", user="").json["username"] == "bob"
    assert ask(demo, "/api/profile", "carol", Cookie="session_id=nonsense").json["username"] == "carol"


def test_a_login_gives_a_session_that_lasts_three_hours_after_its_last_use(demo, clock):
    session = login(demo, "bob").json
    assert {key: session[key] for key in ("username", "team", "role")} == {"username": "bob", "team": "data", "role": "developer"}
    bearer = f"Bearer {session['token']}"
    for _ in range(3):
        clock.forward(hours=2.9)
        assert ask(demo, "/api/profile", Authorization=bearer).status == 200
    clock.forward(hours=3)
    assert ask(demo, "/api/profile", Authorization=bearer).status == 401


def test_an_api_key_ends_after_ninety_days_however_much_it_is_used():
    clock = ManualClock()
    with start_demo(clock=clock) as demo:
        clock.forward(days=89.9)
        assert ask(demo, "/api/profile").status == 200
        clock.forward(days=0.1)
        assert ask(demo, "/api/profile").status == 401


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"no json", 400, "Invalid JSON"),
        (b"\xff", 400, "Invalid JSON"),
        (b"[]", 400, "Invalid JSON"),
        (b'{"username": 7, "password": "x"}', 400, "Invalid JSON"),
        (b"{}", 400, "Username and password are required"),
        (b'{"username": "alice", "password": "wrong"}', 401, "Invalid username or password"),
        (b'{"username": "nobody", "password": "wrong"}', 401, "Invalid username or password"),
    ],
)
def test_a_login_that_is_wrong_is_refused_in_words(demo, body, status, text):
    reply = post(demo, "/api/login", body, user="")
    assert (reply.status, reply.text) == (status, f"{text}\n")


def test_after_five_failures_nobody_logs_in_for_a_quarter_of_an_hour():
    clock = ManualClock()
    with start_demo(clock=clock) as demo:
        assert [login(demo, password="wrong").status for _ in range(6)] == [401] * 5 + [429]
        assert login(demo).status == 429
        assert ask(demo, "/api/profile").status == 200
        clock.forward(minutes=15)
        assert login(demo).status == 200
        assert [login(demo, password="wrong").status for _ in range(4)] == [401] * 4
        assert login(demo).status == 200
        assert [login(demo, password="wrong").status for _ in range(5)] == [401] * 5


def test_a_body_that_is_too_large_is_not_taken(demo):
    for size in (1_000_001, 5_000_000):
        reply = post(demo, "/api/applications", io.BytesIO(b"x" * size))
        assert (reply.status, reply.text) == (413, "Request body too large\n")


def test_whoever_goes_before_they_have_said_all_leaves_nothing_behind(demo, caplog):
    port = int(demo.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as line:
        head = f"POST /api/applications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {demo.token('alice')}\r\n"
        line.sendall(f"{head}Content-Length: 100\r\n\r\nmetadata:".encode())
    assert set(ask(demo, "/api/applications").json) == {"checkout", "demo-app", "storefront"}
    assert caplog.records == []
