"""`treadle chat`: a conversation over one run, typed or piped. Ctrl-C ends a reply; at the prompt it leaves."""

import argparse
import sys

from treadle.cli.conversation import open_conversation
from treadle.cli.runner import run_async
from treadle.cli.ui.display import Display
from treadle.cli.ui.repl import run_repl
from treadle.cli.ui.stdin import LineReader, make_pipe_reader


def run(args: argparse.Namespace) -> int:
    """Run the conversation."""
    return run_async(_chat(args))


async def _chat(args: argparse.Namespace) -> int:
    face = Display(args)
    read: LineReader | None = None
    if args.demo:
        from treadle.cli.ui.demo_chat import print_demo_greeting, run_demo_chat  # only the demonstration needs it

        read = None if sys.stdin.isatty() else make_pipe_reader()
        if read is None and not sys.stdin.isatty():
            return await run_demo_chat(args)
        print_demo_greeting(face.screen)
    conversation = await open_conversation(args, face, "chat")
    if face.is_interactive:
        face.screen.note(f"Talking to {conversation.agent.setup.model.name}. /help lists what can be typed.")
    return await run_repl(conversation, face, read)
