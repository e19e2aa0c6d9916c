"""A page that is opened has the model read what a conversation with its assistant begins with."""

import asyncio
import threading

import pytest

from server.running import Serving, assistant
from server.runs.asking import with_server
from treadle.core.errors import ModelUnavailable
from treadle.core.requests import Traits
from treadle.models.scripted import Scripted


class Embedded(Scripted):
    """A model that can be warmed, which takes as long as a test wants."""

    def __init__(self, *replies, fails=False):
        super().__init__(*replies, traits=Traits(native_calls=False, holds=True, warms=True))
        self.begun, self.ended, self.stopped = [], [], []
        self.go = threading.Event()
        self._fails = fails

    async def warm(self, request):
        self.begun.append(request.instructions)
        if self._fails:
            raise ModelUnavailable("There is no memory for it.")
        try:
            while not self.go.is_set():  # noqa: ASYNC110 - another thread says so
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.stopped.append(request.instructions)
            raise
        self.ended.append(request.instructions)


async def until(holds):
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110 - the server's thread tells nobody
            await asyncio.sleep(0.005)


ASSISTANTS = [assistant(name, instructions=f"You know {name}.") for name in ("rivers", "seas")]


def test_the_model_is_warmed_once_and_then_for_another_assistant(tmp_path):
    model = Embedded()

    async def work(ask):
        sent = [await ask("POST", f"/api/assistants/{name}/warm", {}) for name in ("rivers", "rivers", "seas")]
        await until(lambda: model.stopped == ["You know rivers."])
        model.go.set()
        await until(lambda: model.ended == ["You know seas."])
        return sent, (await ask("GET", "/api/runs"))[1]["runs"]

    with Serving(tmp_path, ASSISTANTS, model) as server:
        sent, runs = with_server(server, work)
    assert sent == [(204, None)] * 3
    assert model.begun == ["You know rivers.", "You know seas."]
    assert runs == []
    assert model.requests == []


@pytest.mark.parametrize(("asked", "stopped"), [("seas", ["You know rivers."]), ("rivers", [])])
def test_a_message_to_another_assistant_does_not_wait_for_it(tmp_path, asked, stopped):
    model = Embedded("Deep.")

    async def work(ask):
        await ask("POST", "/api/assistants/rivers/warm", {})
        await until(lambda: model.begun)
        _, said = await ask("POST", "/api/runs", {"assistant": asked, "message": "How deep?"})
        await ask.ended(said["run_id"])
        return [*model.stopped]

    with Serving(tmp_path, ASSISTANTS, model) as server:
        assert with_server(server, work) == stopped


def test_a_failure_is_not_the_pages_to_report_and_the_server_stops_in_the_middle(tmp_path):
    for model in (Embedded(fails=True), Embedded()):

        async def work(ask, model=model):
            sent = await ask("POST", "/api/assistants/rivers/warm", {})
            await until(lambda: model.begun)
            return sent

        with Serving(tmp_path, ASSISTANTS, model) as server:
            assert with_server(server, work) == (204, None)
        assert not model.ended


def test_an_unknown_assistant_is_refused(tmp_path):
    with Serving(tmp_path, ASSISTANTS, Embedded()) as server:
        status, said = with_server(server, lambda ask: ask("POST", "/api/assistants/lakes/warm", {}))
    assert (status, said["error"]) == (404, "There is no assistant 'lakes'; GET /api/assistants lists those that are.")
