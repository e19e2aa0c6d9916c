"""`treadle tool`: list tools as a model sees them, show one, or call one directly under the same policy, journal and audit."""

import argparse
from typing import Any, cast

from msgspec.structs import replace

from treadle.cli.agent_options import AgentOptions, TypedCall, options_from_args, parse_json_object
from treadle.cli.agents import NO_TOOLS_MESSAGE, build_agent, caller_of, enter_folder
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
from treadle.tools.name_matching import nearest_names


def run(args: argparse.Namespace) -> int:
    """List tools, show one, or call one."""
    chosen = replace(options_from_args(args), model="typed")
    if not (chosen.tools or chosen.sources or chosen.assistant):
        raise BadTool(NO_TOOLS_MESSAGE)
    match args.action:
        case "list":
            return run_async(_list_tools(args, chosen))
        case "show":
            return run_async(_show_tool(args, chosen))
        case _:
            return run_async(_call_tool(args, chosen))


async def _list_tools(args: argparse.Namespace, chosen: AgentOptions) -> int:
    tools, screen = await _load_offered(args, chosen), Screen()
    if args.json:
        screen.line(to_terminal_json(tools))
    else:
        for line in format_table([("NAME", "EFFECT", "ARGUMENTS", "WHAT IT DOES"), *map(_to_row, tools)], screen.width):
            screen.line(line)
    return OK


async def _show_tool(args: argparse.Namespace, chosen: AgentOptions) -> int:
    tools, screen = await _load_offered(args, chosen), Screen()
    tool = next((tool for tool in tools if tool.name == args.name), None)
    if tool is None:
        near = " or ".join(nearest_names(args.name, [tool.name for tool in tools]))
        raise BadTool(f"There is no tool {args.name}.{f' Did you mean {near}?' if near else ''}")
    if args.json:
        screen.line(to_terminal_json(tool))
        return OK
    screen.line(f"{tool.name}: {tool.effect}{f', of {tool.toolset}' if tool.toolset else ''}", "bold")
    screen.line(tool.spec.description)
    rows = [_to_argument_row(name, schema, tool) for name, schema in tool.parameters.get("properties", {}).items()]
    for line in format_table([("ARGUMENT", "TYPE", "REQUIRED", "WHAT IT IS"), *rows], screen.width) if rows else ():
        screen.line(line)
    return OK


async def _load_offered(args: argparse.Namespace, chosen: AgentOptions) -> list[Tool]:
    """Return the tools that a call by hand could name."""
    enter_folder(chosen.workspace)
    agent = build_agent(replace(chosen, call=TypedCall("", {})), Display(args), "tool", args.user or "")
    async with agent.setup.toolset as toolset:
        return list(toolset.tools())


def _to_row(tool: Tool) -> tuple[str, ...]:
    required = tool.parameters.get("required", [])
    names = [name if name in required else f"[{name}]" for name in tool.parameters.get("properties", {})]
    return tool.name, tool.effect, " ".join(names) or "-", tool.spec.description or "-"


def _to_argument_row(name: str, schema: Any, tool: Tool) -> tuple[str, ...]:
    told: dict[str, Any] = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}  # `true` accepts anything
    required = "yes" if name in tool.parameters.get("required", []) else "no"
    return name, _describe_type(told), required, str(told.get("description", "-"))


def _describe_type(schema: dict[str, Any]) -> str:
    """Return the values or the types that a schema accepts, without null, which is the same as leaving an argument out."""
    either = [_describe_type(each) for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    kind: Any = schema.get("enum") or schema.get("type") or either or "any"
    return kind if isinstance(kind, str) else " | ".join(map(str, kind))


async def _call_tool(args: argparse.Namespace, chosen: AgentOptions) -> int:
    call = TypedCall(args.name, parse_json_object(args.arguments, "The arguments"))
    face = Display(args, result_only=True)
    kept = not args.no_journal
    chosen = replace(chosen, call=call)
    if not kept and face.approver is None:  # no answer could be given later
        chosen = replace(chosen, attended=False)
    enter_folder(chosen.workspace)  # an assistant looks at the folder it is in
    agent, caller = build_agent(chosen, face, "tool", args.user or ""), await caller_of(chosen, face, args.user or "")
    conversation = Conversation(agent, chosen, face, run_id=new_run_id(), caller=caller, kept=kept)
    try:
        return call_exit_code(await conversation.ask(f"Call {call.name} with {to_terminal_json(Redactor().value(call.arguments))}"))
    except TurnInterrupted:
        return INTERRUPTED
