"""Extra fields of a request's body: what a wire writes from the run itself can't be among them."""

import asyncio

import pytest

from treadle import Options
from treadle.core.errors import SettingsError
from treadle.core.messages import History, person_message
from treadle.core.requests import Request
from treadle.models.wires.anthropic import Anthropic
from treadle.models.wires.bedrock import Bedrock
from treadle.models.wires.google import Google
from treadle.models.wires.ollama import Ollama
from treadle.models.wires.openai import OpenAI
from treadle.models.wires.responses import Responses

NOWHERE = "http://127.0.0.1:9"
SHAPE = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (OpenAI("m", base_url=NOWHERE, api_key="k"), ["messages", "response_format"]),
        (Responses("m", base_url=NOWHERE, api_key="k"), ["input", "instructions"]),
        (Anthropic("m", base_url=NOWHERE, api_key="k"), ["messages", "system"]),
        (Google("m", base_url=NOWHERE, api_key="k"), ["contents", "systemInstruction"]),
        (Ollama("m", base_url=NOWHERE), ["messages", "tools", "format"]),
        (Bedrock("m", region="here", base_url=NOWHERE, bearer="k"), ["messages", "system", "toolConfig"]),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_field_that_is_written_from_the_run_is_refused_before_anything_is_sent(model, fields):
    async def ask(field):
        request = Request("Be brief.", History((person_message("Hi."),)), options=Options(extra={field: []}), shape=SHAPE)
        async for _ in model.reply(request):
            pass

    for field in fields:
        with pytest.raises(SettingsError, match=rf"Options\.extra can't have '{field}': that field of the request is written from"):
            asyncio.run(ask(field))
