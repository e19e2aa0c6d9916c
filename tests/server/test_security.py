import asyncio
import json
from io import BytesIO

import aiohttp
import pytest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from server.running import Serving, assistant
from server.test_app import ask, raw
from treadle.models.scripted import Scripted
from treadle.routes import post, routes_of
from treadle.server.security import DEFAULT_BODY_LIMIT, SecurityMiddleware


async def size(request):
    return JSONResponse({"size": len(await request.body())})


@post("/api/large", most=900 * DEFAULT_BODY_LIMIT)
async def large(body: str) -> dict[str, int]:
    """How large the body is."""
    return {"size": len(body)}


async def strict(request):
    return PlainTextResponse("strict", headers={"content-security-policy": "sandbox", "x-frame-options": "SAMEORIGIN"})


RIVERS = assistant(
    "rivers",
    routes=lambda lent: [
        Route("/api/size", size, methods=["POST", "PUT", "DELETE"]),
        *routes_of(large),
        Route("/form", size, methods=["POST"]),
        Route("/strict", strict),
    ],
)
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("home"), [RIVERS], body_limit=1000) as running:
        yield running


@pytest.mark.parametrize("path", ["/", "/health", "/api/nothing", "/nothing", "/static/treadle.css"])
def test_every_answer_tells_browsers_what_they_may_do(server, path):
    headers = ask(server, path)[1]
    policy = headers["content-security-policy"].split("; ")
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "server" not in headers


def test_an_assistant_may_be_stricter_but_not_laxer(server):
    headers = ask(server, "/strict")[1]
    assert headers.getall("content-security-policy")[0] == "sandbox"
    assert "default-src 'self'" in headers.getall("content-security-policy")[1]
    assert headers.getall("x-frame-options") == ["DENY"]


# by which name


@pytest.mark.parametrize("host", ["localhost", "LocalHost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "localhost:9999"])
def test_it_answers_to_the_names_of_this_machine(server, host):
    assert ask(server, "/health", headers={"host": host.format(port=server.port)})[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]"]
)
def test_a_name_that_was_led_here_by_somebody_else_is_refused(server, host):
    status, headers, body = ask(server, "/api/assistants", headers={"host": host.format(port=server.port)})
    assert (status, json.loads(body)["success"]) == (400, False)
    assert "use the address that it printed" in json.loads(body)["error"]
    assert "content-security-policy" in headers


def test_a_request_without_a_name_is_refused(server):
    answer = asyncio.run(raw(server.port, "GET /api/assistants HTTP/1.0\r\n\r\n"))
    assert answer.startswith("HTTP/1.1 400 ")
    assert "This server isn't called nothing" in answer


# from which page


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "http://localhost.evil.example:{port}",
        "file://",
        "ftp://127.0.0.1:{port}",
        "",
    ],
)
def test_a_foreign_page_cannot_change_anything(server, method, origin):
    status, _, body = ask(server, "/api/size", method, json={}, headers={"origin": origin.format(port=server.port)})
    assert (status, json.loads(body)["success"]) == (403, False)


def test_our_own_pages_and_programs_can(server):
    assert ask(server, "/api/size", "POST", json={}, headers={"origin": server.url})[0] == 200
    assert ask(server, "/api/size", "POST", json={})[0] == 200


def test_a_foreign_page_may_not_be_told_that_it_could(server):
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    status, headers, _ = ask(server, "/api/size", "OPTIONS", headers=asked)
    assert status == 405
    assert [name for name in headers if name.lower().startswith("access-control-")] == []


# what is sent


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_only_json_is_taken_from_programs(server, kind):
    status, _, body = ask(server, "/api/size", "POST", data=b"{}", headers={"content-type": kind})
    assert (status, json.loads(body)["error"]) == (415, "Send JSON here, with the content type application/json.")


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/problem+json"])
def test_json_is_taken_however_it_is_named(server, kind):
    assert ask(server, "/api/size", "POST", data=b"{}", headers={"content-type": kind})[0] == 200


def test_a_request_without_a_body_needs_no_type_and_a_form_is_taken_elsewhere(server):
    assert ask(server, "/api/size", "DELETE")[2] == '{"size":0}'
    assert ask(server, "/form", "POST", data={"a": "b"})[2] == '{"size":3}'


def test_a_body_that_says_that_it_is_too_large_is_refused_unread(server):
    head = (
        "POST /api/size HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        "content-length: 1001",
        "connection: close",
        "",
        "",
    )
    answer = asyncio.run(raw(server.port, "\r\n".join(head)))
    assert answer.startswith("HTTP/1.1 413 ")
    assert "This is more than the 1,000 bytes that are taken at once." in answer


def test_a_body_is_counted_where_it_does_not_say_how_large_it_is(server):
    async def pieces(count):
        for _ in range(count):
            yield b"x" * 100

    async def sizes():
        async with aiohttp.ClientSession(server.url, headers=JSON) as session:
            async with session.post("/api/size", data=pieces(10)) as fits:
                assert await fits.json() == {"size": 1000}
            async with session.post("/api/size", data=pieces(11)) as large:
                assert large.status == 413
                assert (await large.json())["error"] == "This is more than the 1,000 bytes that are taken at once."

    asyncio.run(sizes())


def test_four_megabytes_are_taken_and_more_only_where_a_route_asks_for_it(tmp_path):
    async def status(session, path, size, *, chunked):
        body = b'"' + b"x" * size + b'"'

        async def pieces():
            for at in range(0, len(body), 65536):
                yield body[at : at + 65536]

        async with session.post(path, data=pieces() if chunked else BytesIO(body), headers=JSON) as answer:
            return answer.status

    async def statuses(server):
        async with aiohttp.ClientSession(server.url) as session:
            return {
                (path, size): [await status(session, path, size, chunked=chunked) for chunked in (False, True)]
                for path in ("/api/size", "/api/large", "/api/runs", "/v1/chat/completions", "/v1/messages", "/form", "/mcp")
                for size in (DEFAULT_BODY_LIMIT - 2, DEFAULT_BODY_LIMIT - 1)
            }

    with Serving(tmp_path, [RIVERS], Scripted(), body_limit=DEFAULT_BODY_LIMIT + 10) as server:
        told = asyncio.run(statuses(server))
    fits = {path: told[path, DEFAULT_BODY_LIMIT - 2] for path, _ in told}
    assert fits["/api/size"] == fits["/api/large"] == fits["/form"] == [200, 200]
    assert all(413 not in each for each in fits.values())
    assert {path for path, size in told if size == DEFAULT_BODY_LIMIT - 1 and told[path, size] == [413, 413]} == set(fits) - {
        "/api/large"
    }
    assert told["/api/large", DEFAULT_BODY_LIMIT - 1] == [200, 200]


def test_a_route_may_not_ask_for_more_than_is_taken_anywhere(tmp_path):
    with Serving(tmp_path, [RIVERS], body_limit=DEFAULT_BODY_LIMIT + 10) as server:
        status, _, body = ask(
            server, "/api/large", "POST", data=BytesIO(b'"' + b"x" * (DEFAULT_BODY_LIMIT + 9) + b'"'), headers=JSON
        )
    assert (status, json.loads(body)["error"]) == (413, "This is more than the 4,194,314 bytes that are taken at once.")


def test_a_websocket_is_let_in_by_the_same_rules():
    async def told(**headers):
        said = []

        async def inside(scope, receive, send):
            said.append("inside")

        async def send(message):
            said.append(message["type"])

        scope = {"type": "websocket", "path": "/live", "headers": [(k.encode(), v.encode()) for k, v in headers.items()]}
        await SecurityMiddleware(inside, hosts=["localhost"], body_limit=10)(scope, None, send)
        return said

    assert asyncio.run(told(host="localhost:1", origin="http://localhost:1")) == ["inside"]
    assert asyncio.run(told(host="localhost:1", origin="http://evil.example")) == ["websocket.close"]
    assert asyncio.run(told(host="evil.example")) == ["websocket.close"]
