"""Attempts to use another user's server: without its token, with a guessed one, from other pages, through proxies."""

import asyncio
import json
import os
import pwd
import shutil
import socket
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from browser import Browser, needs_browser
from server.running import Serving, assistant, host, panel
from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Returned, Said
from treadle.core.errors import SettingsError
from treadle.core.messages import Message, Text
from treadle.home import close_home, open_home
from treadle.server.login import COOKIE, SignInLink
from treadle.server.proxy import parse_forwarded_address
from treadle.stores.owner_access import SESSIONS_FILE, TOKEN_FILE, OwnerAccess
from treadle.stores.users import Users

PATIENCE = 120  # seconds


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def ask(port: int, request: bytes) -> Answer:
    """What a server answers to the very bytes that are sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(request)
        said = b""
        while piece := line.recv(65536):
            said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
    return Answer(int(first.split()[1]) if len(first.split()) > 1 else 0, headers, body)


def get(port: int, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
    named = {
        "host": f"127.0.0.1:{port}",
        "connection": "close",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    if body or method == "POST":
        named |= {"content-length": str(len(body)), "content-type": named.get("content-type", "application/json")}
    head = "".join([f"{name}: {value}\r\n" for name, value in named.items()])
    return ask(port, f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)


class Mine(NamedTuple):
    """A server that is mine, and what proves that I am me."""

    port: int
    token: str
    link: SignInLink
    access: OwnerAccess

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def signed_in(self) -> str:
        """The cookie of a browser that opened the link."""
        answer = get(self.port, self.link.at("").removeprefix(self.url))
        assert (answer.status, answer.headers["location"]) == (303, "/")
        return answer.headers["set-cookie"].partition(";")[0]


@pytest.fixture
def mine(tmp_path):
    access, link = OwnerAccess(tmp_path / "data"), SignInLink()
    access.open()
    pages = [assistant("rivers", panel=panel(tmp_path / "panel"))]
    with Serving(tmp_path, pages, lent=host(tmp_path), owner=access, link=link, cors=["https://friend.example"]) as server:
        yield Mine(server.port, access.token, link, access)


# without a token

PATHS = [
    ("GET", "/"),
    ("GET", "/runs"),
    ("GET", "/approvals"),
    ("GET", "/rivers/"),
    ("GET", "/rivers/panel.js"),
    ("GET", "/api/me"),
    ("GET", "/api/runs"),
    ("POST", "/api/runs"),
    ("GET", "/api/runs/x/events"),
    ("GET", "/api/approvals"),
    ("POST", "/api/runs/x/approvals/call_1"),
    ("GET", "/api/audit"),
    ("GET", "/api/models"),
    ("GET", "/api/jobs"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/v1/models"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/messages"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("POST", "/mcp/rivers"),
    ("DELETE", "/mcp"),
    ("PUT", "/api/runs"),
    ("PATCH", "/api/me"),
    ("POST", "/logout"),
    ("OPTIONS", "/api/me"),
    ("HEAD", "/api/me"),
    ("GET", "//api/me"),
    ("GET", "/static/../api/me"),
    ("GET", "/static/%2e%2e/api/me"),
    ("GET", "/login/../api/me"),
    ("GET", "/login/"),
    ("GET", "/health/../api/me"),
    ("GET", "/api/me?token=x"),
    ("GET", "/api/me%3ftoken=x"),
    ("GET", "/API/ME"),
    ("GET", "/nothing"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_nobody_gets_in_without_the_token(mine, method, path):
    answer = get(mine.port, path, method, b"{}" if method in ("POST", "PUT", "PATCH") else b"")
    assert answer.status in (401, 403, 404, 405), answer
    if path in ("/api/me", "/api/runs", "/mcp", "/v1/models"):
        assert answer.status == 401


@pytest.mark.parametrize("path", ["/health", "/ready", "/static/treadle.css", "/login"])
def test_what_is_open_tells_nothing_about_its_owner(mine, path):
    answer = get(mine.port, path)
    assert answer.status in (200, 503)
    assert mine.token.encode() not in answer.body
    assert b"data/" not in answer.body


GUESSES = [
    {"authorization": "Bearer "},
    {"authorization": "Bearer treadle_owner_"},
    {"authorization": "Bearer treadle_owner_" + "A" * 43},
    {"authorization": "Bearer {token}x"},
    {"authorization": "Bearer {half}"},
    {"authorization": "bearer{token}"},
    {"authorization": "Basic {token}"},
    {"authorization": "{token}"},
    {"authorization": "Bearer x{token}"},
    {"authorization": "Bearer null"},
    {"authorization": "Bearer *"},
    {"x-api-key": "{half}"},
    {"x-api-key": "treadle_owner_%"},
    {"cookie": "treadle_session={token}"},
    {"cookie": "{name}={token}"},
    {"cookie": "{name}="},
    {"cookie": "{name}=' OR 1=1 --"},
    {"cookie": "{name}=%00"},
    {"cookie": "token={token}"},
    {"x-treadle-token": "{token}"},
    {"x-forwarded-for": "127.0.0.1"},
    {"x-forwarded-user": "owner"},
    {"x-remote-user": "owner"},
    {"forwarded": "for=127.0.0.1;host=localhost"},
    {"x-original-url": "/health"},
    {"x-rewrite-url": "/health"},
    {"x-http-method-override": "OPTIONS"},
]


@pytest.mark.parametrize("headers", GUESSES, ids=str)
def test_a_guess_is_not_the_token(mine, headers):
    name = mine.signed_in().partition("=")[0]
    fields = {"token": mine.token, "half": mine.token[:-1], "name": name}
    filled = {key: value.format(**fields) for key, value in headers.items()}
    assert get(mine.port, "/api/me", **filled).status == 401


@pytest.mark.parametrize("code", ["", "x", "{half}", "{code}x", "{token}", "%00", "{code}&token=x", "x&token={code}x"])
def test_a_guess_is_not_the_link(mine, code):
    right = mine.link.at("").partition("=")[2]
    path = "/login?token=" + code.format(half=right[:-1], code=right, token=mine.token)
    answer = get(mine.port, path)
    assert "set-cookie" not in answer.headers
    assert answer.status == 200
    mine.signed_in()  # nothing was used up


def test_the_token_lets_programs_in_everywhere(mine):
    bearer = {"authorization": f"Bearer {mine.token}"}
    assert json.loads(get(mine.port, "/api/me", **bearer).body) == {"name": "", "role": "admin", "local": True}
    assert get(mine.port, "/v1/models", **bearer).status == 200
    assert get(mine.port, "/v1/models", x_api_key=mine.token).status == 200
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accepts = {"accept": "application/json, text/event-stream"}
    assert get(mine.port, "/mcp/rivers", "POST", json.dumps(hello).encode(), **bearer, **accepts).status != 401
    assert get(mine.port, "/api/runs/none/events", **bearer).status == 404


def test_the_link_signs_one_browser_in_and_no_other(mine):
    path = mine.link.at("")
    head = get(mine.port, path, "HEAD")  # a look at it is no use of it
    assert "set-cookie" not in head.headers
    cookie = mine.signed_in()
    again = get(mine.port, path)
    assert ("set-cookie" in again.headers, again.status) == (False, 200)
    assert get(mine.port, "/api/me", cookie=cookie).status == 200
    assert get(mine.port, "/", cookie=cookie, accept="text/html").status == 200


def test_the_cookie_is_for_this_server_and_no_script_or_other_site_has_it(mine):
    answer = get(mine.port, mine.link.at(""))
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name.startswith(f"{COOKIE}_")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {each.strip() for each in rest.split(";")}
    assert mine.token not in answer.headers["set-cookie"]


@needs_browser
def test_in_a_browser_the_link_opens_the_workbench_once_and_the_token_signs_another_in(mine):
    async def look():
        link = mine.link.at(mine.url)
        async with Browser() as first:
            page = await first.open(link)
            await page.wait_for("location.pathname === '/' && document.title.startsWith('New conversation')")
            assert (await page.evaluate("fetch('/api/me').then((answer) => answer.json())"))["local"] is True
            assert await page.evaluate("document.cookie") == ""
            page.check()
        async with Browser() as second:
            page = await second.open(link)
            await page.wait_for("document.querySelector('#said').innerText.startsWith('This link was used already')")
            assert "server.token" in await page.text("#hint")
            await page.click("#token")
            await page.write(mine.token)
            await page.click("#enter")
            await page.wait_for("location.pathname === '/' && document.title.startsWith('New conversation')")

    asyncio.run(look())


FOREIGN = [
    {},  # neither Origin nor Sec-Fetch-Site
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1"},
    {"origin": "http://127.0.0.1:{port}.evil.example"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "http://localhost:{port}"},
    {"origin": "https://friend.example"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:{port}"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_no_other_page_uses_a_browsers_session(mine, headers):
    cookie = mine.signed_in()
    said = {key: value.format(port=mine.port) for key, value in headers.items()}
    answer = get(mine.port, "/api/runs", "POST", b"{}", cookie=cookie, **said)
    assert answer.status in (401, 403), answer


@pytest.mark.parametrize(
    "named", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0", "127.1", "[::ffff:127.0.0.1]", ""]
)
def test_no_other_name_leads_here(mine, named):
    """DNS rebinding: a page of another name that leads to this address is of the same origin as itself."""
    answer = get(mine.port, "/api/me", host=named, cookie=mine.signed_in(), authorization=f"Bearer {mine.token}")
    assert answer.status == 400


def test_one_servers_cookie_is_not_anothers(mine, tmp_path):
    other = OwnerAccess(tmp_path / "other")
    other.open()
    with Serving(tmp_path / "b", lent=host(tmp_path / "b"), owner=other) as second:
        cookie = mine.signed_in()
        assert get(second.port, "/api/me", cookie=cookie).status == 401
        renamed = f"{COOKIE}={cookie.partition('=')[2]}"
        assert get(second.port, "/api/me", cookie=renamed).status == 401
        assert get(second.port, "/api/me", authorization=f"Bearer {mine.token}").status == 401


# the file


def test_the_token_is_for_its_owner_alone_and_lasts(tmp_path):
    first = OwnerAccess(tmp_path / "home")
    first.open()
    assert stat.S_IMODE((tmp_path / "home" / TOKEN_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home" / SESSIONS_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    session = first.begin_session("")
    second = OwnerAccess(tmp_path / "home")
    second.open()
    assert second.token == first.token
    assert second.person_of_session(session) is not None
    (tmp_path / "home" / TOKEN_FILE).unlink()
    third = OwnerAccess(tmp_path / "home")
    third.open()
    assert third.token != first.token
    assert (third.person_of(first.token), third.person_of_session(session)) == (None, None)
    assert not list((tmp_path / "home").glob("*.part"))


def spoil_mode(path: Path) -> None:
    path.chmod(0o644)


def spoil_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def spoil_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def spoil_empty(path: Path) -> None:
    path.write_text("")


def spoil_short(path: Path) -> None:
    path.write_text("treadle_owner_x")


def spoil_folder(path: Path) -> None:
    path.unlink()
    path.mkdir(0o700)


@pytest.mark.parametrize("spoil", [spoil_mode, spoil_link, spoil_pipe, spoil_empty, spoil_short, spoil_folder])
def test_a_token_that_others_may_have_written_or_read_is_not_used(tmp_path, spoil):
    OwnerAccess(tmp_path).open()
    spoil(tmp_path / TOKEN_FILE)
    with pytest.raises((SettingsError, OSError)):
        OwnerAccess(tmp_path).open()


LOOK = """cat "$1" 2>/dev/null || echo "no file"
exec 3<>"/dev/tcp/127.0.0.1/$2"
printf 'GET /api/me HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n' >&3
head -n 1 <&3"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("bash") is None, reason="only root can be somebody else for a moment")
def test_another_account_of_the_machine_gets_nothing(mine, tmp_path):
    """Neither the file nor the port gives anything to whom a shared machine has besides."""
    (tmp_path / "data").chmod(0o755)  # be it that the home itself is open
    nobody = pwd.getpwnam("nobody")
    words = ["bash", "-c", LOOK, "bash", str(tmp_path / "data" / TOKEN_FILE), str(mine.port)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
    )
    assert done.stdout.splitlines() == ["no file", "HTTP/1.1 401 Unauthorized"], done.stderr


# how long a request is, said twice

TWICE = [
    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
    b"content-length: 0\r\ntransfer-encoding: chunked\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    b"Transfer-Encoding: Chunked\r\nContent-Length: 5\r\n",
    b"Transfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\n",
    b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
    b"Transfer-Encoding:\tchunked\r\nContent-Length: 5\r\n",
    b"Transfer-Encoding : chunked\r\nContent-Length: 5\r\n",
    b"Content-Length: 2\r\nContent-Length: 3\r\n",
    b"Content-Length: +2\r\n",
    b"Content-Length: 2,3\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 0x2\r\n",
]


@pytest.mark.parametrize("lengths", TWICE, ids=str)
@pytest.mark.parametrize("path", ["/api/runs", "/login", "/v1/chat/completions"])
def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read(mine, lengths, path):
    named = f"Host: 127.0.0.1:{mine.port}\r\nAuthorization: Bearer {mine.token}\r\nContent-Type: application/json\r\n".encode()
    hidden = b"GET /api/me HTTP/1.1\r\n" + named + b"\r\n"
    body = b"2\r\n{}\r\n0\r\n\r\n" + hidden
    answer = ask(mine.port, f"POST {path} HTTP/1.1\r\n".encode() + named + lengths + b"\r\n" + body)
    assert answer.status in (400, 501), answer
    assert b'"role"' not in answer.body  # what was hidden in the body wasn't answered
    assert b"HTTP/1.1 2" not in answer.body


def test_chunks_in_http_1_0_are_refused(mine):
    request = f"POST /login HTTP/1.0\r\nHost: 127.0.0.1:{mine.port}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert ask(mine.port, request.encode()).status == 400


# redirects after signing in

REDIRECTS = [
    "/..//evil.example",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "https:evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "/%2e%2e//evil.example",
    "/.//evil.example",
    "/a/../..//evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "http://127.0.0.1@evil.example/",
    "//evil.example\\@127.0.0.1",
    "///evil.example",
    "/..\\\\evil.example",
    "ftp://evil.example",
    "//%65vil.example",
]
LEADS = """import('/static/login-redirect.js').then(({{ redirectTarget }}) => {nexts}.map((next) =>
    new URL(redirectTarget('?next=' + encodeURIComponent(next), {{ origin: location.origin, pathname: '/login' }}), location.href)
    .origin === location.origin))"""


@needs_browser
def test_signing_in_leads_nowhere_else(tmp_path):
    async def look():
        with Serving(tmp_path) as server:
            async with Browser() as browser:
                page = await browser.open(f"{server.url}/static/treadle.svg")
                return await page.evaluate(LEADS.format(nexts=json.dumps(REDIRECTS)))

    assert asyncio.run(look()) == [True] * len(REDIRECTS)


@pytest.mark.parametrize(
    "path", ["/..//evil.example", "//evil.example", "/%2f%2fevil.example", "/\\evil.example", "/a//evil.example"]
)
def test_whoever_is_sent_to_sign_in_comes_back_here(mine, path):
    answer = get(mine.port, path, accept="text/html")
    if answer.status == 303:
        assert answer.headers["location"] in ("/login?next=%2F", "/login?next=%2F%252F%252Fevil.example")
    else:
        assert answer.status == 400


# behind a proxy, and for pages elsewhere


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("unknown", ""),
        ("_hidden", ""),
        ("", ""),
        ("localhost", ""),
        ("127.0.0.1\x00", ""),
        ("for=192.0.2.1", ""),
        ("192.0.2.1 evil", ""),
        ("999.1.1.1", ""),
    ],
)
def test_what_a_proxy_says_is_an_address_or_nothing(said, address):
    assert parse_forwarded_address(said) == address


SPOOFED = [
    ["198.51.100.{}, 192.0.2.1"],
    ["198.51.100.{}", "192.0.2.1"],
    ["198.51.100.{},192.0.2.1:{}"],
    ["198.51.100.{}, unknown, 192.0.2.1"],
]


@pytest.mark.parametrize("values", SPOOFED, ids=str)
def test_whoever_guesses_tokens_cannot_pretend_to_be_many(tmp_path, values):
    """The proxy adds the last address; what stands before it anybody can write."""
    users = Users(tmp_path / "data" / "users.db")
    users.add("anna")
    with Serving(tmp_path, lent=host(tmp_path), users=users, behind_proxy=True) as server:
        seen = []
        for number in range(11):
            lines = "".join([f"x-forwarded-for: {value.format(number, 4000 + number)}\r\n" for value in values])
            more = f"forwarded: for=203.0.113.{number}\r\nx-real-ip: 203.0.113.{number}\r\n"
            body = b'{"token": "treadle_anna_wrong"}'
            head = (
                f"POST /login HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nconnection: close\r\ncontent-type: application/json\r\n"
            )
            request = f"{head}{lines}{more}content-length: {len(body)}\r\n\r\n".encode() + body
            seen.append(ask(server.port, request).status)
    assert seen == [401] * 10 + [429]


def test_without_a_proxy_nobody_believes_its_headers(tmp_path):
    users = Users(tmp_path / "data" / "users.db")
    users.add("anna")
    with Serving(tmp_path, lent=host(tmp_path), users=users) as server:
        body = b'{"token": "treadle_anna_wrong"}'
        tried = [get(server.port, "/login", "POST", body, x_forwarded_for=f"192.0.2.{at}").status for at in range(11)]
    assert tried == [401] * 10 + [429]


ORIGINS = [
    "null",
    "https://friend.example.evil.org",
    "https://evilfriend.example",
    "http://friend.example",
    "https://friend.example:444",
    "https://friend.example@evil.org",
    "https://friend.example/",
    "https://friend.example.",
    "https://FRIEND.example.evil",
    "https://friend%2eexample",
    "*",
    "file://",
    "https://sub.friend.example",
    "https://friend.example, https://evil.org",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_no_other_origin_may_read_or_write(mine, origin):
    bearer = {"authorization": f"Bearer {mine.token}"}
    asked = get(mine.port, "/api/me", "OPTIONS", origin=origin, access_control_request_method="GET")
    read = get(mine.port, "/api/me", origin=origin, **bearer)
    wrote = get(mine.port, "/api/runs", "POST", b"{}", origin=origin, **bearer)
    for answer in (asked, read, wrote):
        assert "access-control-allow-origin" not in answer.headers
        assert "access-control-allow-credentials" not in answer.headers
    assert wrote.status == 403


def test_a_named_origin_needs_the_token_and_never_has_the_session(mine):
    origin = {"origin": "https://friend.example"}
    assert get(mine.port, "/api/me", cookie=mine.signed_in(), **origin).status == 401
    answer = get(mine.port, "/api/me", authorization=f"Bearer {mine.token}", **origin)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://friend.example")
    assert "access-control-allow-credentials" not in answer.headers


# what a run shows

SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 3 + "-aB3dE6gH9AA",
    "password=hunter2-and-more",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "postgresql://anna:s3cretpass@db.example/x",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:12])
def test_a_run_shows_no_secret_in_anybodys_words(tmp_path, secret):
    value = secret.rpartition("=")[2].rpartition(" ")[2].rpartition("//anna:")[2].partition("@")[0]
    origin = {"face": "server", "assistant": "rivers", "model": "", "instructions": ""}
    entries = [
        Opened(agent="rivers", origin=origin, at=1.0, history=(Message("person", (Text(f"Before: {secret}"),)),)),
        Said(text=f"Use {secret} for it.", at=2.0),
        Replied(parts=(Text(f"I use {secret}."), Written("c1", "look", json.dumps({"words": secret}))), at=3.0),
        Judged(call=Call("c1", "look", {"words": secret}), verdict=Allow(), at=4.0),
        Returned(result=Result("c1", "look", f"It was {secret}."), seconds=0.1, at=5.0),
        Replied(parts=(Text("Done."),), at=6.0),
        Finished(stopped="answered", text="Done.", at=7.0),
    ]

    async def write():
        home = open_home(tmp_path / "data")
        await home.journal.append("run-1", 0, entries)
        close_home(home)

    asyncio.run(write())
    with Serving(tmp_path, [assistant("rivers")], lent=host(tmp_path)) as server:
        shown = get(server.port, "/api/runs/run-1")
        events = get(server.port, "/api/runs/run-1/events")
        listed = get(server.port, "/api/runs")
    assert (shown.status, events.status, listed.status) == (200, 200, 200)
    assert value.encode() not in shown.body
    assert value.encode() not in listed.body
    assert b"[redacted:" in shown.body
    assert b'"position":7' in shown.body
    said = [line for line in events.body.split(b"\n") if b'"event":"said"' in line]
    assert said
    assert value.encode() not in b"".join(said)
