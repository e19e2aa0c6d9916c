"""Documents that others have published: every operation becomes a tool, and every call that is made is valid by the document."""

import asyncio
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from properties import EXPLORE
from toolsets.openapi.judge import judging
from toolsets.openapi.maker import Maker
from toolsets.openapi.published import DOCUMENTS, for_judge, published, root_of
from treadle import Agent, RunContext
from treadle.core.calls import Call
from treadle.core.errors import ToolProblem
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.tools.validate import ValidArguments, Validator
from treadle.toolsets.openapi import openapi_tools
from treadle.toolsets.openapi.document import parse_document
from treadle.toolsets.openapi.schemas import MAX_SCHEMA

METHODS = ("get", "head", "options", "trace", "post", "put", "patch", "delete")
HERE = "https://api.example.com"
BEFOREHAND = ("don't fit", "is empty, which can't be written here", "it is a part of a path")


@cache
def root(name: str) -> dict[str, Any]:
    return root_of(name)


@cache
def judged(name: str) -> dict[str, Any]:
    return for_judge(root(name))


def several_arguments(tool, number: int) -> Iterator[dict[str, Any]]:
    """Arguments that fit what the tool says of itself, fewer of them each time."""
    validator = Validator(tool.parameters)
    for attempt in range(9):
        made = Maker(number * 10 + attempt, tool.parameters, more=(0.4, 0.2, 0.0)[attempt // 3]).make(tool.parameters)
        made.pop("pages", None)
        if isinstance(validator.check(made), ValidArguments):
            yield made


async def sent(toolset, tool, number: int) -> str:
    """Call it, with the first arguments that can be sent. The problem, if there is one other than those that say so beforehand."""
    for arguments in several_arguments(tool, number):
        try:
            await toolset.call(Call("c", tool.name, arguments), RunContext(key="k"))
        except ToolProblem as problem:
            if not any(words in str(problem) for words in BEFOREHAND):
                return str(problem)
        else:
            return ""
    return ""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_operation_becomes_a_tool(name):
    document = parse_document(published(name), name)
    listed = [(method, path) for path, item in document.root["paths"].items() for method in item if method in METHODS]
    tools = openapi_tools(document.root, base_url=HERE).tools()
    assert len(tools) == len(listed) >= DOCUMENTS[name].operations
    assert len({tool.name for tool in tools}) == len(tools)
    for tool in tools:
        assert tool.spec.description.strip()
        assert 1 <= len(tool.name) <= 64
        assert len(tool.spec.description) < 1500
        assert len(msgspec.json.encode(tool.parameters)) < 2 * MAX_SCHEMA


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_call_is_valid_by_the_document(name):
    """Every fifth operation, and in `make explore` every one."""

    async def work():
        async with judging(judged(name)) as judge:
            toolset = openapi_tools(root(name), base_url=judge.host, private=True)
            async with toolset:
                tools = [*enumerate(toolset.tools())][:: 1 if EXPLORE else 5]
                problems = [await sent(toolset, tool, number) for number, tool in tools]
        return len(tools), judge, problems

    count, judge, problems = asyncio.run(work())
    assert judge.wrong == []
    assert len(judge.seen) == count
    assert [problem for problem in problems if problem] == []


def test_a_model_finds_the_one_of_hundreds_that_it_needs():
    async def work():
        async with judging(judged("github")) as judge:
            toolset = openapi_tools(root("github"), base_url=judge.host, private=True)
            model = Scripted(
                calls(("find_tools", {"query": "create an issue in a repository"})),
                calls(("issues_create", {"owner": "ann", "repo": "shop", "title": "It leaks"})),
                "Done.",
            )
            agent = Agent(model, tools=[toolset], policy={"allow": ["*"]})
            result = await agent.run("Open an issue.")
            return result, judge, model

    result, judge, model = asyncio.run(work())
    assert [call.name for call in result.calls] == ["find_tools", "issues_create"]
    assert "issues_create: Create an issue" in result.calls[0].result.content
    assert [tool.name for tool in model.requests[0].tools] == ["find_tools"]
    assert "issues_create" in [tool.name for tool in model.requests[1].tools]
    sent = [(seen.method, seen.path, seen.body) for seen in judge.seen]
    assert sent == [("post", "/repos/ann/shop/issues", b'{"title":"It leaks"}')]
    assert judge.wrong == []
