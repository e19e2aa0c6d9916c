"""Connections are kept, shared and closed; whatever goes wrong on the way is a `ModelError` that names the server."""

import asyncio
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import aiohttp.client_proto
import pytest
from msgspec.structs import replace

import wire
from treadle.core.errors import ModelUnavailable, ReplyBroken, SettingsError
from treadle.core.requests import Options, ReplyEnded, TextDelta
from treadle.models import connections
from treadle.models.connections import Timeouts
from treadle.models.http import WritingMeter, close_model_connections
from treadle.models.wires.openai import OpenAI
from wire import WireServer, ask, break_off, collect, hear, raw, reply, request, say, stall, text_in, verbatim

QUICK = Timeouts(connect=5, first_byte=0.05, idle=0.05)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
FINISHED = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
TESTS = Path(__file__).parents[1]


def python(code):
    """What a fresh interpreter says that takes every warning for an error."""
    command = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(("name", "stream"), wire.ALL)
def test_one_connection_serves_request_after_request(name, stream):
    with WireServer(lambda _: "hello") as server:

        async def three():
            model = wire.model(server, name, stream=stream)
            for _ in range(3):
                await collect(model, request())

        asyncio.run(three())
        assert [received.connection for received in server.requests] == [1, 1, 1]


def test_models_of_one_loop_share_connections():
    with WireServer(lambda _: "hello") as server:

        async def two():
            for name in ("openai", "anthropic"):
                await collect(wire.model(server, name), request())

        asyncio.run(two())
        assert [received.connection for received in server.requests] == [1, 1]


def test_requests_at_the_same_time_do_not_wait_for_one_another():
    all_there = threading.Event()

    def answer(_):
        if len(server.requests) == 20:
            all_there.set()
        return reply(wire.gate(all_there), "hello")

    with WireServer(answer) as server:

        async def many():
            model = wire.model(server)
            return await asyncio.gather(*[collect(model, request()) for _ in range(20)])

        assert {text_in(deltas) for deltas in asyncio.run(many())} == {"hello"}
        assert len({received.connection for received in server.requests}) == 20


def test_a_reply_that_is_left_early_closes_its_connection():
    with WireServer([reply(say("hello"), stall()), say("again")]) as server:

        async def leave_early():
            model = wire.model(server)
            async for _ in model.reply(request()):
                break
            return await collect(model, request())

        assert text_in(asyncio.run(leave_early())) == "again"
        assert [received.connection for received in server.requests] == [1, 2]


def test_a_request_that_is_cancelled_closes_its_connection():
    loop = None
    asked = asyncio.Event()

    def answer(_):
        loop.call_soon_threadsafe(asked.set)
        return stall() if len(server.requests) == 1 else "again"

    with WireServer(answer) as server:

        async def cancel():
            nonlocal loop
            loop = asyncio.get_running_loop()
            model = wire.model(server)
            task = asyncio.create_task(collect(model, request()))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await collect(model, request())

        assert text_in(asyncio.run(cancel())) == "again"
        assert [received.connection for received in server.requests] == [1, 2]


def test_a_request_that_is_given_up_is_not_sent_to_its_end():
    size = 40_000_000

    async def give_up():
        begun, over, read = asyncio.Event(), asyncio.Event(), asyncio.Event()
        seen = 0

        async def hold(reader, writer):
            nonlocal seen
            seen += len(await reader.read(1000))
            begun.set()
            await over.wait()
            with suppress(ConnectionError):
                while data := await reader.read(1_000_000):
                    seen += len(data)
            writer.transport.abort()
            read.set()

        async with await asyncio.start_server(hold, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            model = OpenAI("m", base_url=f"http://127.0.0.1:{port}/v1", api_key="k")
            task = asyncio.create_task(collect(model, request("x" * size)))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            over.set()
            await read.wait()
        return seen

    assert asyncio.run(give_up()) < size


def test_a_model_may_be_used_in_one_loop_after_another():
    with WireServer(lambda _: "hello") as server:
        model = wire.model(server)
        assert [text_in(ask(model)) for _ in range(3)] == ["hello"] * 3


def test_a_model_may_be_used_in_several_threads():
    with WireServer(lambda _: "hello") as server:
        model = wire.model(server)
        heard = []
        threads = [threading.Thread(target=lambda: heard.extend(text_in(ask(model)) for _ in range(5))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert heard == ["hello"] * 20


def test_closing_all_connections_makes_the_next_request_open_one():
    with WireServer(lambda _: "hello") as server:

        async def close_between():
            model = wire.model(server)
            await close_model_connections()
            await collect(model, request())
            await close_model_connections()
            await collect(model, request())

        asyncio.run(close_between())
        assert [received.connection for received in server.requests] == [1, 2]


ASKING = """
import asyncio, gc, wire
with wire.WireServer(lambda _: "hello") as server:
    model = wire.model(server)
    {0}
gc.collect()
"""


@pytest.mark.parametrize(
    "how",
    [
        "asyncio.run(wire.collect(model, wire.request()))",
        "with asyncio.Runner() as runner: runner.run(wire.collect(model, wire.request()))",
        "for _ in range(3): asyncio.run(wire.collect(model, wire.request()))",
    ],
)
def test_a_loop_that_ends_leaves_nothing_open_and_nothing_said(how):
    told = python(ASKING.format(how))
    assert (told.returncode, told.stderr) == (0, "")


def test_a_loop_that_is_just_dropped_leaves_no_complaint_about_connectors():
    told = python(
        ASKING.format(
            "loop = asyncio.new_event_loop(); loop.run_until_complete(wire.collect(model, wire.request())); loop.close(); del loop"
            "; asyncio.run(wire.collect(model, wire.request()))"
        )
    )
    assert "connector" not in told.stderr
    assert told.returncode == 0


def test_the_http_library_is_imported_with_the_first_request():
    told = python(
        "import treadle.models.wires.openai, treadle.models.wires.anthropic, treadle.models.wires.ollama\n"
        "print('aiohttp' in sys.modules)"
    )
    assert told.stdout == "False\n"


@pytest.mark.parametrize(("name", "stream"), wire.ALL)
def test_a_server_that_is_not_there_is_named(name, stream):
    with WireServer() as server:
        model = wire.model(server, name, stream=stream)
    _, error = hear(model)
    assert type(error) is ModelUnavailable
    assert f"{name}:wired at {server.url.removeprefix('http://')} does not answer; is it running" in str(error)


def test_a_host_that_does_not_exist_is_unavailable():
    _, error = hear(OpenAI("x", base_url="http://no.such.host.invalid/v1", timeouts=Timeouts(connect=5)))
    assert type(error) is ModelUnavailable
    assert "no.such.host.invalid" in str(error)


def test_a_server_without_tls_is_unavailable_over_https():
    with WireServer() as server:
        _, error = hear(OpenAI("x", base_url=server.url.replace("http:", "https:"), timeouts=Timeouts(connect=0.3)))
    assert type(error) is ModelUnavailable


def test_a_server_that_never_answers_is_given_up():
    with WireServer([verbatim(stall())]) as server:
        _, error = hear(wire.model(server, timeouts=QUICK))
    assert type(error) is ModelUnavailable
    assert "nothing came for 0.05 seconds" in str(error)


def test_a_server_that_hangs_up_without_a_word_is_unavailable():
    with WireServer([verbatim()]) as server:
        _, error = hear(wire.model(server))
    assert type(error) is ModelUnavailable


@pytest.mark.parametrize(("name", "stream"), wire.ALL)
def test_a_reply_that_stalls_is_broken(name, stream):
    with WireServer([reply(say("hello"), stall())]) as server:
        deltas, error = hear(wire.model(server, name, stream=stream, timeouts=QUICK))
    assert type(error) is ReplyBroken
    assert "nothing came for 0.05 seconds" in str(error)
    assert text_in(deltas) == ("hello" if stream else "")


def test_a_stream_without_length_or_chunks_that_stalls_is_broken():
    with WireServer([verbatim(HEAD + b"\r\n", FINISHED.replace(b"stop", b""), stall())]) as server:
        deltas, error = hear(wire.model(server, timeouts=QUICK))
    assert text_in(deltas) == "hi"
    assert type(error) is ReplyBroken
    assert "nothing came for 0.05 seconds" in str(error)


def test_time_in_which_this_process_was_away_itself_is_no_stall():
    """It was stopped, or busy: what came meanwhile is read before anybody says that nothing came."""
    with WireServer([reply(say("hello"), wire.pause(0.2), say("again"))]) as server:

        async def go_away():
            loop, heard = asyncio.get_running_loop(), []
            async for delta in wire.model(server, timeouts=Timeouts(connect=5, first_byte=5, idle=0.4)).reply(request()):
                if not heard:
                    loop.call_later(0.05, sleep, 1.0)
                heard.append(delta)
            return heard

        assert text_in(asyncio.run(go_away())) == "helloagain"


def test_time_that_the_listener_takes_is_no_stall():
    with WireServer([reply(say("one two three", size=4), wire.pause(0.3), say("four"))]) as server:

        async def listen_slowly():
            heard = []
            async for delta in wire.model(server, timeouts=Timeouts(idle=0.6)).reply(request()):
                heard.append(delta)
                await asyncio.sleep(0.3)
            return heard

        assert text_in(asyncio.run(listen_slowly())) == "one two threefour"


def test_a_stream_that_a_slow_reader_pauses_is_read_to_its_end(monkeypatch):
    """More than a reader takes at once: the connection stops reading, and reads on once there is room."""
    pauses, resumed = [], []
    protocol = aiohttp.client_proto.ResponseHandler
    pause, resume = protocol.pause_reading, protocol.resume_reading
    monkeypatch.setattr(protocol, "pause_reading", lambda self: pauses.append(1) or pause(self))
    monkeypatch.setattr(protocol, "resume_reading", lambda self, *more: resumed.append(1) or resume(self, *more))
    text = "0123456789abcdef" * 65536
    with WireServer([reply(say(text, size=65536))]) as server:

        async def listen_slowly():
            heard = []
            async for delta in wire.model(server).reply(request()):
                heard.append(delta)
                while not pauses:  # noqa: ASYNC110 - until there is no room for what comes
                    await asyncio.sleep(0.005)
            return heard

        assert text_in(asyncio.run(listen_slowly())) == text
    assert pauses
    assert resumed


@pytest.mark.parametrize("abort", [False, True])
@pytest.mark.parametrize(("name", "stream"), wire.ALL)
def test_a_connection_that_breaks_breaks_the_reply(name, stream, abort):
    with WireServer([reply(say("hello"), break_off(abort=abort))]) as server:
        _, error = hear(wire.model(server, name, stream=stream))
    assert type(error) is ReplyBroken


def test_a_server_that_does_not_speak_http_gives_no_answer():
    with WireServer([verbatim(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")]) as server:
        _, error = hear(wire.model(server))
    assert type(error) is ModelUnavailable
    assert "gave no answer" in str(error)


def test_a_head_without_an_end_is_no_answer():
    with WireServer([verbatim(HEAD + b"x: y\r\n" * 50_000, stall())]) as server:
        _, error = hear(wire.model(server))
    assert type(error) is ModelUnavailable


def test_a_body_that_is_not_what_its_head_says_is_broken():
    with WireServer([verbatim(HEAD + b"transfer-encoding: chunked\r\n\r\nnonsense\r\n", stall())]) as server:
        _, error = hear(wire.model(server))
    assert isinstance(error, ReplyBroken | ModelUnavailable)  # it may come together with the head, or after it


def test_a_large_reply_waits_for_a_listener_who_takes_his_time():
    words = "many words " * 300_000
    with WireServer([reply(say(words, size=100_000))]) as server:

        async def listen_late():
            heard = []
            async for delta in wire.model(server).reply(request()):
                heard.append(delta)
                if len(heard) == 1:
                    await asyncio.sleep(0.2)
            return heard

        assert text_in(asyncio.run(listen_late())) == words


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_reply_that_is_finished_needs_no_proper_ending(name):
    with WireServer([reply(say("hello"), lingers=True)]) as server:
        assert isinstance(ask(wire.model(server, name))[-1], ReplyEnded)


def test_a_connection_that_breaks_after_the_model_has_finished_breaks_nothing():
    chunk = b"%x\r\n%b\r\n" % (len(FINISHED), FINISHED)
    with WireServer([verbatim(HEAD + b"transfer-encoding: chunked\r\n\r\n", chunk)]) as server:
        deltas = ask(wire.model(server))
    assert text_in(deltas) == "hi"
    assert isinstance(deltas[-1], ReplyEnded)


def test_an_interim_answer_is_not_the_answer():
    with WireServer([reply("hello", announced=True)]) as server:
        assert text_in(ask(wire.model(server))) == "hello"


def test_a_stream_may_end_with_its_connection():
    with WireServer([raw(FINISHED, b"data: [DONE]\n\n", close=True), raw(FINISHED, close=True)]) as server:
        model = wire.model(server)
        assert [text_in(ask(model)) for _ in range(2)] == ["hi", "hi"]


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_server_that_does_not_stream_is_understood_all_the_same(name):
    with WireServer([say("hello")]) as plain:
        ask(wire.model(plain, name, stream=False))
    body = plain.sent[0].data.partition(b"\r\n\r\n")[2]
    with WireServer([raw(body, content_type="application/json")]) as server:
        assert text_in(ask(wire.model(server, name))) == "hello"


def test_what_every_request_carries():
    with WireServer([say("hello")]) as server:
        ask(wire.model(server, headers={"X-Team": "blue"}))
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer test-key"
    assert headers["x-team"] == "blue"
    assert headers["content-type"] == "application/json"
    assert headers["accept-encoding"] == "identity"
    assert headers["user-agent"].startswith("treadle/")
    assert headers["host"] == server.url.removeprefix("http://")


def test_headers_of_one_request_replace_those_of_all_requests():
    with WireServer([say("hello"), say("hello"), say("hello")]) as server:
        model = wire.model(server, headers={"X-Team": "blue"})
        for headers in ({"X-Team": "red", "X-Once": "1"}, {"X-Team": "green", "X-Once": "2"}, {}):
            ask(model, request(options=Options(headers=headers)))
    sent = [(received.headers["x-team"], received.headers.get("x-once")) for received in server.requests]
    assert sent == [("red", "1"), ("green", "2"), ("blue", None)]


@pytest.mark.parametrize("value", ["two\r\nx-lines: 1", "schlüssel"])
def test_a_header_of_one_request_that_cannot_be_sent_is_a_matter_of_settings(value):
    with WireServer([]) as server, pytest.raises(SettingsError, match="can't be sent"):
        ask(wire.model(server), request(options=Options(headers={"x-once": value})))
    assert server.requests == []


def test_credentials_without_headers_leave_the_head_as_it_is():
    async def authorize(_target, _body):
        return {}

    with WireServer([say("hello")]) as server:
        model = wire.model(server)
        model._endpoint._authorize = authorize
        assert text_in(ask(model)) == "hello"


def test_a_query_in_the_address_stays_behind_the_path():
    with WireServer([say("hello")]) as server:
        ask(OpenAI("x", base_url=f"{server.url}/deployments/x?api-version=1"))
    assert server.requests[0].path == "/deployments/x/chat/completions?api-version=1"


@pytest.mark.parametrize(
    "address", ["localhost:8000", "ftp://host/v1", "http://", "nonsense", "http://host:99999", "http://host:port"]
)
def test_an_address_that_is_none_is_a_matter_of_settings(address):
    with pytest.raises(SettingsError, match="is no address"):
        OpenAI("x", base_url=address)


@pytest.mark.parametrize("key", ["two\r\nlines", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_a_matter_of_settings(key):
    with pytest.raises(SettingsError, match="can't be sent") as caught:
        OpenAI("x", base_url="http://host/v1", api_key=key)
    assert key not in str(caught.value)


def test_blanks_around_a_key_do_not_matter():
    with WireServer([say("hello")]) as server:
        ask(OpenAI("x", base_url=server.url, api_key=" key\n"))
    assert server.requests[0].headers["authorization"] == "Bearer key"


def test_a_user_in_the_address_is_never_shown():
    _, error = hear(OpenAI("x", base_url="http://user:pass@127.0.0.1:1/v1"))
    assert "pass" not in str(error)


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    with WireServer(lambda _: "hello") as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:secret@"))
        assert text_in(ask(OpenAI("x", base_url="http://model.example/v1"))) == "hello"
    (received,) = proxy.requests
    assert received.path == "http://model.example/v1/chat/completions"
    assert received.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert received.headers["host"] == "model.example"


def test_a_proxy_is_asked_for_a_tunnel_where_there_is_tls(monkeypatch):
    with WireServer() as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        _, error = hear(OpenAI("x", base_url="https://model.example/v1"))
    assert type(error) is ModelUnavailable
    assert [received.path for received in proxy.requests] == ["model.example:443"]


def test_this_machine_is_never_asked_through_a_proxy(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with WireServer([say("hello")]) as server:
        assert text_in(ask(wire.model(server))) == "hello"


def test_a_connection_that_was_kept_for_too_long_is_closed():
    async def tale(server):
        model = wire.model(server)
        await wire.collect(model, wire.request())
        (hub,) = connections._pools.values()
        (route,) = hub.routes.values()
        assert hub.sweep(monotonic() - 60)
        assert not hub.sweep(monotonic())
        assert route.take() is None
        await wire.collect(model, wire.request())

    with WireServer(["a", "b"]) as server:
        asyncio.run(tale(server))
    assert [received.connection for received in server.requests] == [1, 2]


def test_a_kept_connection_that_the_server_hangs_up_is_replaced_by_a_new_one():
    async def tale(server):
        model = wire.model(server)
        await wire.collect(model, wire.request())
        return await wire.collect(model, wire.request())

    with WireServer(["a", verbatim(), "b"]) as server:
        assert text_in(asyncio.run(tale(server))) == "b"
    assert [received.connection for received in server.requests] == [1, 1, 2]


def test_a_new_connection_that_the_server_hangs_up_is_an_error():
    with WireServer([verbatim(), "b"]) as server:
        _, error = hear(wire.model(server))
    assert type(error) is ModelUnavailable
    assert len(server.requests) == 1


def test_a_connection_that_the_server_closed_meanwhile_is_not_used():
    async def tale(server):
        model = wire.model(server)
        await wire.collect(model, wire.request())
        await asyncio.sleep(0.05)
        await wire.collect(model, wire.request())

    body = b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'
    closing = raw(body, content_type="application/json", close=True)
    with WireServer([closing, "b"]) as server:
        asyncio.run(tale(server))
    assert len(server.requests) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_many_requests_at_once_share_their_connections_and_never_one_of_them(stream):
    async def tale(server):
        model = wire.model(server, stream=stream)
        for _ in range(3):
            heard = await asyncio.gather(*[collect(model, request()) for _ in range(20)])
            assert {text_in(deltas) for deltas in heard} == {"hello"}

    with WireServer(lambda _: (wire.pause(0.01), say("hello"))) as server:
        asyncio.run(tale(server))
    assert len(server.requests) == 60
    assert len({received.connection for received in server.requests}) == 20


def test_what_is_written_is_reported_a_few_times_a_second():
    now, reported = [10.0], []
    meter = WritingMeter(reported.append, lambda: now[0])
    meter.count(3)  # nothing of the reply yet
    assert reported == []
    meter.add(TextDelta("abcd"))
    meter.count(1)
    meter.count(1)  # too soon
    now[0] += 1
    meter.count(2)  # of a call, which the wire holds back
    now[0] += 1
    meter.add(TextDelta("x" * 400))  # of a server that sends many tokens at once
    meter.count(1)
    assert [(progress.stage, progress.done) for progress in reported] == [("writing", 1), ("writing", 4), ("writing", 101)]


def test_a_model_reports_to_whoever_asked_for_it():
    reported = []
    with WireServer([reply("one ", "two")]) as server:
        model = OpenAI("m", base_url=f"{server.url}/v1")
        assert text_in(ask(model, replace(request("Hi"), progress=reported.append))) == "one two"
    assert reported[0].stage == "writing"


def test_a_connection_serves_complete_streamed_and_divided_responses_in_turn():
    body = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}'
    sent = [raw(body, content_type="application/json"), "hello", raw(body[:9], body[9:], content_type="application/json"), "bye"]
    with WireServer(sent) as server:

        async def four():
            model = wire.model(server, "openai", stream=False)
            return [text_in(await collect(model, request())) for _ in sent]

        assert asyncio.run(four()) == ["hi", "hello", "hi", "bye"]
        assert [received.connection for received in server.requests] == [1, 1, 1, 1]
