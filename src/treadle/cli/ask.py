"""`treadle ask`: one question, in a new run or in one that is kept."""

import argparse
import sys

from treadle.app.talk import exit_code
from treadle.cli.carrying import carry_out
from treadle.cli.codes import INTERRUPTED
from treadle.cli.conversation import begin
from treadle.cli.face import Face
from treadle.cli.lines import piped_lines
from treadle.cli.turn import Interrupted
from treadle.core.errors import BadPrompt


def run(args: argparse.Namespace) -> int:
    """Ask, and show the answer."""
    return carry_out(_ask(args))


async def _ask(args: argparse.Namespace) -> int:
    if args.demo and not args.prompt:
        from treadle.cli.play import perform

        piped = None if sys.stdin.isatty() else piped_lines()
        if piped is None:
            return await perform(args)
        args.prompt = [piped(), "-"]
    prompt = prompt_from(args.prompt)
    conversation = await begin(args, Face(args), "ask")
    try:
        return exit_code(await conversation.ask(prompt))
    except Interrupted:
        return INTERRUPTED


def prompt_from(words: list[str]) -> str:
    """What was typed; `-`, or nothing at all, stands for what comes on stdin."""
    if not words and sys.stdin.isatty():
        raise BadPrompt('There is no prompt: treadle ask "…", or - to read it from stdin.')
    prompt = " ".join([sys.stdin.read() if word == "-" else word for word in words or ["-"]])
    if not prompt.strip():
        raise BadPrompt("The prompt is empty; say what you want.")
    return prompt
