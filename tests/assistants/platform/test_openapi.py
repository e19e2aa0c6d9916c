"""The demonstration's own OpenAPI document, as tools: an assistant over any HTTP API, with the same rights."""

import asyncio
import json

import pytest

from assistants.platform.platform_setup import SPEC
from treadle import Agent
from treadle.testing import Scripted, calls
from treadle.toolsets import openapi_tools


def asked(demo, *wanted, who="alice", **how):
    model = Scripted(calls(*wanted), "So.")
    tools = openapi_tools(f"{demo.url}/openapi.json", private=True)
    agent = Agent(model, tools=[tools], approver=lambda approval: True, **how)
    return asyncio.run(agent.run("Go.", credentials={"token": demo.token(who)} if who else {})), model


def named(demo, path, method="get"):
    document = json.loads(asyncio.run(fetch(f"{demo.url}/openapi.json")))
    return document["paths"][path][method]["operationId"]


async def fetch(url):
    import aiohttp

    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


@pytest.mark.parametrize("shape", ["new", "old"])
def test_every_operation_is_a_tool_and_acts_with_the_callers_token(shape):
    from treadle.demo.platform import start_demo

    with start_demo(shape=shape) as demo:
        path = "/api/applications" if shape == "new" else "/api/specs"
        listed, _ = asked(demo, (named(demo, path), {}))
        assert "storefront" in listed.calls[0].result.content
        assert "reports" not in listed.calls[0].result.content
        nobody, _ = asked(demo, (named(demo, path), {}), who="")
        assert "to be signed in" in nobody.calls[0].result.content


def test_a_spec_is_sent_as_it_is_and_anothers_application_is_refused(demo):
    made, _ = asked(demo, (named(demo, "/api/applications", "post"), {"body": SPEC}))
    assert made.calls[0].problem is None, made.calls[0].result.content
    refused, _ = asked(demo, (named(demo, "/api/applications/{name}"), {"name": "reports"}))
    assert "Access denied" in refused.calls[0].result.content
