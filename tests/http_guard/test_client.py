"""Requests of tools go where they may and nowhere else, and whatever comes back is an answer or a problem."""

import asyncio
import gzip
import ssl
import subprocess
import sys
import zlib

import pytest

from treadle import web
from treadle.core.errors import SettingsError, ToolProblem

PATIENCE = 120


def run(work):
    async def bounded():
        async with asyncio.timeout(PATIENCE):
            return await work()

    return asyncio.run(bounded())


async def problem_of(sending):
    with pytest.raises(web.HttpProblem) as caught:
        await sending
    return caught.value


# what comes back


def test_an_answer_has_status_headers_and_body(serving, answering):
    async def work():
        body = "grüße".encode("latin-1")
        async with serving(hello=answering(body, "418 Teapot", Content_Type="Text/Plain; charset=latin-1", X_a="1")) as server:
            client = web.Client([server.origin], private=True)
            answer = await client.send("GET", f"{server.origin}/hello", query=[("q", "a b")])
            return server, answer

    server, answer = run(work)
    assert (answer.status, answer.kind, answer.text, answer.body) == (418, "text/plain", "grüße", "grüße".encode("latin-1"))
    assert answer.headers["x-a"] == "1"
    assert answer.url == f"{server.origin}/hello?q=a%20b"
    assert server.paths == ["/hello?q=a%20b"]
    assert "grüße" not in repr(answer)


@pytest.mark.parametrize("kind", ["text/plain; charset=nonsense", "text/plain; charset=hex", "text/plain", ""])
def test_text_is_read_as_utf8_where_no_encoding_that_is_known_is_named(kind):
    answer = web.GuardedResponse(200, {"content-type": kind}, b"\xef\xbb\xbfgr\xc3\xbc\xc3\x9fe \xff", "")
    assert answer.text == "grüße �"


def test_headers_and_body_are_sent_as_they_are(serving, answering):
    async def work():
        async with serving(a=answering()) as server:
            client = web.Client([server.origin], private=True)
            await client.send("POST", f"{server.origin}/a", headers={"X-Key": "k", "Content-Type": "text/x"}, body=b"\x00\xff")
            await client.send("POST", f"{server.origin}/a", body=b"plain")
            return server

    server = run(work)
    assert server.bodies == [b"\x00\xff", b"plain"]
    assert "X-Key: k\r\n" in server.heads[0]
    assert "Content-Type: text/x\r\n" in server.heads[0]
    assert "content-type" not in server.heads[1].lower()
    assert "user-agent: treadle/" in server.heads[0].lower()


def test_headers_that_come_twice_are_joined_and_cookies_are_not_kept(serving):
    async def work():
        several = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: s=1\r\ncontent-length: 0\r\n\r\n"
        async with serving(a=several) as server, web.Client([server.origin], private=True) as client:
            answer = await client.send("GET", f"{server.origin}/a")
            await client.send("GET", f"{server.origin}/a")
            return server, answer

    server, answer = run(work)
    assert answer.headers["x-a"] == "1, 2"
    assert "cookie" not in server.heads[1].lower()


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_compressed_body_is_read(serving, answering, pack):
    async def work():
        coding = "gzip" if pack is gzip.compress else "deflate"
        async with serving(a=answering(pack(b"hello" * 100), Content_Encoding=coding)) as server:
            return await web.Client([server.origin], private=True).send("GET", f"{server.origin}/a")

    assert run(work).body == b"hello" * 100


# where it goes


def test_connections_are_kept_while_the_client_is_entered_and_closed_after_that(serving, answering):
    async def work():
        async with serving(a=answering(b"1")) as server:
            client = web.Client([server.origin], private=True)
            async with client, client:
                await client.send("GET", f"{server.origin}/a")
                await client.send("GET", f"{server.origin}/a")
            kept = server.connections
            await client.send("GET", f"{server.origin}/a")
            await client.send("GET", f"{server.origin}/a")
            return kept, server.connections

    assert run(work) == (1, 3)


def test_a_client_serves_one_event_loop_after_the_other(serving, answering):
    async def first():
        async with serving(a=answering(b"1")) as server:
            client = web.Client([server.origin], private=True)
            await client.send("GET", f"{server.origin}/a")
            return client

    client = run(first)
    assert (
        run(lambda: problem_of(client.send("GET", f"{client.origins[0]}/a"))).kind == "no_answer"
    )  # the server went with its loop


def test_only_named_origins_are_asked(serving, answering):
    async def work():
        async with serving(a=answering()) as server, serving(a=answering()) as other:
            client = web.Client([server.origin], private=True)
            for url in (other.origin, f"http://localhost:{server.port}", server.origin.replace("http", "https")):
                problem = await problem_of(client.send("GET", f"{url}/a?key=geheim"))
                assert (type(problem), problem.kind) == (web.TargetNotAllowed, "not_allowed")
                assert server.origin in str(problem)
                assert "geheim" not in str(problem)
            assert "none" in str(await problem_of(web.Client([]).send("GET", other.origin)))
            return server.heads + other.heads

    assert run(work) == []


NEAR = [
    "http://127.0.0.1:{port}",
    "http://[::1]:{port}",
    "http://[::ffff:127.0.0.1]:{port}",
    "http://10.0.0.1",
    "http://0.0.0.0:{port}",
]


@pytest.mark.parametrize("origin", [*NEAR, "http://169.254.169.254", "http://[fd00::1]", "http://[64:ff9b::7f00:1]:{port}"])
def test_addresses_that_are_not_public_are_not_asked(serving, answering, origin):
    async def work():
        async with serving(a=answering()) as server:
            at = origin.format(port=server.port)
            problem = await problem_of(web.Client([at]).send("GET", f"{at}/a"))
            return problem, server.connections

    problem, connections = run(work)
    assert isinstance(problem, web.TargetNotAllowed)
    assert "address" in str(problem)
    assert connections == 0


@pytest.mark.parametrize(
    "origin",
    [
        "http://169.254.169.254",
        "http://0.0.0.0",
        "http://[fe80::1]",
        "http://224.0.0.1",
        "http://[2002:7f00:1::]",
        "http://[fd00:ec2::254]",
        "http://[fd00:0ec2:0:0:0:0:0:0254]",
        "http://100.100.100.200",
        "http://[::ffff:100.100.100.200]",
        "http://[64:ff9b::6464:64c8]",
    ],
)
def test_private_lets_nothing_through_but_private_shared_and_loopback_addresses(origin):
    problem = run(lambda: problem_of(web.Client([origin], private=True).send("GET", origin)))
    assert isinstance(problem, web.TargetNotAllowed)


def test_a_name_that_leads_to_loopback_is_not_asked(serving, answering):
    async def work():
        async with serving(a=answering()) as server:
            origin = f"http://localhost:{server.port}"
            problem = await problem_of(web.Client([origin]).send("GET", f"{origin}/a"))
            answer = await web.Client([origin], private=True).send("GET", f"{origin}/a")
            return problem, answer.status, server.connections

    problem, status, connections = run(work)
    assert "loopback" in str(problem)
    assert (status, connections) == (200, 1)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"], ["127.1"], ["::1%lo"]])
def test_one_bad_address_spoils_a_host(serving, answering, addresses):
    async def work():
        async def lookup(host, port):
            return addresses

        async with serving(a=answering()) as server:
            origin = f"http://api.example:{server.port}"
            problem = await problem_of(web.Client([origin], lookup=lookup).send("GET", f"{origin}/a"))
            return problem, server.connections

    problem, connections = run(work)
    assert isinstance(problem, web.TargetNotAllowed)
    assert connections == 0


def test_a_name_is_looked_up_once_and_the_connection_goes_where_that_led(serving, answering):
    async def work():
        asked = []

        async def lookup(host, port):
            asked.append(host)
            return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

        async with serving(a=answering()) as server:
            origin = f"http://api.example:{server.port}"
            async with web.Client([origin], private=True, lookup=lookup) as client:
                first = await client.send("GET", f"{origin}/a")
            later = await problem_of(client.send("GET", f"{origin}/a"))
            return asked, first.status, later, server.heads

    asked, status, later, heads = run(work)
    assert (len(asked), status, later.kind) == (2, 200, "not_allowed")
    assert len(heads) == 1
    assert "Host: api.example:" in heads[0]


@pytest.mark.parametrize("error", [OSError("no such host"), UnicodeError("label too long")])
def test_a_host_that_nobody_knows_is_a_problem(error):
    async def lookup(host, port):
        raise error

    problem = run(lambda: problem_of(web.Client(["http://api.example"], lookup=lookup).send("GET", "http://api.example/")))
    assert (type(problem), problem.kind) == (web.HostNotResolved, "not_resolved")


def test_a_host_without_addresses_is_a_problem():
    async def lookup(host, port):
        return []

    problem = run(lambda: problem_of(web.Client(["http://api.example"], lookup=lookup).send("GET", "http://api.example/")))
    assert problem.kind == "not_resolved"


def test_a_name_too_long_for_the_system_is_a_problem():
    host = "http://" + "a" * 300
    assert run(lambda: problem_of(web.Client([host]).send("GET", host))).kind == "not_resolved"


def test_proxies_of_the_environment_are_not_used(serving, answering, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")

    async def work():
        async with serving(a=answering()) as server:
            return await web.Client([server.origin], private=True).send("GET", f"{server.origin}/a")

    assert run(work).status == 200


# redirects


def test_reads_are_redirected_within_the_origin(serving, answering):
    async def work():
        async with serving(a=answering(status="302 Found", Location="b?x=1"), b=answering(b"here")) as server:
            client = web.Client([server.origin], private=True)
            answer = await client.send("GET", f"{server.origin}/a", headers={"X-Key": "k"})
            return server, answer

    server, answer = run(work)
    assert (answer.status, answer.body, answer.url) == (200, b"here", f"{server.origin}/b?x=1")
    assert "X-Key: k" in server.heads[1]


def test_no_redirect_leads_elsewhere(serving, answering):
    async def work():
        async with serving(a=answering(b"secret")) as other:
            leading = [
                other.origin + "/a",
                f"http://localhost:{other.port}/a",
                "http://169.254.169.254/",
                "file:///etc/passwd",
                "http://[",
            ]
            answers = {f"r{at}": answering(status="302 Found", Location=to) for at, to in enumerate(leading)}
            async with serving(**answers) as server:
                client = web.Client([server.origin, other.origin], private=True)
                found = [await client.send("GET", f"{server.origin}/{name}") for name in answers]
                return [answer.status for answer in found], other.connections

    assert run(work) == ([302] * 5, 0)


def test_a_write_is_not_redirected(serving, answering):
    async def work():
        async with serving(a=answering(status="307 Temporary Redirect", Location="/b"), b=answering()) as server:
            answer = await web.Client([server.origin], private=True).send("POST", f"{server.origin}/a", body=b"x")
            return answer.status, answer.headers["location"], server.paths

    assert run(work) == (307, "/b", ["/a"])


def test_redirects_without_end_are_a_problem(serving, answering):
    async def work():
        async with serving(a=answering(status="302 Found", Location="/a")) as server:
            problem = await problem_of(web.Client([server.origin], private=True).send("GET", f"{server.origin}/a"))
            return problem, len(server.heads)

    problem, asked = run(work)
    assert (problem.kind, asked) == ("no_answer", 6)


def test_a_redirect_that_does_not_say_where_to_is_an_answer(serving, answering):
    async def work():
        async with serving(a=answering(status="302 Found")) as server:
            return (await web.Client([server.origin], private=True).send("GET", f"{server.origin}/a")).status

    assert run(work) == 302


# bounds


def test_an_answer_that_announces_too_much_is_refused_at_once(serving):
    async def work():
        async def announce(writer):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n")
            await writer.drain()

        async with serving(a=announce) as server:
            return await problem_of(web.Client([server.origin], private=True).send("GET", f"{server.origin}/a"))

    problem = run(work)
    assert (type(problem), problem.kind) == (web.ResponseTooLarge, "too_large")
    assert "100000000" in str(problem)


def test_an_answer_without_end_is_given_up_at_the_limit(serving):
    async def work():
        written = []

        async def pour(writer):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x" * 65536)
                written.append(65536)
                await writer.drain()

        async with serving(a=pour) as server:
            problem = await problem_of(web.Client([server.origin], private=True, limit=100_000).send("GET", f"{server.origin}/a"))
            return problem, sum(written)

    problem, written = run(work)
    assert problem.kind == "too_large"
    assert written < 50_000_000


def test_a_body_is_bounded_once_it_is_decompressed(serving, answering):
    async def work():
        bomb = gzip.compress(bytes(50_000_000))
        async with serving(a=answering(bomb, Content_Encoding="gzip")) as server:
            return await problem_of(web.Client([server.origin], private=True, limit=1_000_000).send("GET", f"{server.origin}/a"))

    assert run(work).kind == "too_large"


def test_the_size_that_a_head_announces_is_not_its_own(serving):
    async def work():
        async with serving(a=b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n") as server:
            return await web.Client([server.origin], private=True).send("HEAD", f"{server.origin}/a")

    answer = run(work)
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(("method", "perhaps"), [("GET", False), ("POST", True)])
def test_a_slow_drip_is_given_up_when_the_time_is_over(serving, method, perhaps):
    async def work():
        async def drip(writer):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

        async with serving(a=drip) as server:
            return await problem_of(web.Client([server.origin], private=True, timeout=0.2).send(method, f"{server.origin}/a"))

    problem = run(work)
    assert (type(problem), problem.kind) == (web.RequestTimedOut, "timed_out")
    assert ("may or may not" in str(problem)) is perhaps


# what goes wrong


@pytest.mark.parametrize(("method", "perhaps"), [("GET", False), ("POST", True)])
def test_a_server_that_says_nothing_is_a_problem(serving, method, perhaps):
    async def work():
        async def nothing(writer):
            pass

        async with serving(a=nothing) as server:
            return await problem_of(web.Client([server.origin], private=True).send(method, f"{server.origin}/a?key=geheim"))

    problem = run(work)
    assert (type(problem), problem.kind) == (web.NoResponse, "no_answer")
    assert ("may or may not" in str(problem)) is perhaps
    assert "geheim" not in str(problem)


def test_a_body_that_breaks_off_is_a_problem(serving):
    async def work():
        async def half(writer):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
            await writer.drain()

        async with serving(a=half) as server:
            return await problem_of(web.Client([server.origin], private=True).send("GET", f"{server.origin}/a"))

    assert run(work).kind == "no_answer"


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n"])
def test_what_is_not_http_is_a_problem(serving, said):
    async def work():
        async def speak(writer):
            writer.write(said)
            await writer.drain()

        async with serving(a=speak) as server:
            return await problem_of(web.Client([server.origin], private=True).send("GET", f"{server.origin}/a"))

    assert run(work).kind == "no_http"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_body_that_is_not_packed_as_it_says_is_a_problem(serving, answering, coding):
    async def work():
        async with serving(a=answering(b"nothing packed", Content_Encoding=coding)) as server:
            return await problem_of(web.Client([server.origin], private=True).send("GET", f"{server.origin}/a"))

    assert run(work).kind in ("no_http", "no_answer")


def test_a_port_where_nobody_listens_is_a_problem(serving):
    async def work():
        async with serving() as server:
            origin = server.origin
        problem = await problem_of(web.Client([origin], private=True).send("POST", f"{origin}/a"))
        return origin, problem

    origin, problem = run(work)
    assert (problem.kind, str(problem)) == (
        "no_answer",
        f"{origin} can't be reached: the connection is refused. Nothing was sent; try again later.",
    )


def test_a_server_without_tls_is_a_problem():
    async def work():
        async def greet(reader, writer):
            writer.write(b"220 mail.example\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return await problem_of(web.Client([origin], private=True).send("GET", f"{origin}/a"))

    problem = run(work)
    assert (type(problem), problem.kind) == (web.NotSecure, "not_secure")


def test_a_certificate_that_nobody_vouches_for_is_a_problem(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=127.0.0.1"]
    try:
        subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def work():
        async def serve(reader, writer):
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        async with server:
            origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return await problem_of(web.Client([origin], private=True).send("GET", origin))

    assert run(work).kind == "not_secure"


# what can't be sent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "a\r\nX-B: c"),
        ("X-A", "a\nb"),
        ("X-A", "\x00"),
        ("X A", "a"),
        ("X-A\r\n", "a"),
        ("Host", "evil"),
        ("Content-Length", "0"),
    ],
)
def test_headers_that_could_change_the_request_are_refused(name, value):
    problem = run(lambda: problem_of(web.Client(["http://8.8.8.8"]).send("GET", "http://8.8.8.8", headers={name: value})))
    assert problem.kind == "not_allowed"
    assert "X-B" not in str(problem)


def test_a_method_that_is_none_is_refused():
    assert run(lambda: problem_of(web.Client(["http://8.8.8.8"]).send("CONNECT", "http://8.8.8.8"))).kind == "not_allowed"


@pytest.mark.parametrize("how", [{"timeout": 0}, {"limit": 0}, {"timeout": float("nan")}])
def test_bounds_have_to_be_bounds(how):
    with pytest.raises(SettingsError):
        web.Client([], **how)


def test_origins_are_a_list():
    with pytest.raises(SettingsError):
        web.Client("https://example.com")
    assert repr(web.Client(["https://example.com"])) == "Client(['https://example.com'])"


def test_problems_are_problems_of_tools():
    problems = [getattr(web, name) for name in web.__all__ if name not in ("Answer", "Client")]
    classes = [each for each in problems if isinstance(each, type) and issubclass(each, ToolProblem)]
    kinds = [each.kind for each in classes]
    assert len(set(kinds)) == len(kinds) >= 8


def test_loading_the_names_loads_no_client_library():
    code = "import treadle.web, sys; treadle.web.Client(['https://example.com']); print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_is_not_public_is_not_there():
    assert "Client" in dir(web)
    with pytest.raises(AttributeError):
        web.Nothing  # noqa: B018 - looking is what is tested
