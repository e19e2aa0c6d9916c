"""`treadle chat`: a conversation over one run, typed or piped. Ctrl-C ends a reply; at the prompt it leaves."""

import argparse
import sys

from treadle.cli.carrying import carry_out
from treadle.cli.conversation import begin
from treadle.cli.face import Face
from treadle.cli.lines import Lines, lines, piped_lines
from treadle.cli.talking import converse


def run(args: argparse.Namespace) -> int:
    """Talk."""
    return carry_out(_chat(args))


async def _chat(args: argparse.Namespace) -> int:
    face = Face(args)
    read: Lines | None = lines(face.is_interactive)
    if args.demo:
        from treadle.cli.play import greet, perform  # only the demonstration needs it

        read = read if sys.stdin.isatty() else piped_lines()
        if read is None:
            return await perform(args)
        greet(face.screen)
    conversation = await begin(args, face, "chat")
    if face.is_interactive:
        face.screen.note(f"Talking to {conversation.agent.setup.model.name}. /help lists what can be typed.")
    return await converse(conversation, face, read)
