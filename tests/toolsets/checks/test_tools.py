"""The tool with which a model runs tests, as a run calls it."""

import asyncio

import pytest

from toolsets.checks.projects import PROJECTS, put
from treadle import Agent, RunContext, allow
from treadle.core.calls import Call
from treadle.core.errors import ToolProblem
from treadle.models.scripted import calls
from treadle.sandbox.values import Bounds
from treadle.testing import Scripted
from treadle.toolsets.checks.tools import check_tools


def called(toolset, tool, /, **arguments):
    return str(asyncio.run(toolset.call(Call("1", tool, arguments), RunContext())))


def test_the_tool_writes_may_be_repeated_and_waits_its_turn(workspace):
    [tool] = check_tools(workspace, bounds=Bounds(seconds=60)).tools()
    assert (tool.name, tool.effect, tool.retry, tool.sequential) == ("test", "write", "idempotent", True)
    assert tool.timeout > 60
    assert set(tool.parameters["properties"]) == {"type", "package", "path", "run", "script", "module", "verbose", "count"}
    assert "required" not in tool.parameters or tool.parameters["required"] == []
    assert tool.parameters["properties"]["type"]["enum"] == ["auto", "go", "npm", "python", "rust"]


def test_the_flat_tool_has_two_arguments(workspace):
    [tool] = check_tools(workspace, flat=True).tools()
    assert (tool.name, set(tool.parameters["properties"])) == ("run_tests", {"path", "name"})
    assert tool.retry == "idempotent"


def test_a_model_is_told_counts_and_failures(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["fail"])
    told = called(check_tools(sandboxed), "test", path="tests", run="below_zero")
    assert told.startswith("Failed: 1 failed (pytest tests -k below_zero, ")
    assert told.endswith("tests/test_shop.py::test_below_zero (shop.py:4)\n  ValueError: count is below zero: -1")


def test_verbose_shows_the_output_too(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["pass"])
    told = called(check_tools(sandboxed), "test", verbose=True)
    assert told.startswith("Passed: 2 passed, 1 skipped")
    assert "collected 3 items" in told


def test_the_flat_tool_runs_one_test(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["fail"])
    assert called(check_tools(sandboxed, flat=True), "run_tests", name="test_works").startswith("Passed: 1 passed")


def test_other_kinds_of_tests_are_mentioned_where_nobody_chose(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["pass"] | PROJECTS["go"]["none"])
    toolset = check_tools(sandboxed)
    assert called(toolset, "test").endswith("\n\nThe project has other tests too: type=go.")
    assert "other tests" not in called(toolset, "test", type="python")


def test_tests_that_can_not_be_begun_are_a_problem(workspace):
    with pytest.raises(ToolProblem, match=r"^The tests were not run\. No tests were found"):
        called(check_tools(workspace), "test")


def test_an_agent_runs_tests(sandboxed):
    put(sandboxed, PROJECTS["pytest"]["pass"])
    model = Scripted(calls(("test", {})), "All is well.")
    result = Agent(model, toolsets=[check_tools(sandboxed)], policy=[allow("test")]).run_sync("Do the tests pass?")
    assert (result.output, result.calls[0].result.content[:16]) == ("All is well.", "Passed: 2 passed")
