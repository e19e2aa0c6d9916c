"""Callers that wait, that leave, and that come back."""

import asyncio
import sqlite3
import threading
import time
from contextlib import closing

import pytest
from starlette.applications import Starlette

from packages import Deferred
from server.compat.clients import MODEL, asked, openai_client, openai_tool, rivers, user
from server.running import host
from treadle import FunctionToolset, allow, open_home, tool
from treadle.core.entries import Returned
from treadle.core.errors import UnknownModel
from treadle.core.requests import ReplyEnded, TextDelta
from treadle.home import close_home
from treadle.models.scripted import Scripted
from treadle.server.compat.routes import compat_routes
from treadle.server.uvicorn_server import TreadleServer, listen

anthropic = Deferred("anthropic")
openai = Deferred("openai")

PATIENCE = 120  # seconds


async def until(event):
    """Wait, in the server's loop, for an event of the test's."""
    for _ in range(PATIENCE * 100):
        if event.is_set():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


class Slow:
    """A model that says something and then waits to be told to go on."""

    def __init__(self):
        self.go_on = threading.Event()
        self.begun = threading.Event()
        self.stopped = threading.Event()

    async def reply(self):
        try:
            yield TextDelta("One.")
            self.begun.set()
            await until(self.go_on)
            yield TextDelta(" Two.")
            yield ReplyEnded("done")
        except asyncio.CancelledError:
            self.stopped.set()
            raise


def statuses(folder):
    """How the runs stand, on disk."""
    with closing(sqlite3.connect(folder / "data" / "treadle.db")) as database:
        return dict(database.execute("select run_id, status from runs").fetchall())


def ended(folder, how):
    """Wait until some run has ended like this; its id."""
    until_then = time.monotonic() + PATIENCE
    while time.monotonic() < until_then:
        found = next((run_id for run_id, status in statuses(folder).items() if status == how), None)
        if found is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(f"no run ended as {how}")


def results_of(folder, run_id):
    home = open_home(folder / "data")
    try:
        entries = asyncio.run(home.journal.read(run_id))
    finally:
        close_home(home)
    return [entry.result.content for entry in entries if isinstance(entry, Returned)]


def complete(client, messages, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": messages, **more})


def test_a_caller_that_leaves_a_stream_stops_the_turn(tmp_path):
    slow = Slow()
    with openai_client(tmp_path, lambda request: slow.reply()) as (client, _):
        stream = complete(client, [user("Count.")], stream=True)
        assert next(stream).choices[0].delta.content == "One."
        stream.close()
        assert slow.stopped.wait(PATIENCE)
        ended(tmp_path, "cancelled")


def test_a_caller_that_stops_waiting_for_the_whole_stops_the_turn(tmp_path):
    slow = Slow()
    with openai_client(tmp_path, lambda request: slow.reply()) as (client, _):
        with pytest.raises(openai.APITimeoutError):
            complete(client, [user("Count.")], timeout=2)
        assert slow.stopped.wait(PATIENCE)
        ended(tmp_path, "cancelled")


def test_one_that_leaves_before_the_first_word_stops_the_turn_too(tmp_path):
    begun, stopped = threading.Event(), threading.Event()

    async def silent():
        begun.set()
        try:
            await until(threading.Event())
            yield ReplyEnded("done")
        finally:
            stopped.set()

    with openai_client(tmp_path, lambda request: silent()) as (client, _):
        with pytest.raises(openai.APITimeoutError):
            complete(client, [user("Count.")], stream=True, timeout=2)
        assert begun.is_set()
        assert stopped.wait(PATIENCE)


def test_what_is_changing_something_comes_to_its_end_first(tmp_path):
    begun, go_on, after = threading.Event(), threading.Event(), []

    @tool(effect="write")
    async def dredge() -> str:
        """Dredge."""
        begun.set()
        await until(go_on)
        after.append("dredged")
        return "Dredged."

    tools = FunctionToolset([dredge])
    made = rivers(toolsets=lambda host: [tools], policy=[allow()])
    slow = Slow()
    with openai_client(tmp_path, asked("dredge", {}, "Now."), lambda request: slow.reply(), made=made) as (client, model):
        stream = complete(client, [user("Dredge.")], stream=True)
        assert next(stream).choices[0].delta.content == "Now."
        assert begun.wait(PATIENCE)
        stream.close()
        time.sleep(0.2)  # nothing happens in it
        go_on.set()
        run_id = ended(tmp_path, "cancelled")
    assert (results_of(tmp_path, run_id), after, len(model.requests)) == (["Dredged."], ["dredged"], 2)
    assert slow.stopped.is_set()


def test_whoever_left_and_brings_the_same_again_is_answered_from_where_it_stopped(tmp_path):
    slow = Slow()
    renames = asked("rename", {"river": "Rhine", "name": "Rhin"})
    replies = [asked("weather", {}), renames, lambda request: slow.reply(), "Renamed."]
    with openai_client(tmp_path, *replies) as (client, model):
        tools = [openai_tool(parameters=None)]
        first = complete(client, [user("?")], tools=tools).choices[0].message
        brought = [user("?"), first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}]
        stream = complete(client, brought, tools=tools, stream=True)
        next(stream)
        stream.close()
        answers = [complete(client, brought, tools=tools).choices[0].message.content]
    assert (answers, len(model.requests)) == (["Renamed."], 4)
    assert [part.name for message in model.requests[3].history if message.role == "tools" for part in message.parts] == [
        "weather",
        "rename",
    ]


def test_whoever_comes_back_while_something_is_being_changed_hears_how_it_ends(tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    @tool(effect="write")
    async def dredge() -> str:
        """Dredge."""
        begun.set()
        await until(go_on)
        return "Dredged."

    tools = FunctionToolset([dredge])
    made = rivers(toolsets=lambda host: [tools], policy=[allow("dredge", untrusted=True)])
    with openai_client(tmp_path, asked("weather", {}), asked("dredge", {}, "Now."), "Done.", made=made) as (client, _):
        weather = [openai_tool(parameters=None)]
        first = complete(client, [user("?")], tools=weather).choices[0].message
        brought = [user("?"), first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}]
        stream = complete(client, brought, tools=weather, stream=True)
        assert next(stream).choices[0].delta.content == "Now."
        assert begun.wait(PATIENCE)
        stream.close()
        again = complete(client, brought, tools=weather, stream=True)
        assert next(again).choices[0].delta.content == "Now."
        go_on.set()
        assert "".join([chunk.choices[0].delta.content or "" for chunk in again]) == "\n\nDone."


def test_the_turn_goes_on_as_long_as_one_of_two_listens(tmp_path):
    slow = Slow()
    with openai_client(tmp_path, asked("weather", {}), lambda request: slow.reply()) as (client, model):
        tools = [openai_tool(parameters=None)]
        first = complete(client, [user("?")], tools=tools).choices[0].message
        brought = [user("?"), first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}]
        one = complete(client, brought, tools=tools, stream=True)
        other = complete(client, brought, tools=tools, stream=True)
        assert next(one).choices[0].delta.content == next(other).choices[0].delta.content == "One."
        one.close()
        slow.go_on.set()
        assert "".join([chunk.choices[0].delta.content or "" for chunk in other]) == " Two."
    assert len(model.requests) == 2


async def unoffered(name):
    raise UnknownModel("No other model is offered.")


class Beating:
    """The wires alone, with a quick heart."""

    def __init__(self, folder, model):
        self._listening = listen(port=0)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        app = Starlette(routes=compat_routes([rivers()], host(folder, model), unoffered, beat=0.05))
        self._up = threading.Event()
        self._server = TreadleServer(app, self._listening, lambda url: self._up.set())
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve(sockets=[self._listening])))

    def __enter__(self):
        self._thread.start()
        assert self._up.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join(PATIENCE)


def test_silence_is_bridged_with_signs_of_life(tmp_path):
    def slowly():
        slow = Slow()
        threading.Timer(0.3, slow.go_on.set).start()
        return slow.reply()

    with Beating(tmp_path, Scripted(lambda _: slowly(), lambda _: slowly(), lambda _: slowly())) as server:
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
            raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=[user("?")], stream=True)
            assert b": still here\n\n" in raw.http_response.read()
        with anthropic.Anthropic(base_url=server.url, api_key="x", max_retries=0) as client:
            how = {"model": MODEL, "max_tokens": 9, "messages": [user("?")]}
            raw = client.messages.with_raw_response.create(**how, stream=True)
            assert b"event: ping\n" in raw.http_response.read()
            with client.messages.stream(**how) as stream:
                assert stream.get_final_text() == "One. Two."


def test_a_stream_that_begins_with_silence_is_a_stream_all_the_same(tmp_path):
    async def late():
        await asyncio.sleep(0.3)
        yield TextDelta("Well.")
        yield ReplyEnded("done")

    with (
        Beating(tmp_path, Scripted(lambda request: late())) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client,
    ):
        chunks = complete(client, [user("?")], stream=True)
        assert "".join([chunk.choices[0].delta.content or "" for chunk in chunks]) == "Well."
