"""`treadle tool`: list tools as a model sees them, or call one directly under the same policy, journal and audit."""

import argparse

from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.cli.agent_options import TypedCall, options_from_args, parse_json_object
from treadle.cli.agents import build_agent, caller_of, enter_folder
from treadle.cli.conversation import Conversation
from treadle.cli.exit_codes import INTERRUPTED, OK
from treadle.cli.runner import run_async
from treadle.cli.turn import TurnInterrupted
from treadle.cli.ui.display import Display
from treadle.cli.ui.render import format_table, to_terminal_json
from treadle.cli.ui.report import call_exit_code
from treadle.cli.ui.screen import Screen
from treadle.core.errors import BadTool
from treadle.core.tool import Tool
from treadle.engine.engine import new_run_id
from treadle.guard.redaction import Redactor
from treadle.models.scripted import Scripted
from treadle.plugins.tool_loader import load_tools


def run(args: argparse.Namespace) -> int:
    """List tools, or call one."""
    if not args.tools:
        raise BadTool("There are no tools; name some: --tools MODULE or --tools FILE.py:FUNCTION.")
    return run_async(_list_tools(args) if args.action == "list" else _call_tool(args))


async def _list_tools(args: argparse.Namespace) -> int:
    chosen, screen = options_from_args(args), Screen()
    agent = Agent(Scripted(), tools=load_tools(chosen.tools, chosen.folder))
    async with agent.setup.toolset as toolset:
        tools = toolset.tools()
    if args.json:
        screen.line(to_terminal_json(tools))
    else:
        for line in format_table([("NAME", "EFFECT", "ARGUMENTS", "WHAT IT DOES"), *map(_to_row, tools)], screen.width):
            screen.line(line)
    return OK


def _to_row(tool: Tool) -> tuple[str, ...]:
    required = tool.parameters.get("required", [])
    names = [name if name in required else f"[{name}]" for name in tool.parameters.get("properties", {})]
    return tool.name, tool.effect, " ".join(names) or "-", tool.spec.description or "-"


async def _call_tool(args: argparse.Namespace) -> int:
    call = TypedCall(args.name, parse_json_object(args.arguments, "The arguments"))
    face = Display(args, result_only=True)
    kept = not args.no_journal
    chosen = replace(options_from_args(args), model="typed", call=call)
    if not kept and face.approver is None:  # nobody could answer later
        chosen = replace(chosen, attended=False)
    agent, caller = build_agent(chosen, face, "tool"), await caller_of(chosen, face, args.user or "")
    enter_folder(chosen.workspace)
    conversation = Conversation(agent, chosen, face, run_id=new_run_id(), caller=caller, kept=kept)
    try:
        return call_exit_code(await conversation.ask(f"Call {call.name} with {to_terminal_json(Redactor().value(call.arguments))}"))
    except TurnInterrupted:
        return INTERRUPTED
