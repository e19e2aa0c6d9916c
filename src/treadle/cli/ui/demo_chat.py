"""The demo on a terminal: its greeting, and the scripted conversation for when there is no input."""

import argparse

from treadle.cli.agent_options import AgentOptions
from treadle.cli.agents import build_agent
from treadle.cli.conversation import Conversation
from treadle.cli.demo import load_shop
from treadle.cli.ui.display import Display
from treadle.cli.ui.render import to_terminal_json
from treadle.cli.ui.repl import run_repl
from treadle.cli.ui.screen import Screen
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Answer, Approval

DEMO_LABEL = (
    "A demonstration: a small shop, and a scripted model that follows simple rules. The engine, policy and approvals are real."
)


def print_demo_greeting(screen: Screen) -> None:
    """Print what the demo is, and what to type."""
    screen.prose(DEMO_LABEL, "yellow")
    screen.tell("\n".join(["Try:", *[f"  {line}" for line in load_shop().suggestions]]))


async def run_demo_chat(args: argparse.Namespace) -> int:
    """Run a scripted conversation. It isn't stored."""
    face = Display(args)
    face.approver = lambda approval: _approve_in_demo(face.screen, approval)
    print_demo_greeting(face.screen)
    chosen = AgentOptions(demo=True)
    conversation = Conversation(build_agent(chosen, face, "demo"), chosen, face, run_id=new_run_id(), kept=False)
    script = iter(load_shop().suggestions)
    return await run_repl(conversation, face, lambda: _echo_line(face, next(script, "")))


async def _echo_line(face: Display, line: str) -> str:
    if line and face.form == "text":
        face.screen.line(f"\n> {line}")
    return line


def _approve_in_demo(screen: Screen, approval: Approval) -> Answer:
    screen.tell(f"{approval.name} wants to run with {to_terminal_json(approval.arguments)}", "yellow")
    screen.tell("A person would be asked now; the demonstration says yes.", "yellow")
    return Answer(True, by="The demonstration")
