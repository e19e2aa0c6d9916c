"""The demonstration on a stage: what it says of itself, and the conversation it plays where nobody types one."""

import argparse

from treadle.cli.agents import build
from treadle.cli.choices import Chosen
from treadle.cli.conversation import Conversation
from treadle.cli.demo import open_shop
from treadle.cli.face import Face
from treadle.cli.render import to_json
from treadle.cli.screen import Screen
from treadle.cli.talking import converse
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Answer, Approval

LABEL = "A demonstration: a small shop, and a scripted model that follows simple rules. The engine, policy and approvals are real."


def greet(screen: Screen) -> None:
    """What this is, and what to type."""
    screen.tell(LABEL, "yellow")
    screen.tell("\n".join(["Try:", *[f"  {line}" for line in open_shop().suggestions]]))


async def perform(args: argparse.Namespace) -> int:
    """A conversation of its own. It isn't kept."""
    face = Face(args)
    face.approver = lambda approval: _approve_for_show(face.screen, approval)
    greet(face.screen)
    chosen = Chosen(demo=True)
    conversation = Conversation(build(chosen, face, "demo"), chosen, face, run_id=new_run_id(), kept=False)
    script = iter(open_shop().suggestions)
    return await converse(conversation, face, lambda: _spoken(face, next(script, "")))


def _spoken(face: Face, line: str) -> str:
    if line and face.form == "text":
        face.screen.line(f"\n> {line}")
    return line


def _approve_for_show(screen: Screen, approval: Approval) -> Answer:
    screen.tell(f"{approval.name} wants to run with {to_json(approval.arguments)}", "yellow")
    screen.tell("A person would be asked now; the demonstration says yes.", "yellow")
    return Answer(True, by="The demonstration")
