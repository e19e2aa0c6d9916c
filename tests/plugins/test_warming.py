"""Each assistant has a small model warmed with what a conversation with it begins with."""

import asyncio

import pytest

from models.calling.test_warming import Small, beginning
from server.running import host
from treadle.agent.session import AssistantSession
from treadle.core.errors import ModelRefused
from treadle.plugins.assistants import get_assistant

ASKED_FIRST = ("platform", "guidance", "courses")  # reading and coding look at files first, and have the model loaded meanwhile


class Refusing(Small):
    """A model of which only the first request counts."""

    async def reply(self, request):
        self.requests.append(request)
        raise ModelRefused("That is enough.")
        yield


@pytest.mark.parametrize("name", ["reading", "platform", "coding", "guidance", "courses"])
def test_an_assistant_warms_its_model_with_what_its_conversations_begin_with(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    model, session = Refusing(), AssistantSession(get_assistant(name), host(tmp_path))

    async def warm_and_ask():
        agent = session.agent(model)
        await session.warm(agent)
        await session.run("What is there?", model=model)

    asyncio.run(warm_and_ask())
    assert len(model.warmed) == 1
    if name in ASKED_FIRST:
        assert beginning(model.warmed[0]) == beginning(model.requests[0])
        assert len(model.warmed[0].instructions) > 600
    else:
        assert beginning(model.warmed[0]) == ("", ())
