"""What a server may answer, and what the model is told of it: never a traceback, never the token."""

import asyncio

import pytest

from http_guard.conftest import http, loopback
from treadle import ToolProblem
from treadle.assistants.platform.client import (
    PlatformClient,
    PlatformForbidden,
    PlatformNotFound,
    PlatformPathUnknown,
    PlatformUnauthenticated,
    expand_path,
)

TOKEN = "f" * 64
PAGE = b"<!DOCTYPE html><html><body>Welcome</body></html>"


def asked(answer, method="get", *more, token=TOKEN, timeout=5.0, limit=None):
    """What becomes of one request that is answered so."""

    async def tale():
        async with loopback(x=answer) as server:
            platform = PlatformClient(server.origin, token, timeout=timeout)
            async with platform:
                try:
                    return await getattr(platform, method)("/x", *more), server
                except ToolProblem as problem:
                    return problem, server

    return asyncio.run(tale())


def test_the_token_goes_with_every_request_and_json_is_asked_for():
    value, server = asked(http(b'{"a": [1]}', content_type="application/json"), "get", {"app": "a b&c"})
    head = server.heads[0].lower()
    assert value == {"a": [1]}
    assert f"authorization: bearer {TOKEN}\r\n" in head
    assert "accept: application/json\r\n" in head
    assert server.paths == ["/x?app=a+b%26c"] or server.paths == ["/x?app=a%20b%26c"]


def test_a_write_carries_its_key():
    _, server = asked(http(b"{}"), "post", "a: 1", "application/yaml", "run:call")
    assert "idempotency-key: run:call\r\n" in server.heads[0].lower()
    assert "content-type: application/yaml\r\n" in server.heads[0].lower()
    assert server.bodies == [b"a: 1"]


def test_nothing_is_an_answer():
    assert asked(http(status="204 No Content"))[0] is None


async def silence(writer):
    writer.close()


async def too_much(writer):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[")
    for _ in range(100):
        writer.write(b" " * 1_000_000)
        await writer.drain()


async def drip(writer):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            http(PAGE, content_type="text/html"),
            PlatformPathUnknown,
            "This platform has nothing at /x: it answered with a web page.",
        ),
        (http(PAGE), PlatformPathUnknown, "it answered with a web page"),
        (http(b"nonsense"), ToolProblem, "is no JSON. It begins with: nonsense"),
        (http(status="303 See Other", location="/login"), PlatformUnauthenticated, "doesn't accept the person's token"),
        (http(status="302 Found", location="http://example.org/"), ToolProblem, "sends this request elsewhere"),
        (http(b"Unauthorized", "401 Unauthorized"), PlatformUnauthenticated, "it is wrong, or has expired"),
        (
            http(b"Access denied\n", "403 Forbidden"),
            PlatformForbidden,
            "The platform refused: Access denied. That belongs to another team",
        ),
        (http(b"Application not found", "404 Not Found"), PlatformNotFound, "The platform says: Application not found."),
        (http(b"", "404 Not Found"), PlatformPathUnknown, "This platform has nothing at /x."),
        (http(b"", "405 Method Not Allowed"), PlatformPathUnknown, "This platform has nothing at /x."),
        (http(b"name is missing", "400 Bad Request"), ToolProblem, "The platform refused (400): name is missing."),
        (http(b"slow down", "429 Too Many Requests"), ToolProblem, "too many requests"),
        (http(PAGE, "502 Bad Gateway"), ToolProblem, "The platform failed (502): it answered with a web page. Tell the person."),
        (http(b"", "500 Internal Server Error"), ToolProblem, "The platform failed (500): it said nothing."),
        (
            http(b'{"message": "Deployment failed", "errors": ["step 2", "no image"], "failed_workflows": ["deploy"]}', "500 Oh"),
            ToolProblem,
            "The platform failed (500): Deployment failed; errors: step 2, no image; failed workflows: deploy.",
        ),
        (http(b'{"odd": 1}', "500 Oh"), ToolProblem, '{"odd": 1}'),
        (silence, ToolProblem, "closed the connection without an answer"),
        (too_much, ToolProblem, "too large"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", ToolProblem, "isn't HTTP"),
    ],
)
def test_whatever_comes_back_is_put_into_words(answer, kind, said):
    problem, _ = asked(answer)
    assert isinstance(problem, kind)
    assert said in str(problem)


def test_an_answer_that_never_ends_is_given_up():
    problem, _ = asked(drip, timeout=0.5)
    assert "within 0.5 seconds" in str(problem)


def test_a_platform_that_isnt_there_is_said_so():
    async def tale():
        async with loopback() as server:
            gone = server.origin
        async with PlatformClient(gone, TOKEN) as platform:
            with pytest.raises(ToolProblem, match="can't be reached: the connection is refused"):
                await platform.get("/x")

    asyncio.run(tale())


def test_a_token_that_the_platform_repeats_is_masked():
    for answer in (http(f'{{"key": "{TOKEN}"}}'.encode()), http(f"bad key {TOKEN}".encode(), "400 Bad Request")):
        told, _ = asked(answer)
        assert TOKEN not in str(told)
        assert "[the person's token]" in str(told)


def test_without_a_token_nobody_is_signed_in():
    problem, server = asked(http(b"Unauthorized", "401 Unauthorized"), token="")
    assert str(problem).startswith("No user is signed in")
    assert "authorization" not in server.heads[0].lower()


def test_a_name_is_escaped_whatever_is_in_it():
    assert expand_path("/api/applications/{}", "a/b?c#d é..") == "/api/applications/a%2Fb%3Fc%23d%20%C3%A9.."


def test_two_people_are_told_apart_without_telling_their_tokens():
    one, other = PlatformClient("http://p", "a" * 64), PlatformClient("http://p", "b" * 64)
    assert one.mark != other.mark
    assert "a" * 64 not in f"{one!r}{one.mark}"
