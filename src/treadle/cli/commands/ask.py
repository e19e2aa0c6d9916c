"""`treadle ask`: one question, in a new run or in a stored one."""

import argparse
import sys

from treadle.agent.talk import exit_code
from treadle.cli.conversation import open_conversation
from treadle.cli.exit_codes import INTERRUPTED
from treadle.cli.runner import run_async
from treadle.cli.turn import TurnInterrupted
from treadle.cli.ui.display import Display
from treadle.cli.ui.stdin import make_pipe_reader
from treadle.core.errors import BadPrompt


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answer."""
    return run_async(_ask(args))


async def _ask(args: argparse.Namespace) -> int:
    if args.demo and not args.prompt:
        from treadle.cli.ui.demo_chat import run_demo_chat

        piped = None if sys.stdin.isatty() else make_pipe_reader()
        if piped is None:
            return await run_demo_chat(args)
        args.prompt = [piped(), "-"]
    prompt = resolve_prompt(args.prompt)
    conversation = await open_conversation(args, Display(args), "ask")
    try:
        return exit_code(await conversation.ask(prompt))
    except TurnInterrupted:
        return INTERRUPTED


def resolve_prompt(words: list[str]) -> str:
    """Return the prompt from the arguments; `-`, or no argument at all, reads it from stdin."""
    if not words and sys.stdin.isatty():
        raise BadPrompt('There is no prompt: treadle ask "…", or - to read it from stdin.')
    prompt = " ".join([sys.stdin.read() if word == "-" else word for word in words or ["-"]])
    if not prompt.strip():
        raise BadPrompt("The prompt is empty; say what you want.")
    return prompt
