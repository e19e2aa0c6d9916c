"""Permission modes of a coding session: every tool in every mode, and the state that holds the mode."""

from pathlib import Path
from typing import Any

import pytest

from treadle.assistants.coding.modes import MODES, PROPOSE_PLAN, SESSION_TOOLSET, Mode, ModePolicy, ModeState, next_mode, parse_mode
from treadle.assistants.coding.tools import make_coding_toolset
from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Situation
from treadle.core.tool import Tool
from treadle.errors import SettingsError
from treadle.guard.policy import allow, deny, with_rules
from treadle.settings.loader import Settings
from treadle.settings.schema import CommandSettings

READS = (
    "read_file",
    "grep",
    "find_files",
    "find_definition",
    "find_references",
    "repository_map",
    "list_folder",
    "outline_file",
    "git_status",
    "git_diff",
    "git_log",
)
EDITS = ("write_file", "replace_text", "edit_lines", "insert_lines", "delete_lines", "delete_file")
GIT = ("git_add", "git_commit", "git_create_branch", "git_checkout")
PUBLISH = ("git_push", "create_pr")
TAINTED = Situation(tainted=True, doubts=lambda _call, _tool: ("The value of `content` comes from AGENTS.md.",))


def tools_of(folder: Path, **commands: Any) -> dict[str, Tool]:
    settings = Settings(commands=CommandSettings(**commands))
    plan = Tool(ToolSpec(PROPOSE_PLAN, "", {"type": "object"}), toolset=SESSION_TOOLSET)
    tasks = Tool(ToolSpec("update_tasks", "", {"type": "object"}), effect="read", toolset=SESSION_TOOLSET)
    other = Tool(ToolSpec("send_mail", "", {"type": "object"}), toolset="mcp")
    found = {tool.name: tool for tool in make_coding_toolset("build", folder, settings, flat=True, background=True).tools()}
    return {**found, plan.name: plan, tasks.name: tasks, other.name: other}


def verdicts(mode: Mode, tools: dict[str, Tool], situation: Situation = Situation(), *, confined: bool = True) -> dict[str, str]:  # noqa: B008 - frozen
    policy = ModePolicy(ModeState(mode), confined=confined)
    return {name: type(policy.judge(Call("1", name, {}), tool, situation)).__name__.lower() for name, tool in tools.items()}


def expected(mode: Mode, *, confined: bool = True) -> dict[str, str]:
    """What each mode says of each tool."""
    edits, commands, rest = {"ask": "ask ask ask", "accept-edits": "allow allow ask", "plan": "deny deny deny"}[mode].split()
    publish = "deny" if mode == "plan" else "ask"
    return {
        **dict.fromkeys((*READS, "update_tasks", "run_tests"), "allow"),
        **dict.fromkeys(EDITS, edits),
        **dict.fromkeys(("run_command", "start_command"), commands if confined or commands != "allow" else "ask"),
        **dict.fromkeys((*GIT, "send_mail"), rest),
        **dict.fromkeys(PUBLISH, publish),
        PROPOSE_PLAN: "ask" if mode == "plan" else "deny",
    }


@pytest.mark.parametrize("situation", [Situation(), TAINTED], ids=["trusted", "after untrusted content"])
@pytest.mark.parametrize("mode", MODES)
def test_every_tool_in_every_mode(tmp_path: Path, mode: Mode, situation: Situation):
    assert verdicts(mode, tools_of(tmp_path), situation) == expected(mode)


@pytest.mark.parametrize(
    ("mode", "tool", "why"),
    [
        ("ask", "write_file", "In the mode ask, edits need your approval."),
        ("ask", "run_command", "In the mode ask, commands need your approval."),
        ("accept-edits", "run_command", "Commands run without your approval only where the sandbox confines them."),
        ("ask", "run_tests", "The tests run without the sandbox here, so they need your approval."),
        ("accept-edits", "git_commit", "In every mode, changes of the repository need your approval."),
        ("ask", "git_push", "This sends what it changed to another machine."),
        ("ask", "send_mail", "In every mode, send_mail needs your approval, as no rule allows it."),
    ],
)
def test_a_person_reads_why_they_are_asked_in_the_mode(tmp_path: Path, mode: Mode, tool: str, why: str):
    tools = tools_of(tmp_path, sandbox=False)
    assert ModePolicy(ModeState(mode), confined=False).judge(Call("1", tool, {}), tools[tool], Situation()).reason == why


@pytest.mark.parametrize("mode", MODES)
def test_commands_that_the_sandbox_cant_confine_need_approval(tmp_path: Path, mode: Mode):
    found = verdicts(mode, tools_of(tmp_path), confined=False)
    assert found == expected(mode, confined=False)


@pytest.mark.parametrize("mode", MODES)
def test_tests_without_a_sandbox_need_approval(tmp_path: Path, mode: Mode):
    assert verdicts(mode, tools_of(tmp_path, sandbox=False), confined=False)["run_tests"] == "ask"


@pytest.mark.parametrize("mode", MODES)
def test_the_grouped_tools_are_judged_by_their_action(tmp_path: Path, mode: Mode):
    tools = {tool.name: tool for tool in make_coding_toolset("build", tmp_path, Settings(), flat=False).tools()}
    policy = ModePolicy(ModeState(mode), confined=True)
    said = [
        type(policy.judge(Call("1", "file", {"action": action}), tools["file"], Situation())).__name__
        for action in ("read", "delete")
    ]
    assert said == ["Allow", {"ask": "Ask", "accept-edits": "Allow", "plan": "Deny"}[mode]]


def test_plan_mode_says_what_to_do_instead(tmp_path: Path):
    verdict = ModePolicy(ModeState("plan"), confined=True).judge(
        Call("1", "write_file", {}), tools_of(tmp_path)["write_file"], Situation()
    )
    assert PROPOSE_PLAN in verdict.reason


def test_rules_of_the_user_count_in_every_mode(tmp_path: Path):
    tools = tools_of(tmp_path)
    policy = with_rules(ModePolicy(ModeState("accept-edits"), confined=True), [deny("delete_file"), allow("send_mail")])
    said = {
        name: type(policy.judge(Call("1", name, {}), tools[name], Situation())).__name__ for name in ("delete_file", "send_mail")
    }
    assert said == {"delete_file": "Deny", "send_mail": "Allow"}
    planned = with_rules(ModePolicy(ModeState("plan"), confined=True), [allow("write_file")])
    assert type(planned.judge(Call("1", "write_file", {}), tools["write_file"], Situation())).__name__ == "Deny"


def test_every_mode_offers_the_same_tools(tmp_path: Path):
    tools, state = tools_of(tmp_path), ModeState()
    policy = ModePolicy(state, confined=True)
    for mode in MODES:
        state.switch(mode)
        assert [tool.name for tool in tools.values() if not policy.offers(tool, Situation())] == []


def test_a_switch_counts_from_the_next_call_on(tmp_path: Path):
    tools, seen = tools_of(tmp_path), list[Mode]()
    state = ModeState(on_switch=seen.append)
    policy = ModePolicy(state, confined=True)
    said = []
    for mode in ("ask", "accept-edits", "plan"):
        state.switch(mode)
        said.append(type(policy.judge(Call("1", "write_file", {}), tools["write_file"], Situation())).__name__)
    assert said == ["Ask", "Allow", "Deny"]
    assert seen == ["accept-edits", "plan"]


def test_an_approved_plan_is_carried_out_in_the_mode_before_it():
    state = ModeState("accept-edits")
    state.switch("plan")
    assert "plan mode" in state.instructions
    assert state.leave_plan() == "accept-edits"
    assert state.leave_plan() == "accept-edits"
    assert ModeState("plan").leave_plan() == "ask"


def test_modes_by_name():
    assert [next_mode(mode) for mode in MODES] == ["accept-edits", "plan", "ask"]
    assert [parse_mode(text) for text in ("ask", " PLAN", "accept", "accept-edits")] == [
        "ask",
        "plan",
        "accept-edits",
        "accept-edits",
    ]
    for text in ("", "a", "yolo"):
        with pytest.raises(SettingsError, match="ask, accept-edits, plan"):
            parse_mode(text)
