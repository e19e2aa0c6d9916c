"""Tools with actions over MCP: each call is judged by its action, and a change is asked about with its diff."""

import asyncio

from mcp import Client, types

from treadle.assistants.coding import assistant
from treadle.server.mcp.offering import Offering
from treadle.server.mcp.server import make_mcp_server
from treadle.toolsets.workspace.tools import workspace_tools


def session(folder, *calls, approve=True):
    """The tools, what each call brought, and what the person was asked."""
    questions: list[str] = []

    async def asked(context, params):
        questions.append(params.message)
        return types.ElicitResult(action="accept", content={"approve": approve})

    async def work():
        offered = Offering([workspace_tools(folder)], policy=assistant.policy)
        async with asyncio.timeout(60), Client(make_mcp_server(offered), elicitation_callback=asked) as client:
            tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
            return tools, [(await client.call_tool(name, arguments)).content[0].text for name, arguments in calls]

    return *asyncio.run(work()), questions


def test_a_tool_is_annotated_by_its_strongest_action_and_a_call_judged_by_its_own(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    reading = ("file", {"action": "read", "path": "a.txt"}), ("search", {"action": "grep", "pattern": "one"})
    tools, told, questions = session(tmp_path, *reading)
    assert (tools["file"].read_only_hint, tools["file"].destructive_hint) == (False, True)
    assert (tools["search"].read_only_hint, tools["code_edit"].destructive_hint) == (True, False)
    assert (told[0], "a.txt:1:one" in told[1], questions) == ("1|one", True, [])


def test_a_new_file_is_asked_about_with_its_content(tmp_path):
    _, _, questions = session(tmp_path, ("file", {"action": "write", "path": "new.txt", "content": "two\n"}))
    assert "--- new.txt\n+++ new.txt\n@@ -0,0 +1 @@\n+two\n" in questions[0]
    assert (tmp_path / "new.txt").read_text() == "two\n"


def test_a_change_is_asked_about_with_its_diff(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    change = ("file", {"action": "replace", "path": "a.txt", "old": "one", "new": "two"})
    _, told, questions = session(tmp_path, ("file", {"action": "read", "path": "a.txt"}), change)
    assert len(questions) == 1, told
    assert "-one\n+two\n" in questions[0]
    assert (tmp_path / "a.txt").read_text() == "two\n"


def test_a_file_that_nobody_has_read_is_not_asked_about(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    _, told, questions = session(tmp_path, ("file", {"action": "write", "path": "a.txt", "content": "two\n"}))
    assert ("Read it first" in told[0], questions) == (True, [])


def test_a_change_that_the_person_does_not_want_is_not_made(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    change = ("code_edit", {"action": "delete_lines", "path": "a.txt", "start_line": 1, "end_line": 1})
    _, told, questions = session(tmp_path, ("file", {"action": "read", "path": "a.txt"}), change, approve=False)
    assert "-one\n" in questions[0]
    assert "said no" in told[1]
    assert (tmp_path / "a.txt").read_text() == "one\n"
