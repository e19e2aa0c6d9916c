"""`treadle ask`: one question, in a new run or in a stored one."""

import argparse

from treadle.agent.talk import exit_code
from treadle.cli.conversation import open_conversation
from treadle.cli.exit_codes import INTERRUPTED
from treadle.cli.runner import run_async
from treadle.cli.turn import TurnInterrupted
from treadle.cli.ui.display import Display
from treadle.plugins.prompts import read_typed_prompt


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answer."""
    return run_async(_ask(args))


async def _ask(args: argparse.Namespace) -> int:
    prompt = read_typed_prompt(args.prompt, required=not args.demo)
    if not prompt.text:
        from treadle.cli.ui.demo_chat import run_demo_chat  # only the demonstration needs no prompt

        return await run_demo_chat(args)
    conversation = await open_conversation(args, Display(args), "ask")
    try:
        return exit_code(await conversation.ask(prompt.text, prompt.attachments))
    except TurnInterrupted:
        return INTERRUPTED
