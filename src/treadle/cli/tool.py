"""`treadle tool`: lists tools as a model is told of them, and calls one by hand under the same policy, journal and audit."""

import argparse

from msgspec.structs import replace

from treadle.app.agent import Agent
from treadle.app.loading import load_tools
from treadle.cli.agents import build, caller_of, enter
from treadle.cli.carrying import carry_out
from treadle.cli.choices import TypedCall, chosen_from, json_object
from treadle.cli.codes import FINE, INTERRUPTED
from treadle.cli.conversation import Conversation
from treadle.cli.face import Face
from treadle.cli.render import table, to_json
from treadle.cli.report import code_of_call
from treadle.cli.screen import Screen
from treadle.cli.turn import Interrupted
from treadle.core.errors import BadTool
from treadle.core.tool import Tool
from treadle.engine.engine import new_run_id
from treadle.guard.redaction import Redactor
from treadle.models.scripted import Scripted


def run(args: argparse.Namespace) -> int:
    """List, or call."""
    if not args.tools:
        raise BadTool("There are no tools; name some: --tools MODULE or --tools FILE.py:FUNCTION.")
    return carry_out(_list(args) if args.action == "list" else _call(args))


async def _list(args: argparse.Namespace) -> int:
    chosen, screen = chosen_from(args), Screen()
    agent = Agent(Scripted(), tools=load_tools(chosen.tools, chosen.folder))
    async with agent.setup.toolset as toolset:
        tools = toolset.tools()
    if args.json:
        screen.line(to_json(tools))
    else:
        for line in table([("NAME", "EFFECT", "ARGUMENTS", "WHAT IT DOES"), *map(_row, tools)], screen.width):
            screen.line(line)
    return FINE


def _row(tool: Tool) -> tuple[str, ...]:
    required = tool.parameters.get("required", [])
    names = [name if name in required else f"[{name}]" for name in tool.parameters.get("properties", {})]
    return tool.name, tool.effect, " ".join(names) or "-", tool.spec.description or "-"


async def _call(args: argparse.Namespace) -> int:
    call = TypedCall(args.name, json_object(args.arguments, "The arguments"))
    face = Face(args, result_only=True)
    kept = not args.no_journal
    chosen = replace(chosen_from(args), model="typed", call=call)
    if not kept and face.approver is None:  # nobody could answer later
        chosen = replace(chosen, attended=False)
    agent, caller = build(chosen, face, "tool"), await caller_of(chosen, face, args.user or "")
    enter(chosen.workspace)
    conversation = Conversation(agent, chosen, face, run_id=new_run_id(), caller=caller, kept=kept)
    try:
        return code_of_call(await conversation.ask(f"Call {call.name} with {to_json(Redactor().value(call.arguments))}"))
    except Interrupted:
        return INTERRUPTED
